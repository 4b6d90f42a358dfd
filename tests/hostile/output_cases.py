# SPDX-License-Identifier: Apache-2.0
"""Behaviours 61-71: output and standard streams."""
import os
import select
import subprocess
import time

from harness import Case, Want, honest, judge, program
from leftovers import descendants

ENOUGH = ("-t", "25")


def truncated(stream, least):
    """The result holds little of it, but knows how much there was."""

    def check(run, _bench):
        kept = len(run.result[stream])
        total = run.result["meta"][f"{stream}_bytes"]
        problems = []
        if kept > 64 << 10:
            problems.append(f"{kept} characters of {stream} are in the result")
        if total < least:
            problems.append(f"{stream}_bytes is {total}, less than {least}")
        if not run.result["meta"]["truncated"]:
            problems.append("meta.truncated is false")
        return problems

    return check


def both(*checks):
    return lambda run, bench: [p for check in checks for p in check(run, bench)]


def flood(suffix, name, fds, check, step=1 << 20, options=ENOUGH, status="output_limit"):
    return Case(f"{suffix}", name, program("outabuse", "flood", fds, 10, step),
                Want(status=status, within=28, also=check), options, honest("lines"), canary=True)


# ---- bytes ---------------------------------------------------------------------------------------

NASTY = b"\x1b]0;title\x07\x1b[2J\x1b[31mred\x1b[0m\0\xff\xfe\xc3(\n"
EVERY_BYTE = bytes(range(256))


def bytes_are_kept(bench):
    spill = bench.work / "spill"
    spill.mkdir()
    run = bench.run(program("outabuse", "bytes"), ("--spill", str(spill)))
    problems = judge(run, Want(), bench)
    if problems:
        return problems
    if any(byte < 0x20 and byte not in b"\n\r\t" for byte in run.stdout):
        problems.append("the JSON holds raw control characters")
    text = run.result["stdout"]
    if not text.startswith("\0\x01\x02") or "\x1b[31mred" not in text or "\ufffd" not in text:
        problems.append(f"stdout came out as {text[:80]!r}…")
    for stream, wanted in (("stdout", EVERY_BYTE + NASTY), ("stderr", NASTY)):
        path = run.result["meta"].get(f"{stream}_file")
        got = open(path, "rb").read() if path else None
        if got != wanted:
            problems.append(f"spilled {stream} is {got!r}")
    return problems


def on_a_terminal(bench, what, options=()):
    """Runs hotcell for a person: its own streams are a terminal, and its controlling one."""
    master, slave = os.openpty()
    started = bench.start(what, options, is_json=False, stdin=slave, stdout=slave,
                          preexec_fn=lambda: os.login_tty(os.dup(slave)))
    os.close(slave)
    shown = b""
    deadline = time.monotonic() + 15
    while time.monotonic() < deadline:
        ready, _, _ = select.select([master], [], [], 0.1)
        try:
            part = os.read(master, 65536) if ready else b""
        except OSError:
            break
        shown += part
        if not part and started.poll() is not None:
            break
    run = started.finish()
    os.close(master)
    run.stdout = shown.replace(b"\r\n", b"\n")
    bench.runs.append(run)
    return run


def terminal_is_not_driven(bench):
    run = on_a_terminal(bench, program("outabuse", "bytes"))
    problems = []
    for sequence, name in ((b"\x1b]0;", "sets the title"), (b"\x1b[2J", "clears the screen")):
        if sequence in run.stdout:
            problems.append(f"what the program wrote {name}")
    if b"red" not in run.stdout:
        problems.append("the text between the sequences is gone")
    return problems


TERMINAL_LINES = {
    **{f"isatty-{fd}": ("ENOTTY", "EINVAL") for fd in range(3)},
    **{f"sti-{fd}": ("EPERM", "ENOTTY") for fd in range(3)},
    **{f"linux-{fd}": ("EPERM", "ENOTTY") for fd in range(3)},
    **{f"sctty-{fd}": ("EPERM", "ENOTTY") for fd in range(3)},
    **dict.fromkeys(("dev-tty", "dev-console", "dev-tty1"), ("ENOENT", "ENXIO", "EACCES", "EPERM")),
}


def terminal_does_not_come_along(bench):
    run = on_a_terminal(bench, program("outabuse", "terminal"))
    told = run.lines()
    problems = [f"'{what}' is {told.get(what)}, not {' or '.join(outcome)}"
                for what, outcome in TERMINAL_LINES.items()
                if not set(told.get(what, ["nothing"])) <= set(outcome)]
    return problems


# ---- readers and writers that leave --------------------------------------------------------------


