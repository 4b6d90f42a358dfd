# SPDX-License-Identifier: Apache-2.0
"""Says what its code says: each line is JSON, [stream, text] or a message for the channel."""
import json
import os
import socket
import sys
import time

channel = socket.socket(fileno=os.dup(3))
os.close(3)
for line in open(sys.argv[1], encoding="utf-8"):
    what = json.loads(line)
    if isinstance(what, list):
        if what[0] == "sleep":
            time.sleep(what[1])
        elif what[0] == "exit":
            sys.exit(what[1])
        else:
            os.write(1 if what[0] == "stdout" else 2, what[1].encode())
        continue
    data = json.dumps(what).encode()
    try:
        channel.sendall(len(data).to_bytes(4, "big") + data)
    except OSError:
        pass  # a message that is none ends the conversation
