# SPDX-License-Identifier: Apache-2.0
"""Invariant I1: what a run leaves behind, and I2: how large hotcell grew.

Other cells may be at work on the same machine, so every find is ascribed: the driver is a
subreaper, hence a process hotcell leaves becomes the driver's own child; a namespace that only
foreign processes use is theirs, and so is a cgroup whose slot is held. What is left is looked at
for up to two seconds, because the kernel takes some things down after the last process is gone.
"""
import ctypes
import os
import re
import time
from pathlib import Path

from suite import is_slot_held

PATIENCE = 2.0  # seconds
CELL_UIDS = range(200000, 265536)
NAMESPACES = ("mnt", "net", "pid", "ipc", "uts", "user", "cgroup")
LOCK_FILE = "slots"
CGROUP = re.compile(r"hotcell-\d+$")
# What hotcell keeps on purpose: the versions of the languages it has asked once.
CACHE = re.compile(r"/\.cache(/hotcell(/version-[^/]*)?)?$")
# Mounted by tracing tools at any moment; no cell has any of them.
DEBUGGERS_MOUNTS = ("tracefs", "debugfs", "bpf")
PR_SET_CHILD_SUBREAPER = 36


def become_subreaper():
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


def read(path):
    try:
        return Path(path).read_text(errors="replace")
    except OSError:
        return ""


def pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def parents():
    """pid -> (parent, state, name) of every process."""
    found = {}
    for pid in pids():
        stat = read(f"/proc/{pid}/stat")
        if not stat:
            continue
        name = stat[stat.index("(") + 1:stat.rindex(")")]
        fields = stat[stat.rindex(")") + 2:].split()
        found[pid] = (int(fields[1]), fields[0], name)
    return found


def descendants(root):
    table = parents()
    children = {}
    for pid, (parent, _, _) in table.items():
        children.setdefault(parent, []).append(pid)
    found, queue = {}, list(children.get(root, ()))
    while queue:
        pid = queue.pop()
        found[pid] = table[pid]
        queue += children.get(pid, ())
    return found


# What a keeper has open of networks and groups, some of which are for its next cells: how many these are
# depends on what each cell before did. About twenty are of one network.
KEPT = re.compile(r"net:\[|/proc/\d+/net/|/sys/fs/cgroup/|/.*/slots$|anon_inode:\[eventfd\]")
KEPT_MARGIN = 400  # that come and go; whoever loses one in each cell has lost more after a thousand


def open_files(pid):
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            yield os.readlink(f"/proc/{pid}/fd/{name}")
        except OSError:
            pass


def descriptors(pid):
    """How many a process has, without those of networks and groups."""
    return sum(not KEPT.match(target) for target in open_files(pid))


def kept_descriptors(pid):
    """And how many those are."""
    return sum(bool(KEPT.match(target)) for target in open_files(pid))


def namespaces():
    """(kind, inode) -> pids of every namespace some process is in."""
    found = {}
    for pid in pids():
        for kind in NAMESPACES:
            try:
                link = os.readlink(f"/proc/{pid}/ns/{kind}")
            except OSError:
                continue
            found.setdefault(link, set()).add(pid)
    return found


def cgroups():
    found = set()
    for path, dirs, _ in os.walk("/sys/fs/cgroup"):
        if os.path.basename(path).startswith("hotcell-test-"):
            dirs.clear()  # another suite's, with slots of its own
        found.update(f"{path}/{name}" for name in dirs if CGROUP.match(name))
    return found


def is_somebodys(cgroup):
    """Whether whoever made a group is still there: a keeper makes that of its next cell ahead. The
    slot's lock tells; without root, that it belongs to somebody else."""
    try:
        if os.getuid() != 0:
            return os.stat(cgroup).st_uid != os.getuid()
        with open("/run/hotcell/slots", "r+b", buffering=0) as slots:
            return is_slot_held(slots.fileno(), int(cgroup.rpartition("-")[2]))
    except OSError:
        return False


