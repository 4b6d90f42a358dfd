# SPDX-License-Identifier: Apache-2.0
"""What a cell promises holds for a guest: how it ends is told, and nothing is left of it."""
import json
import os
import signal

from suite import (BUILD, DELEGATE, EVERYONE, Skip, check, claim, contains, equal, nothing_left,
                   wait_until)
from template import Template

ALL = EVERYONE + DELEGATE

ORPHANS = """
import os, time
if os.fork() == 0:
    for _ in range(20):
        if os.fork() == 0:
            os._exit(7)
    os._exit(0)
os.wait()
def zombies():
    found = []
    for name in filter(str.isdigit, os.listdir('/proc')):
        try:
            with open(f'/proc/{name}/stat') as file:
                found.append(file.read().rpartition(')')[2].split()[0])
        except OSError:
            pass
    return found.count('Z')
for _ in range(1000):
    if not zombies():
        print('all buried')
        break
    time.sleep(0.005)
"""


@claim("a guest's exit status, signal and output are told", ALL)
def endings(person):
    with Template(person) as template:
        for way in (template.guest, template.parked):
            result = way("print('out')\nimport sys\nprint('err', file=sys.stderr)").is_ok()
            equal((result["stdout"], result["stderr"]), ("out\n", "err\n"), "output")
            way("raise SystemExit(3)").has_status("error", 3)
            way("import os; os._exit(200)").has_status("error", 200)
            result = way("import os; os.kill(os.getpid(), 11)").has_status("signal")
            equal(result["signal"], 11, "signal")
            way("while True: pass", timeout=0.1).has_status("timeout")
            way("x = bytearray(200 << 20)", memory="32M").has_status("oom")


@claim("a guest's time, memory, reading and writing are counted", ALL)
def usage(person):
    code = """
import time
data = bytearray(60 << 20)
with open('file', 'wb') as file:
    file.write(data[:5000000])
with open('file', 'rb') as file:
    file.read()
end = time.process_time() + 0.3
while time.process_time() < end:
    pass
"""
    with Template(person) as template:
        found = template.guest(code).is_ok()["usage"]
    check(300 <= found["cpu_ms"] < 3000, "cpu_ms:", found)
    check(60 << 10 <= found["max_memory_kb"] < 200 << 10, "max_memory_kb:", found)
    check(5000000 <= found["read_bytes"] < 6000000, "read_bytes:", found)
    check(5000000 <= found["write_bytes"] < 6000000, "write_bytes:", found)


@claim("init buries what a guest orphans", ALL)
def orphans(person):
    with Template(person) as template:
        equal(template.guest(ORPHANS).is_ok()["stdout"], "all buried\n", "stdout")


@claim("a guest is in all the places a cold payload is in", ALL)
def places(person):
    host = [os.readlink("/proc/self/ns/" + name) for name in os.listdir("/proc/self/ns")]
    code = f"HOST = {host}" + """
import errno, os, stat, zlib
print([name for name in ('mnt', 'net', 'ipc', 'uts', 'user', 'pid', 'cgroup')
       if os.readlink('/proc/self/ns/' + name) in HOST])
with open('/proc/self/status') as file:
    for line in file:
        if line.split(':')[0] in ('Uid', 'Gid', 'Groups', 'CapInh', 'CapPrm', 'CapEff', 'CapBnd',
                                  'CapAmb', 'NoNewPrivs', 'Seccomp', 'Seccomp_filters', 'SigBlk',
                                  'SigIgn', 'Umask', 'THP_enabled'):
            print(line.strip())
with open('/proc/self/limits') as file:
    print(file.read())
with open('/proc/self/cgroup') as file:
    print(file.read())
with open('/proc/self/oom_score_adj') as file:
    print(file.read())
with open('/proc/self/mountinfo') as file:
    # a template that stays has copies of what is small, and below /etc all is
    mounts = sorted(line.split()[4] for line in file)
    print([where for where in mounts if not where.startswith('/etc/') or where == '/etc/user'])

def told(path):
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode):
        return 'to ' + os.readlink(path)
    kind = oct(status.st_mode), status.st_mtime_ns
    if stat.S_ISDIR(status.st_mode):
        return kind, sorted(os.listdir(path))
    with open(path, 'rb') as file:
        return kind, zlib.crc32(file.read())

def outcome(path):
    try:
        os.rename(path, path + '.x')
    except OSError as error:
        return error.errno in (errno.EROFS, errno.EBUSY, errno.EXDEV, errno.EACCES)

for where, _, names in os.walk('/etc'):
    # the directories that hold them are the skeleton's own
    if where not in ('/etc', '/etc/ssl', '/etc/php', '/etc/php/8.2', '/etc/php/8.2/cli', '/etc/user'):
        print(where, told(where)[0], zlib.crc32(repr([(name, told(os.path.join(where, name)))
                                                     for name in sorted(os.listdir(where))]).encode()))
        print([name for name in names if not outcome(os.path.join(where, name))])
for name in ('ld.so.cache', 'mime.types', 'protocols', 'services', 'ssl/openssl.cnf', 'timezone'):
    print(name, told('/etc/' + name) if os.path.exists('/etc/' + name) else None)
print(os.getsid(0) not in (0, os.getpid()), os.getpgrp() == os.getsid(0))
print(os.getppid(), os.getcwd(), os.sched_getaffinity(0), len(os.listdir('/proc/self/fd')) > 2)
print(open('/proc/self/maps').readline() != '')
"""
    with Template(person) as template:
        cold = template.cold(code, max_output="100K").is_ok()["stdout"].splitlines()
        for way in (template.guest, template.parked):
            found = way(code, max_output="100K").is_ok()["stdout"].splitlines()
            for one, other in zip(found, cold):
                equal(one, other, "a guest's")
            equal(len(found), len(cold), "number of lines")


