# SPDX-License-Identifier: Apache-2.0
"""What the module _hotcell is for a guest, for a Python that was not forked: its program comes as a
message on the channel.

`load`, `send`, `flush` and `is_heard` come from core.py.
"""
import os
import sys
import time
from _json import make_scanner

core = {}  # the names of core.py
IS_SHARED = False  # its memory is nobody's template
LINGER = 2  # seconds


def forget_lookups():
    pass


def refuse(why):
    sys.exit(why)


def draw_state(capsule):
    return False


def is_owner():
    return core["channel_owner"] == os.getpid()


def say_done(status):
    if send('{"event":"done","exit_code":%d}' % status):
        time.sleep(LINGER)  # whoever hears it looks at us once more, and ends the cell


def read_all(size):
    data = b""
    while len(data) < size:
        more = os.read(3, size - len(data))
        if not more:
            os._exit(1)  # nobody will ever ask
        data += more
    return data


def say_waiting():
    text = b'{"event":"status","state":"waiting"}'
    os.write(3, len(text).to_bytes(4, "big") + text)


def arrive():
    say_waiting()
    size = 0
    while size == 0:  # an empty frame only wakes us up
        size = int.from_bytes(read_all(4), "big")
    text = read_all(size).decode()
    message = make_scanner(core["reading"])(text, 0)[0]
    core["policy"] = message.get("guard")
    run = message["run"]
    os.chdir(run["cwd"])
    core["open_channel"]()
    return run["argv"], run["env"], None, core["channel_fd"], False, True
