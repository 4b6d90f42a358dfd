# SPDX-License-Identifier: Apache-2.0
"""What the suites written in Python share: claims, people who run hotcell, and what they left.

A test is a function with a claim for a name. It runs once for each person it is meant for: as
root, and as an ordinary user with a copy of the programs in a directory everyone can read.
"""
import contextlib
import fcntl
import fnmatch
import json
import os
import re
import shutil
import struct
import subprocess
import tempfile
import time
import traceback

HUNG_AFTER = 60  # seconds; nothing a test starts may take that long
USER_ID = 61234  # an ordinary user; needs no entry in /etc/passwd
DELEGATE_ID = 61235

BUILD = os.path.abspath(os.environ.get("HOTCELL_BUILD", "build"))
HOTCELL = os.path.abspath(os.environ.get("HOTCELL", os.path.join(BUILD, "hotcell")))
SOURCE = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))

PROGRAMS = ("hotcell", "hotcelld", "hotcell-worker", "hotcell-bench", "hotcell-repl", "hotcell-keeper",
            "hotcell-token", "hotcell-zygote")

STATUSES = {
    "ok", "error", "signal", "timeout", "cpu_limit", "oom", "output_limit", "disk_limit",
    "interrupted", "refused", "setup_error",
}


class Failure(Exception):
    """A claim that does not hold."""


class Skip(Exception):
    """A claim that cannot be tried here."""


# ---- checks --------------------------------------------------------------------------------------


def short(value):
    text = repr(value)
    return text if len(text) <= 600 else text[:400] + " … " + text[-180:]


def check(condition, *words):
    if not condition:
        raise Failure(" ".join(word if isinstance(word, str) else short(word) for word in words))


def equal(found, wanted, what):
    check(found == wanted, f"{what} is {short(found)}, not {short(wanted)}")


def contains(text, part, what):
    check(part in text, f"{what} lacks {short(part)}: {short(text)}")


def lacks(text, part, what):
    check(part not in text, f"{what} has {short(part)}: {short(text)}")


def matches(text, pattern, what):
    check(re.search(pattern, text), f"{what} does not match {pattern!r}: {short(text)}")


def is_sanitized():
    """Built with the address sanitizer, which needs memory, time and a loader."""
    with open(os.path.join(BUILD, "hotcell"), "rb") as file:
        return b"__asan_init" in file.read()


# ---- one run of hotcell --------------------------------------------------------------------------


class Ran:
    """How one command ended."""

    def __init__(self, args, code, out, err, seconds):
        self.args = args
        self.code = code
        self.out_bytes = out
        self.err_bytes = err
        self.out = out.decode("utf-8", "replace")
        self.err = err.decode("utf-8", "replace")
        self.seconds = seconds

    def __repr__(self):
        return f"{self.args} -> {self.code}, stdout {short(self.out)}, stderr {short(self.err)}"

    def ok(self):
        equal(self.code, 0, f"exit status of {self!r}")
        return self

    def exits(self, code):
        equal(self.code, code, f"exit status of {self!r}")
        return self


def copy_programs(place):
    """Laid out as a build tree: PLACE/build/hotcell and what belongs to it."""
    os.makedirs(os.path.join(place, "build"))
    os.chmod(place, 0o755)
    for name in PROGRAMS:
        shutil.copy(os.path.join(BUILD, name), os.path.join(place, "build", name))
    for name in ("bench", "runtimes"):
        shutil.copytree(os.path.join(BUILD, name), os.path.join(place, "build", name))
    subprocess.run(["chmod", "-R", "a+rX", place], check=True)


