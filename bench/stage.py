# SPDX-License-Identifier: Apache-2.0
"""What a benchmark needs around it: our programs, a working directory, and cells that stand ready."""
import contextlib
import ctypes
import functools
import json
import os
import shutil
import signal
import socket
import subprocess
import tarfile
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
PARTS = HERE.parent  # the build directory, or lib/hotcell
PR_SET_CHILD_SUBREAPER = 36
STOPWATCH = PARTS / "hotcell-bench"
RUNTIMES = PARTS / "runtimes"

PYTHON = "/usr/bin/python3"
USR_LINKS = ("bin", "lib", "lib64", "sbin")
TRUE = "/usr/bin/true-static"  # in the root that the stage makes
IMAGE = "hotcell-bench"

STARTED_WITHIN = 10  # seconds
ENDED_WITHIN = 60


def hotcell():
    """The command that started us, else the one that belongs to our parts."""
    given = os.environ.get("HOTCELL")
    beside = PARTS / "hotcell"
    return given or str(beside if beside.exists() else PARTS.parent.parent / "bin" / "hotcell")


def part(name):
    """One of our programs: with our parts, or beside the command."""
    places = (PARTS, Path(hotcell()).resolve().parent)
    return str(next((place / name for place in places if (place / name).exists()), name))


def environment():
    """Nothing of the caller's that could change what a program does when it starts."""
    kept = ("HOME", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "BENCH_QUIET", "ASAN_OPTIONS",
            "UBSAN_OPTIONS", "HOTCELL_STATE_DIR", "DOCKER_HOST")
    path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    return {"PATH": path, "LANG": "C.UTF-8"} | {
        name: os.environ[name] for name in kept if name in os.environ}


def which(program):
    return shutil.which(program, path=environment()["PATH"])


def ask(*command, timeout=60):
    """What a command says, stripped; None when it fails."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, timeout=timeout, check=True,
                              env=environment())
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


class Lender:
    """A daemon and a keeper of our own, at a socket nobody else knows."""

    def __init__(self, directory, name, parked, concurrency=256):
        self.socket = str(directory / name)
        self.log_path = directory / f"{name}.log"
        self.keeper = None
        self.daemon = None
        self.parked = parked
        self.concurrency = concurrency

    def __enter__(self):
        log = open(self.log_path, "wb")
        with log:
            self.keeper = self.start(log, "hotcell-keeper", "--socket", f"{self.socket}.keeper",
                                     "--parked", str(self.parked))
            self.await_socket(f"{self.socket}.keeper", self.keeper)
            # should we be killed, it leaves by itself
            self.daemon = self.start(log, "hotcelld", "--socket", self.socket, "--concurrency",
                                     str(self.concurrency), "--queue", "4096", "--on-demand",
                                     "--parked", str(self.parked), "--idle", "120", "--warm", "",
                                     "--drain-timeout", "0")
            self.await_socket(self.socket, self.daemon)
        return self

    def __exit__(self, *_):
        for process in (self.daemon, self.keeper):
            if process and process.poll() is None:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(ENDED_WITHIN)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
        for path in (self.socket, f"{self.socket}.keeper"):
            with contextlib.suppress(OSError):
                os.unlink(path)

    def start(self, log, name, *args):
        return subprocess.Popen([part(name), *args], stdin=subprocess.DEVNULL, stdout=log,
                                stderr=log, cwd="/", env=environment(), start_new_session=True)

    def await_socket(self, path, process):
        deadline = time.monotonic() + STARTED_WITHIN
        while time.monotonic() < deadline and process.poll() is None:
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as sock:
                with contextlib.suppress(OSError):
                    sock.connect(path)
                    return
            time.sleep(0.01)
        self.__exit__()
        raise RuntimeError(f"nobody listens at {path}: {self.log()}")

    def log(self):
        """The last thing that keeper or daemon said."""
        lines = self.log_path.read_text(errors="replace").splitlines()
        return lines[-1] if lines else ""


def adopt_orphans():
    """Whoever's parent is gone is ours then, and so can be ended and waited for."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_children():
    """What somebody that was ended had started still works for a moment."""
    while True:
        for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
            os.kill(int(pid), signal.SIGKILL)
        try:
            if os.waitpid(-1, os.WNOHANG) == (0, 0):
                time.sleep(0.005)
        except ChildProcessError:
            return


class Stage:
    """A directory with the roots and sources that the contenders need."""

    def __init__(self):
        self.work = None
        self.has_image = False
        self.stack = contextlib.ExitStack()

    def __enter__(self):
        adopt_orphans()
        name = self.stack.enter_context(tempfile.TemporaryDirectory(prefix="hotcell-bench."))
        self.work = Path(name)
        self.work.chmod(0o755)
        # thousands of runs that nobody asked for have no place among the user's own
        os.environ["HOTCELL_STATE_DIR"] = str(self.work / "state")
        self.root = self.work / "root"
        self.make_root()
        return self

    def __exit__(self, *exit_info):
        if self.has_image:
            ask("docker", "rmi", "--force", IMAGE)
        end_children()
        self.stack.__exit__(*exit_info)

    def make_root(self):
        """A root with one program, that has no library to load."""
        for name in USR_LINKS:
            (self.root / "usr" / name).mkdir(parents=True)
            (self.root / name).symlink_to(f"usr/{name}")
        shutil.copy(HERE / "true", self.root / TRUE[1:])

    def lender(self, name, parked, **kwargs):
        return Lender(self.work, name, parked, **kwargs)

    def bundle(self, name, args, binds=()):
        """runc's own default configuration, but for the program and the missing terminal."""
        bundle = self.work / name
        shutil.copytree(self.root, bundle / "rootfs", symlinks=True)
        for directory in ("proc", "dev", "sys"):
            (bundle / "rootfs" / directory).mkdir()
        subprocess.run(["runc", "spec", "--bundle", str(bundle)], check=True, env=environment())
        path = bundle / "config.json"
        config = json.loads(path.read_text())
        config["process"] |= {"terminal": False, "args": args}
        config["mounts"] += [{"destination": bind, "type": "bind", "source": bind,
                              "options": ["rbind", "ro"]} for bind in binds]
        path.write_text(json.dumps(config))
        return str(bundle)

    @functools.cached_property
    def has_docker(self):
        """Whether a daemon answers; then it gets an image that is our root."""
        if not ask("docker", "version", "--format", "{{.Server.Version}}", timeout=5):
            return False
        path = self.work / "image.tar"
        with tarfile.open(path, "w") as tar:
            tar.add(self.root, arcname=".")
        self.has_image = ask("docker", "import", str(path), IMAGE) is not None
        return self.has_image

    def go_command(self, output, source):
        """How Go is built outside, with a cache that knows the standard library."""
        return (f"env GOCACHE={self.work}/gocache GOPATH={self.work}/gopath GO111MODULE=off "
                f"go build -o {self.work}/{output} {self.work}/{source}")

    def build_go(self, code):
        (self.work / "same.go").write_text(code + "\n")
        return ask("sh", "-c", self.go_command("same", "same.go"), timeout=300) is not None
