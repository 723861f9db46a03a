import errno
name = errno.errorcode[13].replace("EACCES", "EROFS")
assert name == errno.errorcode[13], f"{name} != {errno.errorcode[13]}"
