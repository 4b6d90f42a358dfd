# SPDX-License-Identifier: Apache-2.0
"""SIGKILL at any moment, to any of our programs: the next ordinary run leaves nothing of it.

Victims are found as children of the hotcell that the test itself started, and are signalled
through a pidfd after their parent was looked at again, so that nobody else's process is hit.
"""
import concurrent.futures
import contextlib
import os
import random
import signal
import subprocess
import threading
import time

from suite import (DELEGATE, EVERYONE, ROOT, USER, Failure, Skip, check, children, claim, equal,
                   marked_processes, mounts, nothing_left, processes_of, read, stale_cgroups,
                   wait_until)

SEED = int(os.environ.get("SEED", "1"))
MARK = f"hotcell-kill-{os.getpid()}"

SLEEP = "import time; time.sleep(60)"
FORK = ("import os, time\n"
        "for _ in range(3): os.fork()\n"
        "time.sleep(60)")
DAEMON = ("import os, time\n"
          "if os.fork() == 0:\n"
          "    os.setsid()\n"
          "    if os.fork(): os._exit(0)\n"
          "time.sleep(60)")
WRITE = ("import itertools\n"
         "for i in itertools.count(): open(f'f{i % 50}', 'wb').write(b'x' * 100000)")
COMPUTE = "while True: sum(range(10000))"
PRINT = "while True: print('x' * 500)"
WORK = (SLEEP, FORK, DAEMON, WRITE, COMPUTE, PRINT)
ROLES = ("hotcell", "zygote", "init", "payload")


def start_victim(person, rng):
    options = rng.choice(([], ["--net", "loopback"], ["--json"], ["--without", "landlock"],
                          ["--rw", "d:/data"], ["--ro", "d:/data"], ["--ro", "d:/home/user/d"],
                          ["--file", "/etc/hostname:x"], ["--spill", "d"], ["--out", "f*:d"]))
    if not os.path.isdir(person.path("d")):
        with contextlib.suppress(FileExistsError):
            os.mkdir(person.path("d"))
        person.own(person.path("d"))
    return person.start("run", "-t", "50", "--output-limit", "1G", "-e", f"MARK={MARK}", *options,
                        "-c", rng.choice(WORK), stdout=subprocess.DEVNULL,
                        stderr=subprocess.DEVNULL)


def is_init(pid):
    """Pid 1 of a namespace of its own; a zygote may have other children for a moment."""
    for line in read(f"/proc/{pid}/status").splitlines():
        if line.startswith(b"NSpid:"):
            return line.split()[2:] != [] and line.split()[-1] == b"1"
    return False


def is_zygote(pid):
    return read(f"/proc/{pid}/comm") == b"hotcell-zygote\n"


def chain(pid):
    """The role and pid of hotcell, its zygote if it has one, the cell's init and the payload, as
    far as they exist by now. The zygote of a single run becomes the init itself, unless it has
    ids to map: as root with --ro or --rw. Other children make a network and are gone again."""
    found = [("hotcell", pid)]
    below = [child for child in children(pid) if is_init(child) or is_zygote(child)]
    if below and not is_init(below[0]):
        found.append(("zygote", below[0]))
        below = list(filter(is_init, children(below[0])))
    if below:
        found.append(("init", below[0]))
        found += [("payload", child) for child in children(below[0])[:1]]
    return found


def parent_of(pid):
    return int(read(f"/proc/{pid}/stat").rpartition(b")")[2].split()[1])


def kill(process, role):
    """Kills one of the chain, the nearest one that exists. Returns the role that was hit."""
    found = chain(process.pid)
    at = max(i for i, (name, _pid) in enumerate(found)
             if ROLES.index(name) <= ROLES.index(role))
    if at == 0:
        process.kill()
        return "hotcell"
    name, pid = found[at]
    with contextlib.suppress(OSError, IndexError):
        pidfd = os.pidfd_open(pid)
        try:
            if parent_of(pid) == found[at - 1][1]:
                signal.pidfd_send_signal(pidfd, signal.SIGKILL)
        finally:
            os.close(pidfd)
    return name


