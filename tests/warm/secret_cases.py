# SPDX-License-Identifier: Apache-2.0
"""Nothing of one request is to be found in a later one of the same pool, nor in what stands ready.

A request leaves a token wherever a program can: in its code, arguments, environment, input, output,
memory, files, System V and POSIX objects, keyrings. The next ones look for it wherever a program
can look, and as root the test itself looks into every process of the daemon. The token is given to
the search in two halves, which are nowhere beside each other unless the token is there.
"""
import json
import os
import secrets

from daemon import Daemon
from suite import HUNG_AFTER, ROOT, check, children, claim, descendants, equal, parse_result, read, wait_until

LOOKS = 2  # of all cells that stand ready, and again of those that took their place

# Code of the cell; Python, as the one that runs in both kinds of cells.
SEARCH = r"""
import ctypes, glob, json, os, re, sys

def has_token(data, at=0):
    # A slice is compared, so that no copy of the whole token is ever made.
    while (at := data.find(FIRST, at)) >= 0:
        at += len(FIRST)
        if data[at:at + len(SECOND)] == SECOND:
            return True
    return False

def in_memory():
    found = []
    with open('/proc/self/mem', 'rb', 0) as memory:
        for line in open('/proc/self/maps'):
            span, rights, *_rest = line.split()
            begin, end = (int(word, 16) for word in span.split('-'))
            if 'r' not in rights or '[v' in line:
                continue
            global looked
            for at in range(begin, end, 1 << 20):
                try:
                    memory.seek(at)
                    data = memory.read(min((1 << 20) + 64, end - at))
                except (OSError, ValueError, OverflowError):
                    continue
                looked += len(data)
                if has_token(data):
                    found.append('memory ' + line.split(None, 5)[-1].strip())
    return found

def in_files(tops):
    found = []
    for top in tops:
        for place, dirs, names in os.walk(top):
            for name in dirs + names:
                path = os.path.join(place, name)
                if has_token(os.fsencode(name)):
                    found.append('name ' + place)
                try:
                    if os.path.isfile(path) and has_token(open(path, 'rb').read(64 << 20)):
                        found.append('file ' + place)
                except OSError:
                    pass
    return found

def in_proc():
    found = []
    for path in glob.glob('/proc/[0-9]*/*') + glob.glob('/proc/*') + glob.glob('/proc/sysvipc/*'):
        if not os.path.isfile(path) or path.endswith(('kmsg', '/mem', 'kcore', 'pagemap')):
            continue
        try:
            with open(path, 'rb', 0) as file:
                if has_token(file.read(1 << 16)):
                    found.append('proc ' + re.sub(r'\d+', 'N', path))
        except OSError:
            pass
    return found

libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
KEY, SIZE = 0x68637465, 4096

def in_ipc():
    found = []
    number = libc.shmget(KEY, 0, 0)
    if number >= 0:
        at = libc.shmat(number, None, 0o10000)
        if has_token(ctypes.string_at(at, SIZE)):
            found.append('shm')
    number = libc.msgget(KEY, 0)
    if number >= 0:
        message = ctypes.create_string_buffer(SIZE)
        if libc.msgrcv(number, message, SIZE - 8, 0, 0o4000) > 0 and has_token(message.raw):
            found.append('msg')
    queue = libc.mq_open(b'/left', os.O_RDONLY | os.O_NONBLOCK)
    if queue >= 0:
        found.append('mq')
    key = libc.syscall(249, b'user', b'left', None, -3)  # request_key
    if key >= 0:
        found.append('key')
    return found

looked = 0
def search():
    env = [key + '=' + value for key, value in os.environ.items()]
    found = ['environment'] if any(has_token(item.encode()) for item in env) else []
    found += ['argument'] if any(has_token(item.encode()) for item in sys.argv) else []
    found += in_ipc() + in_files(['/home', '/tmp', '/dev', '/var', '/run', '/etc', '/srv', '/mnt'])
    return found + in_proc() + in_memory()
"""

