import os, sys
try:
    os.makedirs(os.path.expanduser("~/.cache/tool"))
except OSError as error:
    print(f"cache: {error}", file=sys.stderr)
assert 1 == 2