class Person:
    """Somebody who runs hotcell, from a copy of the programs, in directories of their own."""

    def __init__(self, name, place, uid, prefix=(), groups=()):
        self.name = name
        self.groups = list(groups)  # cgroups that are this person's own
        self.place = os.path.join(place, name)
        self.uid = uid
        self.is_root = uid == 0
        self.prefix = list(prefix)
        self.build = os.path.join(self.place, "build")
        self.hotcell = os.path.join(self.build, "hotcell")
        copy_programs(self.place)
        self.home = self.make_dir("home")
        self.env = {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": self.home,
            "LANG": "C.UTF-8",
        }
        if self.is_root:  # the machine's own state is not for tests
            self.env["HOTCELL_STATE_DIR"] = os.path.join(self.home, "state")
        for variable in ("ASAN_OPTIONS", "UBSAN_OPTIONS"):
            if variable in os.environ:
                self.env[variable] = os.environ[variable]
        self.stale_before = set(stale_cgroups())  # somebody else's, from before
        self.dir = None  # a fresh one for each test
        self.dir_count = 0
        self.started = []  # what one test started, to be ended with it
        self.kept = []  # what many tests use, to be ended with the suite

    def make_dir(self, name, mode=0o755):
        path = os.path.join(self.place, name)
        os.makedirs(path)
        self.own(path, mode)
        return path

    def fresh_dir(self):
        """The working directory of one test."""
        self.dir_count += 1
        self.dir = self.make_dir(f"work-{self.dir_count}")
        return self.dir

    def path(self, name):
        return os.path.join(self.dir, name)

    def own(self, path, mode=None):
        """Hands a path over to this person."""
        if os.geteuid() == 0:
            os.chown(path, self.uid, self.uid, follow_symlinks=False)
        if mode is not None:
            os.chmod(path, mode)

    def write(self, path, text, mode=0o644):
        with open(path, "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        self.own(path, mode)
        return path

    def start(self, *args, env=None, program=None, prefix=(), **kwargs):
        """Starts hotcell and returns the Popen; its pid is hotcell's own."""
        full_env = {**self.env, **(env or {})}
        kwargs.setdefault("cwd", self.dir)
        for stream in ("stdin", "stdout", "stderr"):
            kwargs.setdefault(stream, subprocess.DEVNULL if stream == "stdin" else subprocess.PIPE)
        command = self.prefix + list(prefix) + [program or self.hotcell] + [str(a) for a in args]
        process = subprocess.Popen(command, env=full_env, **kwargs)
        self.started.append(process)
        return process

    def end_all(self):
        """Ends what a test that failed left running."""
        for process in self.started:
            if process.poll() is None:
                process.kill()
                process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream:
                    with contextlib.suppress(OSError):
                        stream.close()
        self.started = []

    def keep(self, server):
        """For what has end() and a process that the next tests need, too."""
        self.started.remove(server.process)
        self.kept.append(server)
        return server

    def call(self, *args, stdin=b"", timeout=HUNG_AFTER, **kwargs):
        """Runs any hotcell command to its end."""
        started = time.monotonic()
        process = self.start(*args, stdin=subprocess.PIPE, **kwargs)
        try:
            out, err = process.communicate(stdin, timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            raise Failure(f"hung for {timeout} s: {short(args)}, stdout {short(out)}, "
                          f"stderr {short(err)}") from None
        return Ran(args, process.returncode, out, err, time.monotonic() - started)

    def run(self, *args, **kwargs):
        return self.call("run", *args, **kwargs)

    def code(self, text, *args, **kwargs):
        """Runs Python code."""
        return self.call("run", *args, "-c", text, **kwargs)

    def json(self, *args, **kwargs):
        """`hotcell run --json`: the result, its shape checked, with the Ran as result.ran."""
        ran = self.call("run", "--json", *args, **kwargs)
        result = parse_result(ran.out, ran)
        equal(result["exit_code"], ran.code, f"exit_code beside the exit status of {ran!r}")
        result.ran = ran
        return result


class Result(dict):
    """An ExecutionResult; short cuts to what tests look at most."""

    ran = None

    @property
    def status(self):
        return self["status"]

    @property
    def stdout(self):
        return self["stdout"]

    @property
    def meta(self):
        return self["meta"]

    def is_ok(self):
        return self.has_status("ok", 0)

    def has_status(self, status, code=None):
        equal(self.get("status"), status, f"status of {short(dict(self))}")
        if code is not None:
            equal(self["exit_code"], code, f"exit_code of {short(dict(self))}")
        return self

    def denial(self, layer):
        for denial in self["denials"]:
            if denial["layer"] == layer:
                return denial
        raise Failure(f"no denial by {layer}: {short(self['denials'])} {short(self['stderr'])}")


def parse_result(text, source):
    try:
        result = Result(json.loads(text))
    except ValueError as problem:
        raise Failure(f"not one JSON value ({problem}): {source!r}") from None
    check_shape(result)
    return result


# ---- the shape of a result -----------------------------------------------------------------------

NUMBER = (int, float)
NONE = type(None)

RESULT_KEYS = {
    "id": str, "status": str, "stdout": str, "stderr": str, "exit_code": int,
    "signal": (int, NONE), "duration": NUMBER, "outputs": list, "error": (dict, NONE),
    "hint": (str, NONE), "denials": list, "usage": dict, "files": list, "meta": dict,
}
ERROR_KEYS = {
    "kind": str, "message": str, "name": (str, NONE), "value": (str, NONE), "traceback": list,
    "line": (int, NONE), "column": (int, NONE), "context": list,
    "documentation": (str, NONE),
}
FRAME_KEYS = {
    "file": str, "line": (int, NONE), "column": (int, NONE), "function": (str, NONE),
    "source": (str, NONE),
}
DENIAL_KEYS = {
    "layer": str, "operation": str, "target": (str, NONE), "option": (str, NONE),
    "evidence": (str, NONE), "count": int,
}
USAGE_KEYS = {
    "wall_ms": NUMBER, "cpu_ms": NUMBER, "max_memory_kb": int, "processes": int,
    "read_bytes": int, "write_bytes": int,
}
FILE_KEYS = {"path": str, "size": int, "saved_to": (str, NONE), "refused": (str, NONE)}
META_KEYS = {
    "runtime": (str, NONE), "language": (str, NONE), "language_version": (str, NONE),
    "compile": (dict, NONE), "warm": bool, "truncated": bool, "stdout_bytes": int, "stderr_bytes": int,
    "guard": dict, "blocked_imports": list, "warnings": list, "resource_limits": dict, "isolation": dict,
    "execution_mode": str,
}
COMPILE_KEYS = {
    "cached": bool, "duration": NUMBER, "cpu_ms": NUMBER, "max_memory_kb": int, "output": str,
    "truncated": bool,
}
META_MORE = {"stdout_file": str, "stderr_file": str, "session": str, "execution_count": (int, NONE),
             "trace_id": str}
LIMIT_KEYS = {
    "timeout": NUMBER, "cpu_time": NUMBER + (NONE,), "memory": int, "pids": int, "disk": int,
    "inodes": int, "cpus": NUMBER + (NONE,), "max_output": int, "output_limit": int,
}
ISOLATION_KEYS = {
    "pid_namespace": bool, "mount_namespace": bool, "network": str, "seccomp": bool,
    "landlock": int, "cgroup": str, "no_new_privs": bool, "uid": int, "rootfs": str,
}
ERROR_KINDS = {"syntax", "runtime", "import", "timeout", "refused", "setup"}


def check_keys(value, keys, more, what):
    missing = set(keys) - set(value)
    check(not missing, f"{what} lacks {sorted(missing)}")
    strange = set(value) - set(keys) - set(more)
    check(not strange, f"{what} has unknown {sorted(strange)}")
    for key, kind in {**keys, **more}.items():
        if key not in value:
            continue
        found = value[key]
        kinds = kind if isinstance(kind, tuple) else (kind,)
        is_right = isinstance(found, kinds) and (not isinstance(found, bool) or bool in kinds)
        check(is_right, f"{what}.{key} is {short(found)}, a {type(found).__name__}")


def check_shape(result):
    """Every key, every type, and what must agree with what."""
    check_keys(result, RESULT_KEYS, {}, "result")
    matches(result["id"], r"^\d{8}T\d{6}Z-[0-9a-f]{8}$", "id")
    check(result["status"] in STATUSES, "unknown status", result["status"])
    meta = result["meta"]
    check_keys(meta, META_KEYS, META_MORE, "meta")
    check_keys(result["usage"], USAGE_KEYS, {}, "usage")
    if meta["compile"] is not None:
        check_keys(meta["compile"], COMPILE_KEYS, {}, "meta.compile")
    check_keys(meta["resource_limits"], LIMIT_KEYS, {}, "meta.resource_limits")
    for denial in result["denials"]:
        check_keys(denial, DENIAL_KEYS, {}, "denial")
        check(denial["count"] >= 1, "a denial without a count", denial)
    for file in result["files"]:
        check_keys(file, FILE_KEYS, {}, "file")
        check((file["saved_to"] is None) != (file["refused"] is None),
              "a file is either saved or refused:", file)
    for warning in meta["warnings"]:
        check(isinstance(warning, str), "a warning is no text:", warning)
    if result["error"] is not None:
        check_keys(result["error"], ERROR_KEYS, {}, "error")
        check(result["error"]["kind"] in ERROR_KINDS, "unknown error kind", result["error"])
        for frame in result["error"]["traceback"]:
            check_keys(frame, FRAME_KEYS, {}, "traceback")
    check((result["error"] is None) == (result["status"] == "ok"),
          "status and error disagree:", result["status"], result["error"])
    if result["status"] == "setup_error":
        equal(result["error"]["kind"], "setup", "kind of a setup_error")
        equal(result["exit_code"], 125, "exit_code of a setup_error")
        return
    if result["status"] == "refused" and meta["runtime"] is None:
        return  # by the guard, which needed no cell for it
    equal(meta["runtime"], "local", "meta.runtime")
    isolation = meta["isolation"]
    for key, kind in ISOLATION_KEYS.items():
        check(key in isolation, f"meta.isolation lacks {key}")
        check(isinstance(isolation[key], kind) and (kind is bool or isolation[key] is not True),
              f"meta.isolation.{key} is {short(isolation[key])}")
    check(result["usage"]["wall_ms"] > 0, "no wall time", result["usage"])
    check(abs(result["duration"] - result["usage"]["wall_ms"] / 1000) < 0.002,
          "duration and wall_ms disagree:", result["duration"], result["usage"])


# ---- what is left behind -------------------------------------------------------------------------


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def children(pid):
    return [int(word) for word in read(f"/proc/{pid}/task/{pid}/children").split()]


def descendants(pid):
    found = []
    for child in children(pid):
        found.append(child)
        found += descendants(child)
    return found


def processes_of(person):
    """Processes of this person's programs. Each person has a copy, so the program tells whose it
    is; a payload lives only as long as the init it belongs to."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            program = os.readlink(f"/proc/{name}/exe")
            if program.startswith(person.build + "/"):
                found.append(f"{name} {os.path.basename(program)}")
    return found


def marked_processes(mark):
    """Processes with this text in their environment, as payloads started with -e have it."""
    return [name for name in filter(str.isdigit, os.listdir("/proc"))
            if mark.encode() in read(f"/proc/{name}/environ")]


LOCK = "hhqqi4x"
F_OFD_GETLK = 36
SLOTS = "/run/hotcell/slots"


def is_slot_held(fd, number):
    asked = struct.pack(LOCK, fcntl.F_WRLCK, os.SEEK_SET, number, 1, 0)
    answer = struct.unpack(LOCK, fcntl.fcntl(fd, F_OFD_GETLK, asked))
    return answer[0] != fcntl.F_UNLCK


def stale_cgroups():
    """Groups of cells that nobody holds a slot for. Others may run cells at the same time."""
    found = []
    for root, dirs, _files in os.walk("/sys/fs/cgroup"):
        if os.path.basename(root).startswith("hotcell-test-"):
            dirs.clear()  # a delegate's, with slots of his own
        found += [os.path.join(root, name) for name in dirs if re.match(r"hotcell-\d+$", name)]
    if not found or not os.path.exists(SLOTS):
        return found
    with open(SLOTS, "r+b", buffering=0) as slots:
        return [path for path in found
                if not is_slot_held(slots.fileno(), int(path.rpartition("-")[2]))]


def mounts():
    lines = read("/proc/self/mountinfo").decode("utf-8", "replace").splitlines()
    return {line for line in lines if "hotcell" in line}


def leftovers(person, mounts_before=frozenset()):
    found = [f"process {line}" for line in processes_of(person)]
    found += [f"mount {line}" for line in mounts() - mounts_before]
    for group in person.groups:
        found += [f"cgroup {group}/{name}" for name in
                  fnmatch.filter(os.listdir(group), "hotcell-*")]
    if person.is_root:
        found += [f"cgroup {path}" for path in stale_cgroups()
                  if path not in person.stale_before and os.path.exists(path)]
        if os.path.isdir("/run/hotcell"):
            found += [f"file /run/hotcell/{name}" for name in os.listdir("/run/hotcell")
                      if name != "slots"]
    return found


def nothing_left(person, patience=10, mounts_before=frozenset()):
    """The dead need a moment, more so on a busy machine."""
    deadline = time.monotonic() + patience
    while True:
        found = leftovers(person, mounts_before)
        if not found:
            return
        if time.monotonic() > deadline:
            sweep(found)
            raise Failure(f"left behind: {', '.join(found)}")
        time.sleep(0.05)


def sweep(found):
    """A leak is told once, not by every test after it."""
    for kind, _space, path in (line.partition(" ") for line in found):
        if kind == "cgroup":
            with contextlib.suppress(OSError):
                os.rmdir(path)


def wait_until(condition, what, patience=20):
    deadline = time.monotonic() + patience
    while not condition():
        check(time.monotonic() < deadline, f"waited {patience} s for {what}")
        time.sleep(0.01)


# ---- claims --------------------------------------------------------------------------------------

# root; an ordinary user; and one who was given cgroups of his own
ROOT, USER, DELEGATE = ("root",), ("user",), ("delegate",)
EVERYONE = ROOT + USER

CLAIMS = []


def claim(text, who=EVERYONE):
    """Makes a test of a function that takes a person."""

    def add(function):
        CLAIMS.append((text, who, function))
        return function

    return add


def own_groups():
    """The cgroups this process is in that a cell needs: of v1, or else of v2."""
    found = {}
    for line in read("/proc/self/cgroup").decode().splitlines():
        _number, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            found[controller] = f"/sys/fs/cgroup/{controllers}{path}".rstrip("/")
    wanted = ("memory", "pids", "cpu", "cpuacct")
    if all(os.path.isdir(found.get(name, "")) for name in wanted):
        return sorted({found[name] for name in wanted})
    return []


def set_up_delegate(place):
    """Gives an ordinary user cgroups of v1, as a container's manager would."""
    groups = []
    for parent in own_groups():
        group = os.path.join(parent, os.path.basename(place))
        with contextlib.suppress(OSError):
            os.mkdir(group)
            groups.append(group)
            for name in ("", "tasks", "cgroup.procs"):
                os.chown(os.path.join(group, name), DELEGATE_ID, DELEGATE_ID)
    if not groups:
        return None
    enter = "".join(f"echo $$ > {group}/tasks && " for group in groups)
    return Person("delegate", place, DELEGATE_ID, [
        "sh", "-c", enter + 'exec "$@"', "sh", "setpriv", f"--reuid={DELEGATE_ID}",
        f"--regid={DELEGATE_ID}", "--clear-groups", "--"], groups)


def dismiss(people):
    for group in people["delegate"].groups if "delegate" in people else ():
        for name in fnmatch.filter(os.listdir(group), "hotcell-*"):
            with contextlib.suppress(OSError):
                os.rmdir(os.path.join(group, name))
        with contextlib.suppress(OSError):
            os.rmdir(group)
    shutil.rmtree(f"/tmp/hotcell-{DELEGATE_ID}", ignore_errors=True)


def find_people(place):
    people = {}
    if os.geteuid() != 0:
        if is_sanitized():
            return people
        people["user"] = Person("user", place, os.geteuid())
        return people
    people["root"] = Person("root", place, 0)
    if shutil.which("setpriv") and not is_sanitized():
        people["user"] = Person("user", place, USER_ID, [
            "setpriv", f"--reuid={USER_ID}", f"--regid={USER_ID}", "--clear-groups", "--"])
        delegate = set_up_delegate(place)
        if delegate:
            people["delegate"] = delegate
    return people


def why_absent(name):
    if name == "root":
        return "needs root"
    if is_sanitized():
        return "a sanitized program cannot live within the address space of a rootless cell"
    if name == "delegate":
        return "needs root and cgroup v1"
    return "needs setpriv (package util-linux)"


class Suite:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def tell(self, line):
        print(line.replace("\n", " "), flush=True)

    def try_claim(self, text, function, person):
        started = time.monotonic()
        person.fresh_dir()
        try:
            function(person)
        except Skip as why:
            self.skipped += 1
            self.tell(f"skip {text}: {why}")
            return
        except Failure as why:
            self.failed += 1
            self.tell(f"not ok {text}: {why} ({time.monotonic() - started:.1f} s)")
            return
        except Exception:  # a test that breaks is a failed one
            self.failed += 1
            self.tell(f"not ok {text}: {traceback.format_exc(limit=-3)}")
            return
        finally:
            person.end_all()
        self.passed += 1
        seconds = time.monotonic() - started
        self.tell(f"ok {text}" + (f" ({seconds:.1f} s)" if seconds >= 2 else ""))

    def run(self, people, patterns):
        absent = {}
        for text, who, function in CLAIMS:
            for name in who:
                title = f"{name}: {text}"
                if patterns and not any(fnmatch.fnmatch(title, f"*{p}*") for p in patterns):
                    continue
                if name in people:
                    self.try_claim(title, function, people[name])
                else:
                    absent[name] = absent.get(name, 0) + 1
        for name, count in absent.items():
            self.skipped += 1
            self.tell(f"skip {name}: {count} claims: {why_absent(name)}")


def main(patterns):
    """Runs all claims, or those that match one of the patterns. Returns the exit status."""
    for program in PROGRAMS:
        if not os.access(os.path.join(BUILD, program), os.X_OK):
            print(f"skip all: {BUILD}/{program} is not built\n0 passed, 0 failed, 1 skipped")
            return 77
    os.umask(0o022)
    place = tempfile.mkdtemp(prefix="hotcell-test-")
    os.chmod(place, 0o755)
    suite = Suite()
    people = find_people(place)
    try:
        suite.run(people, patterns)
    finally:
        for server in (server for person in people.values() for server in person.kept):
            server.end()
        dismiss(people)
        if "KEEP" not in os.environ:
            shutil.rmtree(place, ignore_errors=True)
    print(f"{suite.passed} passed, {suite.failed} failed, {suite.skipped} skipped")
    return 1 if suite.failed else 0
