# SPDX-License-Identifier: Apache-2.0
"""What a lent cell read and wrote is told, whoever in it did it."""
from daemon import Daemon
from suite import check, claim, nothing_left

SIZE = 1 << 20
SLACK = 1 << 18  # what an interpreter reads for itself

WORK = f"""
import os, threading, time
def work():
    with open('data', 'wb') as file:
        file.write(bytes({SIZE}))
    with open('data', 'rb') as file:
        file.read()
"""

WORKERS = {
    "the program": "work()",
    "a thread of it": "thread = threading.Thread(target=work)\nthread.start()\nthread.join()",
    "a child of it": "if os.fork() == 0:\n    work()\n    os._exit(0)\nos.wait()",
    "an orphan": """
if os.fork() == 0:
    if os.fork() == 0:
        work()
        open('done', 'w').close()
    os._exit(0)
os.wait()
while not os.path.exists('done'):
    time.sleep(0.01)
time.sleep(0.1)
""",
    "nobody": "",
}


@claim("accounts: what was read and written is told, whoever in the cell did it")
def accounts(person):
    with Daemon(person) as daemon:
        for settled in (True, False, True):
            for who, code in WORKERS.items():
                if who == "an orphan" and not person.is_root:
                    continue  # its account went to init, which nobody but root may read
                if settled:
                    daemon.settle()
                usage = person.json("-c", WORK + code, env={"HOTCELL_SOCKET": daemon.path}).is_ok()["usage"]
                wanted = SIZE if code else 0
                for name in ("read_bytes", "write_bytes"):
                    check(wanted <= usage[name] < wanted + SLACK, f"{who} did a MiB or nothing, and {name} tell {usage}")
    nothing_left(person)
