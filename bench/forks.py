# SPDX-License-Identifier: Apache-2.0
"""What a plain server by os.fork() does: copies of one Python, and no wall at all.

    forks.py OUTSTANDING MILLISECONDS MODULE…

Loads the modules, then forks that many copies at once, over and over; each compiles and runs one line
and ends. Prints how many there were in a second.
"""
import gc
import importlib
import os
import sys
import time


def run_and_end():
    exec(compile("pass", "main.py", "exec"), {"__name__": "__main__"})
    os._exit(0)


def main():
    outstanding, milliseconds, *modules = sys.argv[1:]
    for name in modules:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # a copy that collects is not to write to all of it
    began = time.monotonic()
    end = began + int(milliseconds) / 1000
    alive = done = 0
    while alive or time.monotonic() < end:
        if alive < int(outstanding) and time.monotonic() < end:
            if os.fork() == 0:
                run_and_end()
            alive += 1
            continue
        os.wait()
        alive -= 1
        done += 1
    print(done / (time.monotonic() - began))


if __name__ == "__main__":
    main()
