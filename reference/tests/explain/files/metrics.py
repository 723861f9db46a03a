import sys, urllib.request
try:
    urllib.request.urlopen("http://192.0.2.1/m", timeout=2)
except OSError as error:
    print(f"metrics: {error}", file=sys.stderr)
total = sum([1, 2])
assert total == 4, f"{total} is not 4"