FORKS = """
import os, time
count = 1
try:
    while os.fork() != 0:
        count += 1
except BlockingIOError:
    print(count, flush=True)
    time.sleep(1)  # without a cgroup they are counted now and then
else:
    time.sleep(10)
os._exit(0)
"""


@claim("a guest has as many processes as a cold payload, and they are counted", ALL)
def processes(person):
    with Template(person) as template:
        cold = template.cold(FORKS, pids=9).is_ok()
        equal(cold["stdout"], "9\n", "a cold payload's")
        for way in (template.guest, template.parked):
            found = way(FORKS, pids=9).is_ok()
            equal(found["stdout"], cold["stdout"], "a guest's")
            equal(found["usage"]["processes"], cold["usage"]["processes"], "counted")
            equal(found["denials"], cold["denials"], "what is said")


@claim("what modules left in memory stays on large pages in a guest", ALL)
def large_pages(person):
    code = """
kinds = {"Anonymous": 0, "AnonHugePages": 0}
for line in open('/proc/self/smaps'):
    name, _, rest = line.partition(':')
    if name in kinds:
        kinds[name] += int(rest.split()[0])
print(*kinds.values())
"""
    with open("/sys/kernel/mm/transparent_hugepage/enabled") as file:
        if "[never]" in file.read():
            raise Skip("this kernel makes no large pages")
    with open(os.path.join(BUILD, "runtimes", "python", "language.json")) as file:
        modules = json.load(file)["preload"]["base"]
    with Template(person, *modules) as template:
        for way in (template.guest, template.parked):
            found = way(code).is_ok()["stdout"].split()
            # its code has 4 MB of it; what guests write to is elsewhere
            check(int(found[1]) >= 8 << 10, "kB in all, on large pages:", found)


@claim("a killed interpreter ends no guest, and the next is told of it", ALL)
def interpreter_killed(person):
    with Template(person) as template:
        template.guest("pass").is_ok()
        pid = template.interpreter()
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not is_running(pid), "the interpreter's death")
        contains(template.guest("pass")["setup_error"], "interpreter", "what is said")
        template.cold("pass").is_ok()
    nothing_left(person)


@claim("a killed supervisor takes its interpreter and its guests along", ALL)
def supervisor_killed(person):
    template = Template(person)
    template.guest("pass").is_ok()
    pid = template.interpreter()
    template.process.stdin.write(b'guest {"code": "while True: pass"}\n')
    template.process.stdin.flush()
    wait_until(lambda: guests_of(pid), "a guest")
    found = guests_of(pid)
    template.process.kill()
    template.process.wait()
    wait_until(lambda: not any(map(is_running, [pid, *found])), "the death of all")
    person.code("pass").ok()  # whoever comes next removes the cgroups
    nothing_left(person)


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def guests_of(interpreter):
    """Processes with the interpreter's command line that are not the interpreter."""
    def words(pid):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                return file.read()
        except OSError:
            return b""

    wanted = words(interpreter)
    return [int(name) for name in filter(str.isdigit, os.listdir("/proc"))
            if int(name) != interpreter and wanted and words(name) == wanted]