def reader_leaves(is_json, *options):
    """Whoever reads hotcell's output goes away; the cell must not outlive that."""

    def check(bench):
        read_end, write_end = os.pipe()
        started = bench.start(program("outabuse", "flood", "1", 10), ("-t", "20", *options),
                              is_json=is_json, stdout=write_end)
        os.close(write_end)
        begin = os.read(read_end, 5)
        os.close(read_end)
        run = started.finish()
        bench.runs.append(run)
        problems = [] if begin == (b'{"eve' if is_json else b"yyyyy") else [f"read {begin!r}"]
        problems += [f"left: {name}" for name in bench.left()]
        if run.seconds > 15:
            problems.append(f"hotcell went on for {run.seconds:.1f} s")
        return problems + bench.expect(Want(says="fine"), honest("lines"))

    return check


def reader_is_stuck(bench):
    """Whoever reads hotcell's output neither reads nor leaves: the cell ends all the same."""
    read_end, write_end = os.pipe()
    started = bench.start(program("outabuse", "flood", "1", 10), ("-t", "1"), is_json=False,
                          stdout=write_end)
    os.close(write_end)
    time.sleep(3)
    left = [name for _, (_, _, name) in descendants(os.getpid()).items() if name == "outabuse"]
    problems = ["the cell outlived its second"] if left else []
    while os.read(read_end, 1 << 20):
        continue
    os.close(read_end)
    run = started.finish()
    bench.runs.append(run)
    if run.exit != 124:
        problems.append(f"exit status is {run.exit}, not 124")
    return problems


def unread_input_file(bench):
    big = bench.work / "big"
    with open(big, "wb") as file:
        file.truncate(1 << 30)
    options = ("--stdin", str(big), "-t", "10")
    small = bench.work / "small"
    small.write_bytes(b"x" * 300000)
    return (bench.expect(Want(says="did not read", within=8), program("outabuse", "ignore-stdin"),
                         options) +
            bench.expect(Want(says="fine"), honest("stdin", 300000), ("--stdin", str(small))))


def unread_input_pipe(bench):
    source = subprocess.Popen(["cat", "/dev/zero"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL)
    bench.alive.add(source.pid)
    try:
        return bench.expect(Want(says="did not read", within=8),
                            program("outabuse", "ignore-stdin"), ("--stdin", "-", "-t", "10"),
                            stdin=source.stdout)
    finally:
        source.stdout.close()
        source.kill()
        source.wait()
        bench.alive.discard(source.pid)


def all_lines_arrive(run, _bench):
    wanted = "".join(f"line {i}\n" for i in range(1000))
    return [] if wanted in run.result["stdout"] else ["lines are missing or out of order"]


CASES = [
    flood("61", "10 GiB on stdout are cut off", "1", truncated("stdout", 64 << 20)),
    flood("61.time", "10 GiB on stdout below the limit end with the time", "1",
          truncated("stdout", 100 << 20), options=("--output-limit", "1T", "-t", "2"),
          status=("timeout", "ok")),
    flood("62", "10 GiB on stderr are cut off", "2", truncated("stderr", 64 << 20)),
    flood("62.both", "10 GiB on both are cut off", "12",
          both(truncated("stdout", 32 << 20), truncated("stderr", 32 << 20))),
    flood("62.bytes", "a flood of single bytes is cut off", "12",
          truncated("stdout", 1 << 20), step=1, options=("--output-limit", "1M", "-t", "25")),
    Case("63", "closing its streams hides nobody from the clock", program("outabuse", "closed"),
         Want(status="timeout", within=6), ("-t", "1"), honest("print")),
    Case("64", "a stream held open by a daemon delays nothing", program("outabuse", "held-open"),
         Want(says="last words", within=6), ("-t", "20"), honest("print")),
    Case("65", "a gigabyte of input that nobody reads blocks nothing", unread_input_file),
    Case("65.pipe", "endless input that nobody reads blocks nothing", unread_input_pipe),
    Case("66", "every byte is kept and none is interpreted", bytes_are_kept),
    Case("66.terminal", "a person's terminal is not driven by the program", terminal_is_not_driven),
    Case("67", "a reader that leaves ends the run", reader_leaves(False)),
    Case("67.stream", "a reader of events that leaves ends the run",
         reader_leaves(True, "--stream")),
    Case("67.stuck", "a reader that is stuck does not prolong the run", reader_is_stuck),
    Case("68", "games with the pipes' flags lose nothing", program("outabuse", "fcntl"),
         Want(lines={"setfl": "ok"}, within=10, also=all_lines_arrive),
         ("--max-output", "1M"), honest("lines")),
    Case("69", "streams passed on to another process end with the cell",
         program("outabuse", "pass-on"), Want(lines={"pass": "ok"}, within=6), ("-t", "20"),
         honest("unix")),
    Case("70", "standard output is a pipe, not the caller's file", program("outabuse", "seek"),
         Want(lines={"seek": "ESPIPE", "truncate": ("EINVAL", "EACCES"), "pwrite": "ESPIPE",
                     "regular": "failed"}),
         (), honest("print")),
    Case("71", "there is no terminal to type into", program("outabuse", "terminal"),
         Want(lines=TERMINAL_LINES), (), honest("print")),
    Case("71.terminal", "nor when hotcell itself is on one", terminal_does_not_come_along),
]
