"""Asks `server.py` to run `python ARGUMENTS` with these streams, and exits with its status.

python client.py SOCKET ARGUMENTS
"""

import json
import os
import signal
import socket
import sys

with socket.socket(socket.AF_UNIX) as connection:
    connection.connect(sys.argv[1])
    request = {
        "arguments": sys.argv[2:],
        "folder": os.getcwd(),
        "environment": dict(os.environ),
    }
    data = json.dumps(request).encode() + b"\n"
    sent = socket.send_fds(connection, [data[: 1 << 15]], [0, 1, 2])
    if sent < len(data):
        # Sending nothing fails, too, if the server has already answered and closed the connection.
        connection.sendall(data[sent:])
    status = int(connection.makefile().read() or -signal.SIGKILL)
if status < 0:
    # lit needs the signal to distinguish a crash from a failure.
    signal.signal(-status, signal.SIG_DFL)
    os.kill(os.getpid(), -status)
sys.exit(status)
