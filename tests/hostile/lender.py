# SPDX-License-Identifier: Apache-2.0
"""A daemon whose cells the cases borrow, and what it may have while nobody borrows any.

Invariant I1 on borrowed cells: once everybody has gone, the processes below the daemon are those
of its own account, one by one: a keeper, a zygote for each pool and an interpreter where there is
one, the parked cells with one waiting payload each, and the beginning of a next cell for each
zygote. Whatever is there beyond that was left. I2: daemon and keeper stay the same processes, stay
small, and have as many descriptors as their pools and parked cells need, none more.
"""
import json
import os
import select
import signal
import socket
import subprocess
import time

from daemon import HEAD, Client
from leftovers import descendants, descriptors, parents, read

CONCURRENCY = 32
PARKED = 256  # more than all pools together want: every case finds a cell of its own policy
PATIENCE = 20.0  # seconds until cells stand ready, on a busy machine


def started_at(pid):
    stat = read(f"/proc/{pid}/stat")
    return stat[stat.rindex(")") + 2:].split()[19] if stat else None


def resident_peak_kb(pid):
    for line in read(f"/proc/{pid}/status").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    return 0


class Lender:
    def __init__(self, bench):
        self.bench = bench
        self.path = str(bench.place / "d.sock")
        self.log = open(bench.place / "log", "wb")
        self.keeper = None  # a connection
        self.policies_path = str(bench.place / "ask.sock")
        self.policies = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.policies.bind(self.policies_path)
        self.policies.listen(8)
        self.daemon = subprocess.Popen(
            [bench.hotcell, "serve", "--socket", self.path, "--concurrency", str(CONCURRENCY),
             "--parked", str(PARKED)], env=bench.environment(), cwd=bench.place,
            stdin=subprocess.DEVNULL, stderr=self.log)
        try:
            self.count_descriptors()
        except BaseException:
            self.daemon.terminate()
            raise

    def end(self):
        """Ends the daemon and tells what stays of it."""
        mine = set(self.processes())
        self.daemon.send_signal(signal.SIGTERM)
        code = self.daemon.wait(PATIENCE)
        problems = [f"the daemon ended with {code}"] if code != 0 else []
        problems += [f"outlived the daemon: {pid} {name}" for pid, (_, state, name) in
                     descendants(os.getpid()).items() if pid in mine and state != "Z"]
        self.keeper.close()
        self.policies.close()
        self.log.close()
        return problems

    # -- what it says of itself --

    def connect(self):
        """To the keeper itself, as its daemon does."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                self.keeper = Client(self.path + ".keeper")
                return
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    def account(self):
        if self.keeper is None:
            self.connect()
        self.keeper.send("info")
        return json.loads(self.keeper.expect("info").text)

    def status(self):
        client = Client(self.path)
        try:
            return json.loads(client.send("info").expect("info").text)
        finally:
            client.close()

    def lent_so_far(self):
        """How many cells were lent, and how often none was ready."""
        status = self.status()
        return status["served"], sum(pool["missed"] for pool in status["keeper"]["pools"])

    def settle(self, is_idle=False):
        """Until every pool has what it wants, in the form that was asked for."""
        deadline = time.monotonic() + PATIENCE
        while True:
            account = self.account()
            is_settled = all(pool["whole"] == pool["parked"] >= pool["wanted"]
                             for pool in account["pools"])
            if is_settled and not (is_idle and account["lent"]):
                return account
            if time.monotonic() > deadline:
                raise TimeoutError(f"no cells stand ready: {account}")
            time.sleep(0.005)

    def new_keeper(self):
        """A case ended the last one."""
        self.keeper.close()
        self.keeper = None
        deadline = time.monotonic() + PATIENCE
        while not (self.status()["keeper"] and self.status()["keeper"]["pid"] != self.keeper_pid):
            if time.monotonic() > deadline:
                raise TimeoutError("no new keeper")
            time.sleep(0.02)
        self.keeper_pid = self.account()["pid"]

    # -- cells for a run --

    def policy_of(self, argv, env):
        """What a client asks for. None: it does not ask at all."""
        client = subprocess.Popen(argv, env={**env, "HOTCELL_SOCKET": self.policies_path},
                                  cwd=self.bench.place, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = os.pidfd_open(client.pid)
        try:
            ready, _, _ = select.select([self.policies, end], [], [], PATIENCE)
            if self.policies not in ready:
                return None
            connection, _ = self.policies.accept()
            with connection:
                policy = connection.recv(1 << 17)[HEAD.size:].decode()
                client.kill()  # before it is hung up on, and raises a cell of its own
                return policy
        finally:
            client.kill()
            client.wait()
            os.close(end)

    def stand_ready(self, argv, env, count=1):
        policy = self.policy_of(argv, env)
        if policy is not None:
            self.have(policy, count)

    def have(self, policy, count):
        self.keeper.send("warm", policy, count)
        return self.settle()

    # -- what it has --

    def processes(self):
        """The daemon's, its keeper's and those of cells."""
        return {self.daemon.pid: None, **descendants(self.daemon.pid)}

    def cell_of(self, name):
        """The zygote and init of the cell that a program of this name runs in."""
        table = parents()
        for pid in self.processes():
            line = [pid]
            while line[-1] in table and table[line[-1]][0] != self.keeper_pid:
                line.append(table[line[-1]][0])
            if pid in table and table[pid][2] == name and len(line) >= 3:
                return line[-1], line[-2]
        return None

    def count_descriptors(self):
        """Learns how many descriptors a pool and a parked cell take."""
        self.keeper_pid = self.account()["pid"]
        self.daemon_start = started_at(self.daemon.pid)
        argv = [self.bench.hotcell, "run", "--exec", "--", "/bin/true"]
        policies = [self.policy_of(argv[:2] + ["-m", size] + argv[2:], self.bench.environment())
                    for size in ("71M", "73M")]

        def observe():
            account = self.settle(is_idle=True)
            return len(account["pools"]), account["parked"], descriptors(self.keeper_pid)

        self.have(policies[0], 2)
        pools, parked, count = observe()
        self.have(policies[0], 6)
        more_parked, more = observe()[1:]
        self.per_cell = (more - count) // (more_parked - parked)
        self.have(policies[1], 2)
        _, parked_last, last = observe()
        self.per_pool = last - more - (parked_last - more_parked) * self.per_cell
        self.own = last - (pools + 1) * self.per_pool - parked_last * self.per_cell
        self.of_daemon = descriptors(self.daemon.pid)

    # -- problems --

    def tree_problems(self, account):
        """Processes beyond those of the account."""
        table = parents()
        below = {}
        for pid, (parent, state, _) in table.items():
            if state != "Z":
                below.setdefault(parent, []).append(pid)

        def tell(pid):
            return f"{pid} {table[pid][2]} below {table[pid][0]}"

        problems = [f"process of no keeper: {tell(pid)}" for pid in below.get(self.daemon.pid, [])
                    if pid != account["pid"]]
        cells, zygotes = 0, 0
        for helper in below.get(account["pid"], []):
            is_zygote = table[helper][2] == "hotcell-zygote"
            zygotes += is_zygote
            beginnings = 0
            for init in below.get(helper, []):
                payloads = below.get(init, [])
                cells += bool(payloads)
                beginnings += not payloads
                problems += [f"more than a payload: {tell(pid)}" for payload in payloads
                             for pid in below.get(payload, [])]
                problems += [f"a second payload: {tell(pid)}" for pid in payloads[1:]]
                if not is_zygote:
                    problems.append(f"process of an interpreter: {tell(init)}")
            if beginnings > 1:
                problems.append(f"{beginnings} beginnings of a next cell below {helper}")
        if cells != account["parked"]:
            problems.append(f"{cells} cells where {account['parked']} are parked")
        if zygotes != len(account["pools"]):
            problems.append(f"{zygotes} zygotes for {len(account['pools'])} pools")
        return [f"I1: {problem}" for problem in problems]

    def size_problems(self, account, limit_kb):
        problems = []
        if self.daemon.poll() is not None or started_at(self.daemon.pid) != self.daemon_start:
            return ["I2: the daemon ended"]
        if account["pid"] != self.keeper_pid:
            problems.append("I2: the keeper is another one")
        for name, pid in (("hotcelld", self.daemon.pid), ("hotcell-keeper", account["pid"])):
            if resident_peak_kb(pid) > limit_kb:
                problems.append(f"I2: {name} grew to {resident_peak_kb(pid)} KiB")
        wanted = (self.own + self.per_pool * len(account["pools"]) +
                  self.per_cell * account["parked"])
        found = descriptors(account["pid"])
        # an interpreter takes one more, and so does each cell with a share of the processor
        if found > wanted + 3 * len(account["pools"]):
            problems.append(f"I2: the keeper has {found} descriptors, not {wanted}")
        if descriptors(self.daemon.pid) != self.of_daemon:
            problems.append(f"I2: the daemon has {descriptors(self.daemon.pid)} descriptors, not "
                            f"{self.of_daemon}")
        return problems

    def problems(self, limit_kb):
        """What is left or lost, looked at until it is not, or for too long. Pools change while
        one looks: an account counts when it is the same before and after."""
        deadline = time.monotonic() + 3
        while True:
            account = self.settle(is_idle=True)
            found = self.tree_problems(account) + self.size_problems(account, limit_kb)
            if not found or (time.monotonic() > deadline and self.account() == account):
                return found
            time.sleep(0.02)