def namespaces(pid):
    found = set()
    for kind in ("mnt", "pid", "net", "ipc", "uts", "user"):
        with contextlib.suppress(OSError):
            found.add(os.readlink(f"/proc/{pid}/ns/{kind}"))
    return found


OWN_NAMESPACES = namespaces("self")


def started_at(pid):
    """When a process started, in ticks since the machine did; -1 when it is gone."""
    words = read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    return int(words[19]) if words else -1


def namespaces_left(seen):
    """Namespaces of victims that still have a process from when we saw them. Their numbers are
    given away again, so that a younger process shows nothing."""
    found = set()
    for name in filter(str.isdigit, os.listdir("/proc")):
        start = started_at(name)
        found |= {one for one in namespaces(name) if 0 <= start <= seen.get(one, -1)}
    return found


def now_ticks():
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))


def wait_for_end(process, what, patience=25):
    try:
        return process.wait(patience)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise Failure(f"hotcell did not end within {patience} s after {what} was killed") from None


def one_kill(person, seed, seen):
    rng = random.Random(seed)
    process = start_victim(person, rng)
    # half of them while the cell is raised, half while the program runs
    time.sleep(rng.uniform(0, 0.012) if rng.random() < 0.5 else rng.uniform(0.012, 0.15))
    for _role, pid in chain(process.pid)[1:]:
        seen.update(dict.fromkeys(namespaces(pid) - OWN_NAMESPACES, now_ticks()))
    hit = kill(process, rng.choice(ROLES))
    code = wait_for_end(process, hit)
    check(code != 0, f"exit status 0 after {hit} was killed, seed {seed}")
    return hit


def nothing_anywhere(person, seen, before):
    """When the dead are dead, an ordinary run, which is the janitor, leaves nothing of them."""
    wait_until(lambda: not processes_of(person) and not marked_processes(MARK), "the dead to go")
    person.code("print('janitor')").ok()
    nothing_left(person, mounts_before=before)
    half = [name for name in os.listdir(person.path("d")) if name.startswith(".")] \
        if os.path.isdir(person.path("d")) else []
    equal(half, [], "files that were not finished")
    deadline = time.monotonic() + 15
    while True:
        left = [f"process {pid}" for pid in marked_processes(MARK)]
        left += [f"namespace {name}" for name in namespaces_left(seen)]
        if not left:
            return
        check(time.monotonic() < deadline, "left behind:", left)
        time.sleep(0.1)


def many_kills(person, count):
    before = mounts()
    hits = {role: 0 for role in ROLES}
    done = 0
    while done < count:
        seen = {}
        batch = min(20, count - done)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            seeds = range(SEED * 1000 + done, SEED * 1000 + done + batch)
            for hit in pool.map(lambda seed: one_kill(person, seed, seen), seeds):
                hits[hit] += 1
        done += batch
        nothing_anywhere(person, seen, before)
    missed = [role for role, times in hits.items() if not times and role != "zygote"]
    equal(missed, [], "roles that were never hit")
    return hits


@claim("a hundred kills leave nothing that the next run does not remove", ROOT)
def kills_root(person):
    check(many_kills(person, 100)["zygote"] > 0, "no zygote was hit")


@claim("fifty kills leave nothing that the next run does not remove", USER + DELEGATE)
def kills_user(person):
    many_kills(person, 50)


def steady_victim(person, role, *options):
    """Kills one role of a cell that surely runs; returns hotcell's exit status and stderr."""
    process = person.start("run", "-t", "50", "-e", f"MARK={MARK}", *options, "-c",
                           "print('ready', flush=True)\n" + FORK)
    process.stdout.readline()
    equal(kill(process, role), role, "who was hit")
    code = wait_for_end(process, role)
    _out, err = process.communicate()
    return code, err.decode()


@claim("a killed payload is told as a signal")
def payload_killed(person):
    code, _err = steady_victim(person, "payload")
    equal(code, 137, "exit status")
    nothing_anywhere(person, {}, mounts())


@claim("a killed init ends the run and the whole cell")
def init_killed(person):
    code, err = steady_victim(person, "init")
    check(code in (125, 137), f"exit status {code}, stderr {err!r}")
    nothing_anywhere(person, {}, mounts())


