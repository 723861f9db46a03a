import socket, sys
s = socket.socket()
s.settimeout(2)
sys.exit(5 if s.connect_ex(("192.0.2.1", 80)) else 0)
