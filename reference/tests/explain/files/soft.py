import sys
try:
    open(sys.argv[1], "w")
except OSError as error:
    print(f"{error.strerror}: {error.filename}")
    sys.exit(3)