def hotcell_peaks_kb(pid):
    """Name -> peak resident size of hotcell and of those of its children that are no cell.

    Sampled while they live, since the figure wait4() gives afterwards covers whatever they
    waited for, the cell's programs included.
    """
    peaks = {}
    for one in [pid] + [int(p) for p in read(f"/proc/{pid}/task/{pid}/children").split()]:
        fields = dict(line.split(":", 1) for line in read(f"/proc/{one}/status").splitlines()
                      if ":" in line)
        name = fields.get("Name", "").strip()
        in_cell = len(fields.get("NSpid", "").split()) > len(own_levels())
        if name.startswith("hotcell") and not in_cell and "VmHWM" in fields:
            peaks[name] = max(peaks.get(name, 0), int(fields["VmHWM"].split()[0]))
    return peaks


def own_levels():
    for line in read("/proc/self/status").splitlines():
        if line.startswith("NSpid:"):
            return line.split()[1:]
    return ["?"]


class Leftovers:
    def __init__(self, mode, watched):
        self.is_root = mode == "root"
        self.watched = [str(path) for path in watched]

    def look(self):
        """Everything that a run might leave, each as a tuple of its kind and its name."""
        found = set()
        found.update(("mount", line) for line in read("/proc/self/mountinfo").splitlines()
                     if line.partition(" - ")[2].split()[0] not in DEBUGGERS_MOUNTS)
        found.update(("namespace", link) for link in namespaces())
        found.update(("cgroup", path) for path in cgroups())
        found.update(("file", path) for path in self.files())
        for kind in ("shm", "sem", "msg"):
            found.update((f"sysv {kind}", line)
                         for line in read(f"/proc/sysvipc/{kind}").splitlines()[1:])
        return found

    def files(self):
        """Entries of the places a run might use; of shared ones only those that are ours."""
        for directory in self.watched:
            for path, dirs, names in os.walk(directory):
                yield from (f"{path}/{name}" for name in dirs + names
                            if name != LOCK_FILE and not CACHE.search(f"{path}/{name}"))
        for path in Path("/run/hotcell").glob("*"):
            if path.name != LOCK_FILE:
                yield str(path)
        for directory in ("/tmp", "/var/tmp", "/dev/shm", "/run"):
            for entry in os.scandir(directory):
                try:
                    owner = entry.stat(follow_symlinks=False).st_uid
                except OSError:
                    continue
                if entry.name == f"hotcell-{os.getuid()}":
                    continue  # a user's own place for the lock file
                if owner in CELL_UIDS or (not self.is_root and owner == os.getuid()):
                    yield entry.path

    def processes(self, alive, lent):
        """What hotcell left, now the driver's children; the dead among them are buried."""
        left = []
        for pid, (parent, state, name) in descendants(os.getpid()).items():
            if pid in alive or pid in lent:
                continue
            if state == "Z":
                if parent == os.getpid():
                    bury(pid)
                continue
            left.append(f"{pid} {name}")
        return left

    def without_foreign(self, found, lent):
        mine = (set(descendants(os.getpid())) | {os.getpid()}) - set(lent)
        users = namespaces() if found else {}
        lasting = set()
        for kind, name in found:
            if kind == "cgroup":
                is_foreign = is_somebodys(name)
            else:
                is_foreign = name in users and not users[name] & mine
            if not is_foreign:
                lasting.add((kind, name))
        return lasting

    def problems_since(self, before, alive, lender=None):
        deadline = time.monotonic() + PATIENCE
        lasting = None
        while True:
            lent = lender.processes() if lender else ()
            left = self.processes(alive, lent)
            new = self.look() - before
            lasting = new if lasting is None else lasting & new
            lasting = self.without_foreign(lasting, lent)
            if not left and not lasting:
                return []
            if time.monotonic() > deadline:
                break
            time.sleep(0.02)
        return ([f"I1: process left: {name}" for name in left] +
                [f"I1: {kind} left: {name}" for kind, name in sorted(lasting)])


def bury(pid):
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        pass
