# SPDX-License-Identifier: Apache-2.0
"""SIGKILL at any moment, to whoever takes part in a loan: what is left goes, and honest runs go on.

Victims are found below the keeper of the daemon that the test itself started, and are signalled
through a pidfd after their parent was looked at again, so that nobody else's process is hit.
"""
import contextlib
import os
import random
import select
import signal
import subprocess
import time

from daemon import Daemon
from suite import (HUNG_AFTER, check, children, claim, equal, marked_processes, mounts,
                   nothing_left, processes_of, read, wait_until)

SEED = int(os.environ.get("SEED", "1"))
MARK = f"hotcell-loan-kill-{os.getpid()}"
ROUNDS = 32
ROUNDS_EACH = 8  # with one daemon, which is stopped and looked behind then
ROLES = ("client", "daemon", "keeper", "interpreter", "zygote", "init", "payload")
# Of three keepers that end within this many seconds the daemon makes a pause.
PAUSE = 10

SLEEP = "import time; time.sleep(50)"
WORK = (
    ("-c", SLEEP),
    ("-c", "import os, time\nfor _ in range(3): os.fork()\ntime.sleep(50)"),
    ("-c", "while True: print('x' * 500)"),
    ("-c", "import itertools\n"
           "for i in itertools.count(): open(f'f{i % 50}', 'wb').write(b'x' * 100000)"),
    ("-m", "100M", "-c", SLEEP),
    ("-l", "bash", "-c", "sleep 40 & sleep 50"),
    ("--exec", "--", "sleep", "50"),
    ("--net", "loopback", "-c", SLEEP),
)


def parent_of(pid):
    words = read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    return int(words[1]) if words else -1


def name_of(pid):
    return read(f"/proc/{pid}/comm").decode(errors="replace").strip()


class Watched:
    """A process, held so that its number cannot become another's."""

    def __init__(self, pid):
        self.pid = pid
        self.fd = os.pidfd_open(pid)

    def is_dead(self):
        return bool(select.select([self.fd], [], [], 0)[0])

    def close(self):
        os.close(self.fd)


def watch(pids):
    found = []
    for pid in pids:
        with contextlib.suppress(OSError):
            found.append(Watched(pid))
    return found


def below(pid):
    return [one for child in children(pid) for one in (child, *below(child))]


class Siege:
    """A daemon, runs that borrow from it, and somebody who kills."""

    def __init__(self, person, rng):
        self.person, self.rng = person, rng
        self.path = person.path("d.sock")
        self.env = {"HOTCELL_SOCKET": self.path}
        self.ends_of_keepers = []
        self.start_daemon()
        self.honest("the first")
        self.daemon.settle()

    def start_daemon(self):
        """In the place of one that was killed, whose keeper it takes over."""
        self.daemon = Daemon(self.person, path=self.path)
        wait_until(lambda: self.daemon.status()["keeper"], "a keeper")
        self.keeper = self.daemon.keeper_pid()

    def honest(self, word):
        result = self.person.json("-t", "40", "-c", f"print('{word}')", env=self.env)
        result.is_ok()
        equal(result.stdout, word + "\n", "stdout of an honest run")
        return result

    def victims(self, role, clients):
        """Pairs of a process and the parent it must have; None where that may be anybody."""
        helpers = children(self.keeper)
        zygotes = [pid for pid in helpers if name_of(pid) == "hotcell-zygote"]
        inits = [(pid, zygote) for zygote in zygotes for pid in children(zygote)]
        return {
            "client": [(process.pid, os.getpid()) for process in clients],
            "daemon": [(self.daemon.process.pid, os.getpid())],
            "keeper": [(self.keeper, None)],
            "interpreter": [(pid, self.keeper) for pid in helpers if pid not in zygotes],
            "zygote": [(pid, self.keeper) for pid in zygotes],
            "init": inits,
            "payload": [(pid, init) for init, _ in inits for pid in children(init)],
        }[role]

    def kill(self, role, clients):
        """True: somebody was hit, and all that must die with it is dead."""
        found = self.victims(role, clients)
        if not found:
            return False
        pid, parent = self.rng.choice(found)
        falls = watch(below(pid)) if role in ("keeper", "zygote", "init") else []
        try:
            victim = Watched(pid)
        except OSError:
            return False
        falls.append(victim)
        try:
            if parent is not None and parent_of(pid) != parent:
                return False
            signal.pidfd_send_signal(victim.fd, signal.SIGKILL)
            wait_until(lambda: all(one.is_dead() for one in falls), f"what a {role} takes along")
        except ProcessLookupError:
            return False
        finally:
            for one in falls:
                one.close()
        return True

    def recover(self, role):
        if role == "daemon":
            self.daemon.process.wait(HUNG_AFTER)
            self.start_daemon()
        if role == "keeper":
            self.ends_of_keepers.append(time.monotonic())
            last = self.keeper
            wait_until(lambda: (self.daemon.status()["keeper"] or {}).get("pid", last) != last,
                       "the next keeper")
            self.keeper = self.daemon.keeper_pid()

    def choose(self):
        recent = [at for at in self.ends_of_keepers if time.monotonic() - at < PAUSE]
        return self.rng.choice([role for role in ROLES if role != "keeper" or len(recent) < 2])

    def round(self, number):
        clients = [self.person.start("run", "-t", "45", "--output-limit", "1G",
                                     "-e", f"MARK={MARK}", *self.rng.choice(WORK), env=self.env,
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                   for _ in range(self.rng.randint(1, 3))]
        # half of them while cells are handed over, half while programs run
        time.sleep(self.rng.uniform(0, 0.01) if self.rng.random() < 0.5
                   else self.rng.uniform(0.01, 0.2))
        role = self.choose()
        is_hit = self.kill(role, clients)
        if is_hit:
            self.recover(role)
        self.honest(f"after {number}")
        for client in clients:
            client.kill()
            client.wait(HUNG_AFTER)
        return role if is_hit else None

    def end(self):
        equal(self.daemon.end(), 0, "exit status of the daemon")


@claim("killing whoever takes part in a loan leaves nothing, and honest runs go on")
def kills(person):
    before = mounts()
    hits = {role: 0 for role in ROLES}
    rng = random.Random(SEED * 4242 + person.uid)
    for first in range(0, ROUNDS, ROUNDS_EACH):
        siege = Siege(person, rng)
        for number in range(first, first + ROUNDS_EACH):
            role = siege.round(number)
            if role:
                hits[role] += 1
        siege.end()
        wait_until(lambda: not processes_of(person) and not marked_processes(MARK),
                   "the dead to go")
        person.code("print('janitor')", "--cold").ok()
        nothing_left(person, mounts_before=before)
        equal([name for name in os.listdir(person.dir) if ".sock" in name], [], "sockets left")
    check(sum(hits.values()) >= ROUNDS * 3 // 4, "too few were hit:", hits)
    equal([role for role, times in hits.items() if not times], [], "roles that were never hit")