@claim("a killed zygote ends the run and the whole cell", ROOT)
def zygote_killed(person):
    code, err = steady_victim(person, "zygote", "--ro", "/usr/share:/data")
    check(code in (125, 137), f"exit status {code}, stderr {err!r}")
    nothing_anywhere(person, {}, mounts())


@claim("the cell of a killed hotcell is dead before anybody runs another")
def hotcell_killed(person):
    steady_victim(person, "hotcell")
    deadline = time.monotonic() + 10
    while marked_processes(MARK) or processes_of(person):
        check(time.monotonic() < deadline, "still alive:", marked_processes(MARK),
              processes_of(person))
        time.sleep(0.02)


@claim("a stopped hotcell keeps no cell from its neighbours")
def hotcell_stopped(person):
    process = person.start("run", "-t", "50", "-c", "print('ready', flush=True)\n" + SLEEP)
    process.stdout.readline()
    process.send_signal(signal.SIGSTOP)
    try:
        for _ in range(5):
            equal(person.code("print('fine')").ok().out, "fine\n", "stdout")
        check(process.poll() is None, "the stopped one is gone")
        equal(chain(process.pid)[-1][0], "payload", "the last of its chain")
    finally:
        process.kill()
        process.communicate()
    nothing_anywhere(person, {}, mounts())


@claim("honest runs beside killed ones all succeed", EVERYONE + DELEGATE)
def honest_beside_killed(person):
    before = mounts()
    stop = threading.Event()
    kills = []

    def killer(number):
        rng = random.Random(SEED * 77 + number)
        while not stop.is_set():
            process = start_victim(person, rng)
            time.sleep(rng.uniform(0, 0.05))
            kills.append(kill(process, rng.choice(ROLES)))
            wait_for_end(process, kills[-1])

    def honest(number):
        for turn in range(15):
            word = f"{number}-{turn}"
            code = (f"import os; open('f', 'w').write('{word}'); os.fork(); os._exit(0) "
                    f"if os.getpid() != 2 else print(open('f').read())")
            result = person.json("-t", "40", "-c", code)
            result.is_ok()
            equal(result.stdout, word + "\n", "stdout of an honest run")

    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        killers = [pool.submit(killer, number) for number in range(2)]
        runs = [pool.submit(honest, number) for number in range(8)]
        try:
            for run in runs:
                run.result()
        finally:
            stop.set()
        for one in killers:
            one.result()
    check(len(kills) >= 5, "only", len(kills), "were killed meanwhile")
    nothing_anywhere(person, {}, before)


@claim("what a supervisor in another cgroup left is removed by the next one there", ROOT)
def other_cgroup(person):
    own = own_memory_group()
    aside = os.path.join(own, f"{MARK}-aside")
    os.mkdir(aside)
    enter = ["sh", "-c", 'echo $$ > "$0/tasks" && exec "$@"', aside]
    try:
        process = person.start("run", "-t", "50", "-c", "print('ready', flush=True)\n" + SLEEP,
                               prefix=enter)
        process.stdout.readline()
        check(len(os.listdir(aside)) > len(os.listdir(own)) - 50, "no groups")
        process.kill()
        process.communicate()
        person.code("print('janitor elsewhere')").ok()
        person.code("print('janitor there')", prefix=enter).ok()
        left = [name for name in os.listdir(aside) if name.startswith("hotcell-")]
        equal(left, [], "groups left in the other cgroup")
    finally:
        for name in [n for n in os.listdir(aside) if n.startswith("hotcell-")]:
            with contextlib.suppress(OSError):
                os.rmdir(os.path.join(aside, name))
        os.rmdir(aside)


def own_memory_group():
    for line in read("/proc/self/cgroup").decode().splitlines():
        _number, controllers, path = line.split(":", 2)
        if controllers == "memory" and os.path.isdir("/sys/fs/cgroup/memory" + path):
            return "/sys/fs/cgroup/memory" + path
    raise Skip("needs the memory controller of cgroup v1 in a hierarchy of its own")


@claim("when everything is over nothing is left")
def all_over(person):
    person.code("print(1)").ok()
    nothing_left(person)
    if person.is_root:
        equal([p for p in stale_cgroups() if p not in person.stale_before], [], "cgroups")
