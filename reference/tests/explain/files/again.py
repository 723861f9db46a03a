import sys
try:
    open(sys.argv[1], "w")
except OSError:
    raise RuntimeError("the report cannot be saved")