LEAVE = r"""
token = os.environ['SECRET'].encode()
hoard = bytearray((token + b' ') * 20000)
for place in ('/home/user', '/tmp', '/dev/shm'):
    with open(place + '/left', 'wb') as file:
        file.write(token * 100)
    open(place + '/' + token.decode(), 'w').close()
number = libc.shmget(KEY, SIZE, 0o1666)
if number >= 0:
    ctypes.memmove(libc.shmat(number, None, 0), token, len(token))
number = libc.msgget(KEY, 0o1666)
if number >= 0:
    libc.msgsnd(number, b'\1' + bytes(7) + token, len(token), 0)
libc.mq_open(b'/left', os.O_CREAT | os.O_RDWR, 0o666, None)
libc.syscall(248, b'user', b'left', token, len(token), -3)  # add_key
given = sys.stdin.readline().encode()
print(token.decode(), flush=True)
print(token.decode(), file=sys.stderr, flush=True)
"""

KILLED = "import time; time.sleep(50)"  # its client is, meanwhile
ENDS = ("", "os._exit(0)", "os.kill(os.getpid(), 9)", "if os.fork() == 0: libc.pause()", "1 / 0",
        KILLED)
TELL = "found = sorted(set(search()))\nprint(json.dumps([looked, found]))"


def halves(token):
    middle = len(token) // 2
    return f"FIRST, SECOND = {token[:middle].encode()!r}, {token[middle:].encode()!r}\n"


def new_token():
    return "token" + secrets.token_hex(16)


# ---- the forms of cells --------------------------------------------------------------------------


def guest(code, *args):
    return ("-c", code, *(("--", *args) if args else ()))


def gate(code, *args):
    return ("--exec", "--", "/usr/bin/python3", "-I", "-c", code, *args)


FORMS = {"guest": guest, "gate": gate}
OPTIONS = ("-t", "30", "-m", "600M", "--max-output", "1M", "--stdin", "-")


class Pool:
    """Runs in cells of one pool."""

    def __init__(self, person, form):
        self.person, self.form = person, form
        self.daemon = Daemon(person)
        self.run("pass", is_first=True)

    def __enter__(self):
        self.daemon.__enter__()
        return self

    def __exit__(self, *what):
        self.daemon.__exit__(*what)

    def arguments(self, code, args=(), env=()):
        given = [word for item in env for word in ("-e", item)]
        return (*OPTIONS, *given, *FORMS[self.form](code, *args))

    def run(self, code, args=(), env=(), stdin=b"", is_first=False):
        self.daemon.settle()
        result = self.person.json(*self.arguments(code, args, env), stdin=stdin,
                                  env={"HOTCELL_SOCKET": self.daemon.path})
        check(is_first or result.meta["warm"], "not in a cell that stood ready")
        return result

    def leave(self, token, end):
        # the code holds it, too
        code = SEARCH + f"IN_CODE = '{token}'\n" + LEAVE + end
        if end == KILLED:
            self.daemon.settle()
            process = self.start(code, token)
            process.kill()
            process.wait()
        else:
            result = self.run(code, (token,), (f"SECRET={token}",), token.encode() + b"\n")
            equal(result.stdout.strip(), token, f"stdout of {result['stderr']!r}")

    def start(self, code, token):
        process = self.person.start(
            "run", *self.arguments(code, (token,), (f"SECRET={token}",)), stdin=-1,
            env={"HOTCELL_SOCKET": self.daemon.path})
        process.stdin.write(token.encode() + b"\n")
        process.stdin.flush()
        equal(process.stdout.readline().decode().strip(), token, "stdout")
        return process

    def look(self, code):
        """What as many requests find as there are cells ready, at the same time: a pool gives
        the youngest first."""
        ready = sum(pool["parked"] for pool in self.daemon.settle()["pools"]
                    if pool["form"] == self.form)
        processes = [self.person.start("run", "--json", *self.arguments(code),
                                       env={"HOTCELL_SOCKET": self.daemon.path})
                     for _ in range(ready)]
        found = []
        for process in processes:
            out, err = process.communicate(timeout=HUNG_AFTER)
            result = parse_result(out, err).is_ok()
            if result.meta["warm"]:
                looked, told = json.loads(result.stdout)
                check(looked > 1 << 20, f"only {looked} bytes of memory were looked at")
                found.append(told)
        check(len(found) >= 2, "too few of these requests were in cells that stood ready")
        return found


@claim("the search finds a token of its own request everywhere")
def finds_its_own(person):
    for form in FORMS:
        token = new_token()
        with Pool(person, form) as pool:
            result = pool.run(SEARCH + halves(token) + LEAVE + TELL, (token,), (f"SECRET={token}",),
                              token.encode() + b"\n")
            found = json.loads(result.is_ok().stdout.splitlines()[-1])[1]
            wanted = {"environment", "argument", "file /home/user", "file /tmp", "file /dev/shm",
                      "name /home/user", "msg", "memory [heap]"}
            wanted |= {"shm"} if person.is_root else set()  # uncounted without a cgroup
            wanted |= {"proc /proc/N/environ", "proc /proc/N/cmdline"} if form == "gate" else set()
            equal(sorted(wanted - set(found)), [], f"not found in a {form} cell, but {found}")


