all:
	@curl -sf http://192.0.2.1/a -o a.tgz
local:
	@curl -sf http://127.0.0.1:1/a -o a.tgz
test:
	@curl -s http://192.0.2.1/ping || true
	@python3 -c 'assert 1 == 2'
out:
	@touch $(OUT)/made
