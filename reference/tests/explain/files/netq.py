import sys, urllib.request
try:
    urllib.request.urlopen("http://192.0.2.1/", timeout=2)
except OSError as error:
    print("error:", error)
    sys.exit(2)