def declare(form):
    @claim(f"nothing of a request is in the next ones of its pool, as {form}")
    def nothing_stays(person):
        with Pool(person, form) as pool:
            for end in ENDS:
                token = new_token()
                pool.leave(token, end)
                for found in (one for _ in range(LOOKS)
                              for one in pool.look(SEARCH + halves(token) + TELL)):
                    equal(found, [], f"after an end by {end!r}, what a later request found")


for one_form in FORMS:
    declare(one_form)


# ---- from outside --------------------------------------------------------------------------------

LANGUAGES = {
    "python": "import sys\nx = '{0}' * 99\nprint(x[:37], flush=True)\nsys.stdin.readline()",
    "javascript": "const x = '{0}'.repeat(99); console.log(x.slice(0, 37));"
                  "require('fs').readSync(0, Buffer.alloc(1))",
    "bash": "x={0}; echo $x; read line",
    "sh": "x={0}; echo $x; read line",
}


def family(pid):
    return [pid, *(one for child in children(pid) for one in family(child))]


def has_token(pid, token):
    """Whether a process has it in its memory."""
    try:
        with open(f"/proc/{pid}/maps", encoding="ascii", errors="replace") as maps, \
                open(f"/proc/{pid}/mem", "rb", 0) as memory:
            for line in maps:
                begin, end = (int(word, 16) for word in line.split()[0].split("-"))
                if line.split()[1][0] != "r" or "[v" in line:
                    continue
                memory.seek(begin)
                if token in memory.read(end - begin):
                    return True
    except (OSError, ValueError, OverflowError):
        return False
    return False


@claim("nothing of a request is in the daemon, its keeper or what stands ready", ROOT)
def nothing_in_processes(person):
    with Daemon(person) as daemon:
        for language, code in LANGUAGES.items():
            token = new_token()
            arguments = ("-t", "30", "-m", "600M", "-l", language, "--stdin", "-", "-e",
                         f"SECRET={token}", "-c", code.replace("{0}", token), "--", token)
            for _ in range(3):  # the first finds nothing ready
                daemon.settle()
                process = person.start("run", *arguments, stdin=-1,
                                       env={"HOTCELL_SOCKET": daemon.path})
                equal(process.stdout.readline().decode().strip(), token, f"stdout of {language}")
                below = family(daemon.process.pid)
                check(any(has_token(pid, token.encode()) for pid in below),
                      f"the token is not even in the running {language}")
                process.communicate(b"\n")
                equal(process.returncode, 0, f"exit status of {language}")
            wait_until(lambda: daemon.status()["keeper"]["lent"] == 0, "the end of the loan")
            daemon.settle()
            found = [pid for pid in family(daemon.process.pid) if has_token(pid, token.encode())]
            names = [open(f"/proc/{pid}/cmdline", encoding="utf-8").read() for pid in found]
            equal(names, [], f"processes with a token of {language}")


def has_ring(pid):
    """Whether a process holds what pins pages: as a template's own it is open only there."""
    names = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
    return "anon_inode:[io_uring]" in names


@claim("what holds the pages of a zygote or an interpreter is open in no cell", ROOT)
def no_ring_in_cells(person):
    with Daemon(person) as daemon:
        for code in ("print(1)", "import time; time.sleep(0.1); print(1)"):
            equal(person.json("-c", code, env={"HOTCELL_SOCKET": daemon.path}).is_ok().stdout, "1\n", "stdout")
        daemon.settle()
        [keeper] = [pid for pid in children(daemon.process.pid) if b"keeper" in read(f"/proc/{pid}/cmdline")]
        templates = children(keeper)
        # an init that has no cell yet is the zygote's copy, and still root
        cells = [pid for template in templates for pid in descendants(template)
                 if b"\nUid:\t0\t" not in read(f"/proc/{pid}/status")]
        check(len(cells) >= 2, f"{len(cells)} processes stand ready")
        check(any(has_ring(pid) for pid in templates), "the kernel's list of descriptors does not tell it")
        equal([pid for pid in cells if has_ring(pid)], [], "processes of cells that hold it")
