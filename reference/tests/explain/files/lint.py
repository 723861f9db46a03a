import sys
print("conf.tf:3:5: no such host variable", file=sys.stderr)
print("conf.tf:7:1: unknown host group", file=sys.stderr)
sys.exit(1)
