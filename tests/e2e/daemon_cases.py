# SPDX-License-Identifier: Apache-2.0
"""The daemon: who is let in, who waits, and what survives whose end."""
import contextlib
import json
import os
import signal
import socket
import subprocess

from daemon import ERR_BROKEN, ERR_INVALID, ERR_LIMIT, HEAD, MAGIC, Client, Daemon
from suite import (HUNG_AFTER, ROOT, USER, USER_ID, check, claim, contains, equal, lacks,
                   marked_processes, nothing_left, parse_result, processes_of, read, wait_until)


def nothing_left_of_the_killed(person):
    """Cgroups of a keeper that was killed are removed by the next ordinary run."""
    wait_until(lambda: not processes_of(person), "the dead to go")
    person.code("print('janitor')", "--cold").ok()
    nothing_left(person)


# ---- its life ------------------------------------------------------------------------------------


@claim("serve says where it listens, tells how it is, and leaves nothing when it is stopped")
def life(person):
    with Daemon(person) as daemon:
        contains(daemon.words(), f"serving at {daemon.path}", "the daemon's log")
        ran = person.call("serve", "--socket", daemon.path, "--status", "--json").ok()
        status = json.loads(ran.out)
        equal((status["running"], status["queued"], status["served"], status["refused"]),
              (0, 0, 0, 0), "numbers of a new daemon")
        equal(status["pid"], daemon.process.pid, "its process")
        contains(person.call("serve", "--status", env={"HOTCELL_SOCKET": daemon.path}).ok().out,
                 "keeper.pid", "status for people")
        equal(os.stat(daemon.path).st_mode & 0o777, 0o600, "mode of the socket")
        ran = person.call("serve", "--socket", daemon.path, "--stop").ok()
        equal((ran.out, ran.err), ("", ""), "what --stop says")
        equal(daemon.process.wait(HUNG_AFTER), 0, "exit status")
        equal(os.listdir(person.dir), [os.path.basename(daemon.log)], "files afterwards")
    nothing_left(person)


@claim("without --socket it listens in a directory of its user alone")
def default_place(person):
    run_dir = person.make_dir(f"run-{person.dir_count}", 0o700)
    place = "/run/hotcell" if person.is_root else os.path.join(run_dir, "hotcell")
    path = os.path.join(place, "hotcelld.sock")
    log = person.path("log")
    env = {"XDG_RUNTIME_DIR": run_dir}
    with open(log, "wb") as stream:
        process = person.start("serve", env=env, stderr=stream)
    wait_until(lambda: os.path.exists(path) or process.poll() is not None, path)
    with open(log, encoding="utf-8") as stream:
        wait_until(lambda: "serving at" in stream.read(), "its word")
    equal(os.stat(place).st_mode & 0o777, 0o700, f"mode of {place}")
    equal(person.call("serve", "--status", env=env).ok().err, "", "stderr of --status")
    person.call("serve", "--stop", env=env).ok()
    equal(process.wait(HUNG_AFTER), 0, "exit status")
    check(not os.path.exists(path), f"{path} is still there")
    nothing_left(person)


@claim("SIGTERM and SIGINT end it, with its keeper and what is lent")
def ended_by_signal(person):
    for number in (signal.SIGTERM, signal.SIGINT):
        with Daemon(person, "--concurrency", "1") as daemon:
            running, waiting = daemon.client(), daemon.client()
            running.borrow()
            waiting.ask().expect("queued")
            equal(daemon.end(number), 0, f"exit status after signal {number}")
            running.expect_end()
            waiting.expect_end()
        nothing_left(person)


@claim("options that make no sense are refused with one line")
def bad_options(person):
    for args, part in ((("--listen", "7070"), "--listen: '7070'"),
                       (("--idle", "5"), "--on-demand"),
                       (("--concurrency", "0"), "--concurrency: '0'"),
                       (("--queue", "many"), "--queue: 'many'"),
                       (("--socket", ""), "--socket: the path is empty"),
                       (("--socket", "/tmp/" + "x" * 120), "longer than"),
                       (("--socket", "/nowhere/d.sock"), "/nowhere"),
                       (("--status", "--stop"), "do not go together"),
                       (("--json",), "--json"),
                       (("--conurrency", "3"), "did you mean --concurrency?"),
                       (("word",), "no argument")):
        ran = person.call("serve", *args).exits(125)
        contains(ran.err, part, f"stderr of {args}")
        equal(len(ran.err.splitlines()), 1, f"lines of {ran.err!r}")
    for args in (("--nothing",), ("--idle=5",), ("--on-demand=1",), ("word",), ("--queue",)):
        ran = person.call(*args, program=os.path.join(person.build, "hotcelld")).exits(125)
        equal(len(ran.err.splitlines()), 1, f"lines of {ran.err!r}")
    for word in ("--status", "--stop"):
        ran = person.call("serve", "--socket", person.path("none.sock"), word).exits(125)
        contains(ran.err, "nobody serves", "stderr")


@claim("a service manager is told when it is ready")
def notified(person):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.settimeout(HUNG_AFTER)
        manager.bind(person.path("notify"))
        os.chmod(person.path("notify"), 0o777)
        with Daemon(person, env={"NOTIFY_SOCKET": person.path("notify")}):
            equal(manager.recv(100), b"READY=1", "what is told first")
        equal(manager.recv(100), b"STOPPING=1", "what is told at the end")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.settimeout(HUNG_AFTER)
        manager.bind(f"\0hotcell-test-{os.getpid()}")
        with Daemon(person, env={"NOTIFY_SOCKET": f"@hotcell-test-{os.getpid()}"}):
            equal(manager.recv(100), b"READY=1", "what is told to an abstract socket")


# ---- the socket ----------------------------------------------------------------------------------


@claim("a second daemon at the same socket is refused, and the first goes on")
def second_daemon(person):
    with Daemon(person) as daemon:
        ran = person.call("serve", "--socket", daemon.path).exits(125)
        equal(ran.err, f"hotcell: somebody serves at '{daemon.path}' already\n", "stderr")
        daemon.client().borrow()


@claim("of ten daemons started at once one serves")
def ten_daemons(person):
    path = person.path("d.sock")
    started = [person.start("serve", "--socket", path) for _ in range(10)]
    wait_until(lambda: sum(p.poll() is None for p in started) == 1, "nine of them to leave")
    client = Client(path)
    client.borrow()
    status = json.loads(Client(path).send("info").expect("info").text)
    alive = [p for p in started if p.poll() is None]
    equal([p.pid for p in alive], [status["pid"]], "who serves")
    for process in started:
        if process not in alive:
            equal(process.returncode, 125, "exit status of one that found it taken")
            contains(process.communicate()[1].decode(), "already", "what it said")
    person.call("serve", "--socket", path, "--stop").ok()
    client.close()
    nothing_left(person)


@claim("a socket whose daemon is dead is replaced; a file that is none is left alone")
def stale_socket(person):
    daemon = Daemon(person)
    keeper = daemon.keeper_pid()
    daemon.kill()
    check(os.path.exists(daemon.path), "the socket is gone with a killed daemon")
    os.kill(keeper, signal.SIGKILL)
    with Daemon(person) as daemon:
        daemon.client().borrow()
    path = person.write(person.path("letter"), "dear all")
    ran = person.call("serve", "--socket", path).exits(125)
    contains(ran.err, "no socket", "stderr")
    with open(path, encoding="utf-8") as file:
        equal(file.read(), "dear all", "the file's content")
    nothing_left_of_the_killed(person)


@claim("a relative path of the socket is meant from where we are")
def relative_socket(person):
    with Daemon(person, path="here.sock") as daemon:
        daemon.path = person.path("here.sock")
        equal(daemon.status()["socket"], daemon.path, "the socket it tells of")
        daemon.client().borrow()


# ---- who is let in -------------------------------------------------------------------------------


@claim("another user is refused with a sentence", ROOT)
def stranger(person):
    with Daemon(person) as daemon:
        os.chmod(daemon.path, 0o666)
        client = daemon.elsewhere(USER_ID)
        with contextlib.suppress(BrokenPipeError):
            client.ask()
        contains(client.expect("refused").text, "user 0 alone", "the refusal")
        client.expect_end()
        equal(daemon.status()["refused"], 1, "refused")


@claim("a daemon of another user is not trusted", ROOT)
def stranger_daemon(person):
    path = person.path("theirs.sock")
    os.chmod(person.dir, 0o777)
    pid = os.fork()
    if pid == 0:
        with contextlib.suppress(BaseException):
            os.setresuid(USER_ID, USER_ID, USER_ID)
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            listener.bind(path)
            listener.listen()
            while True:
                listener.accept()
        os._exit(0)
    try:
        wait_until(lambda: os.path.exists(path), path)
        for args in (("--status",), ("--stop",), ()):
            ran = person.call("serve", "--socket", path, *args).exits(125)
            contains(ran.err, "another user's", "stderr")
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


@claim("a client that says nothing is dropped; one that talks nonsense is told so")
def silent_and_senseless(person):
    with Daemon(person) as daemon:
        silent = daemon.client()
        for packet in (b"x", b"\0" * HEAD.size, HEAD.pack(MAGIC, 1, 0, 99) + b"short",
                       HEAD.pack(MAGIC, 77, 0, 0), HEAD.pack(MAGIC, 8, 0, 0),
                       HEAD.pack(MAGIC, 9, 0, 0), b"y" * 100000):
            client = daemon.client()
            client.sock.send(packet)
            equal(client.expect("refused").number, ERR_INVALID, f"code for {packet[:20]!r}")
            client.expect_end()
        equal(daemon.client().ask("no policy").expect("refused").number, ERR_INVALID,
              "code of the keeper's refusal")
        contains(silent.expect("refused").text, "nothing was asked", "the silent one's refusal")
        silent.expect_end()
        daemon.client().borrow()


@claim("it has only so many connections")
def many_connections(person):
    with Daemon(person, "--concurrency", "1", "--queue", "0") as daemon:
        daemon.client().borrow()
        idle = [daemon.client() for _ in range(64)]
        contains(daemon.client().expect("refused").text, "65 connections", "the refusal")
        idle[0].close()
        wait_until(lambda: can_ask(daemon), "room for one more")


def can_ask(daemon):
    client = Client(daemon.path)
    try:
        client.send("info")
        return client.receive().kind == "info"
    except BrokenPipeError:
        return False
    finally:
        client.close()


# ---- the queue -----------------------------------------------------------------------------------


@claim("only so many cells are lent at once; the others wait, are told their place, and get theirs")
def queue(person):
    with Daemon(person, "--concurrency", "2") as daemon:
        clients = [daemon.client() for _ in range(10)]
        for client in clients[:2]:
            equal(client.borrow(), [], "places of one that need not wait")
        for place, client in enumerate(clients[2:]):
            equal(client.ask().expect("queued").number, place, "first place told")
        daemon.wait_for(running=2, queued=8)
        for client, later in zip(clients, clients[2:]):
            client.close()
            places = later.wait_for_loan()
            equal(places, sorted(places, reverse=True), "places told on the way")
            daemon.wait_for(running=2 if client is not clients[8] else 1)
        daemon.wait_for(queued=0, served=10, refused=0)


@claim("who waits is told when his place changes, and only then")
def news(person):
    with Daemon(person, "--concurrency", "1") as daemon:
        first, second, third = (daemon.client() for _ in range(3))
        first.borrow()
        equal(second.ask().expect("queued").number, 0, "place of the second")
        equal(third.ask().expect("queued").number, 1, "place of the third")
        second.close()
        equal(third.expect("queued").number, 0, "place of the third when the second left")
        first.close()
        equal(third.wait_for_loan(), [], "places told after that")


@claim("beyond the queue a client is refused, with the numbers and the options")
def overflow(person):
    with Daemon(person, "--concurrency", "1", "--queue", "2") as daemon:
        clients = [daemon.client() for _ in range(3)]
        clients[0].borrow()
        for client in clients[1:]:
            client.ask().expect("queued")
        answer = daemon.client().ask().expect("refused")
        equal(answer.number, ERR_LIMIT, "code")
        for part in ("1 cells are lent", "2 clients wait", "--concurrency (1)", "--queue (2)"):
            contains(answer.text, part, "the refusal")
        daemon.wait_for(refused=1, queued=2)
        clients[2].close()
        daemon.wait_for(queued=1)
        daemon.client().ask().expect("queued")


@claim("with --queue 0 nobody waits")
def no_queue(person):
    with Daemon(person, "--concurrency", "1", "--queue", "0") as daemon:
        first = daemon.client()
        first.borrow()
        daemon.client().ask().expect("refused")
        first.close()
        daemon.wait_for(running=0)
        daemon.client().borrow()


@claim("sessions take turns: one with many waiting does not delay another's first")
def fair(person):
    with Daemon(person, "--concurrency", "1") as daemon:
        first = daemon.client()
        first.borrow()
        greedy = [daemon.client() for _ in range(5)]
        for client in greedy:
            client.ask().expect("queued")
        modest = daemon.elsewhere()
        equal(modest.ask().expect("queued").number, 1, "place of another session's first")
        equal(greedy[4].expect("queued").number, 5, "new place of the last of the greedy one")
        first.close()
        greedy[0].wait_for_loan()
        greedy[0].close()
        modest.wait_for_loan()
        modest.close()
        for client in greedy[1:]:
            client.wait_for_loan()
            client.close()


@claim("who hangs up while waiting leaves the queue at once")
def leaves_queue(person):
    with Daemon(person, "--concurrency", "1") as daemon:
        first = daemon.client()
        first.borrow()
        leaver, patient = daemon.client(), daemon.client()
        leaver.ask().expect("queued")
        patient.ask().expect("queued")
        leaver.close()
        daemon.wait_for(queued=1, running=1)
        first.close()
        patient.wait_for_loan()
        daemon.wait_for(queued=0, running=1, served=2)


# ---- what survives -------------------------------------------------------------------------------


@claim("a loan survives the crash of the daemon, and the next daemon counts it")
def crash_of_daemon(person):
    first = Daemon(person, "--concurrency", "2")
    borrower, waiting = first.client(), Client(first.path)
    borrower.borrow()
    keeper = first.keeper_pid()
    other = first.client()
    other.borrow()
    waiting.ask().expect("queued")
    first.kill()
    waiting.expect_end()
    other.close()
    with Daemon(person, "--concurrency", "1") as daemon:
        contains(daemon.words(), "took over 1 cell", "the new daemon's log")
        equal(daemon.keeper_pid(), keeper, "the keeper")
        equal(daemon.status()["running"], 1, "running")
        late = daemon.client()
        late.ask().expect("queued")
        borrower.close()
        late.wait_for_loan()
        check(daemon.status()["keeper"]["lent"] >= 1, "the keeper has lent nothing")
    nothing_left(person)


@claim("a keeper that a dead daemon left is ended by serve --stop")
def stop_keeper(person):
    daemon = Daemon(person)
    daemon.client().borrow()
    daemon.kill()
    person.call("serve", "--socket", daemon.path, "--stop").ok()
    daemon.clients[0].expect_end()
    nothing_left(person)
    os.unlink(daemon.path)


@claim("when the keeper dies its clients are hung up on, and those who wait get theirs from a new one")
def crash_of_keeper(person):
    with Daemon(person, "--concurrency", "1") as daemon:
        running, waiting = daemon.client(), daemon.client()
        running.borrow()
        waiting.ask().expect("queued")
        keeper = daemon.keeper_pid()
        os.kill(keeper, signal.SIGKILL)
        running.expect_end()
        waiting.wait_for_loan()
        check(daemon.keeper_pid() != keeper, "the keeper is the same")
        equal(daemon.words().count("the keeper ended; starting a new one\n"), 1, "lines in the log")
        daemon.wait_for(running=1, keeper_ended=1)
    nothing_left_of_the_killed(person)


@claim("a keeper that dies again and again is given up with a clear word")
def hopeless_keeper(person):
    with Daemon(person) as daemon:
        for ended in range(3):
            daemon.wait_for(keeper_ended=ended)
            wait_until(lambda: daemon.status()["keeper"], "a new keeper")
            os.kill(daemon.keeper_pid(), signal.SIGKILL)
        daemon.wait_for_log("3 times")
        answer = daemon.client().ask().expect("refused")
        equal(answer.number, ERR_BROKEN, "code")
        contains(answer.text, "the keeper ended 3 times within 10 s", "the refusal")
        # and after a while it is tried again
        wait_until(lambda: is_lent(daemon), "a loan")
    nothing_left_of_the_killed(person)


def is_lent(daemon):
    client = Client(daemon.path)
    try:
        return client.ask().receive().kind != "refused"
    finally:
        client.close()


@claim("a client that is killed gives its place back")
def killed_client(person):
    with Daemon(person, "--concurrency", "1") as daemon:
        client = daemon.elsewhere()
        client.borrow()
        late = daemon.client()
        late.ask().expect("queued")
        client.sock.close()
        os.kill(client.pid, signal.SIGKILL)
        late.wait_for_loan()


@claim("a daemon without its keeper's program says so and leaves nothing")
def no_keeper(person):
    os.makedirs(person.path("lone"))
    for name in ("hotcell", "hotcelld"):
        os.link(os.path.join(person.build, name), person.path(f"lone/{name}"))
    person.own(person.path("lone"))
    ran = person.call("serve", "--socket", person.path("d.sock"),
                      program=person.path("lone/hotcell")).exits(125)
    contains(ran.err, "hotcell-keeper", "stderr")
    lacks(ran.err, "serving", "stderr")
    check(not os.path.exists(person.path("d.sock")), "the socket is still there")
    os.unlink(person.path("lone/hotcelld"))
    ran = person.call("serve", program=person.path("lone/hotcell")).exits(125)
    contains(ran.err, "hotcelld", "stderr")


# ---- on demand -----------------------------------------------------------------------------------


@claim("on demand it leaves when nobody has needed it for a while, and not before")
def idle(person):
    with Daemon(person, "--on-demand", "--idle", "1") as daemon:
        client = daemon.client()
        client.borrow()
        with contextlib.suppress(subprocess.TimeoutExpired):
            daemon.process.wait(2)
            check(False, "it left with a cell lent")
        client.close()
        equal(daemon.process.wait(HUNG_AFTER), 0, "exit status")
        check(not os.path.exists(daemon.path), "the socket is still there")
    nothing_left(person)


def run_on_demand(person, path, *args):
    return person.start("run", "--json", *args, "-c", "print('served')",
                        env={"HOTCELL_SOCKET": path, "HOTCELL_ON_DEMAND": "1"})


@claim("one that is started at the usual place makes the directory that is not there yet", USER)
def first_of_a_user(person):
    place = person.make_dir("runtime", 0o700)
    env = {"XDG_RUNTIME_DIR": place}
    ran = person.call("session", "new", "first", env=env)
    equal((ran.code, ran.out), (0, "first\n"), f"what {ran!r} gave")
    equal(person.call("session", "exec", "first", "-c", "print(6 * 7)", env=env).out, "42\n", "what the session says")
    equal(os.stat(f"{place}/hotcell").st_mode & 0o777, 0o700, "rights of the directory")
    equal(person.call("session", "kill", "first", env=env).code, 0, "exit status of the session's end")
    equal(person.call("serve", "--stop", env=env).code, 0, "exit status of the daemon's end")
    equal(os.listdir(f"{place}/hotcell"), [], "files that stayed")
    nothing_left(person)


@claim("ten runs that start it at once all succeed and share one daemon")
def ten_on_demand(person):
    path = person.path("d.sock")
    runs = [run_on_demand(person, path) for _ in range(10)]
    for run in runs:
        out, err = run.communicate(timeout=HUNG_AFTER)
        equal((run.returncode, err), (0, b""), "exit status and stderr")
        equal(parse_result(out.decode(), out).is_ok().stdout, "served\n", "stdout")
    wait_until(lambda: names_of(person) == ["hotcell-keeper", "hotcelld"], "the others to leave")
    status = json.loads(person.call("serve", "--socket", path, "--status", "--json").ok().out)
    equal(status["served"], 10, "served by the one daemon")
    run = run_on_demand(person, path)
    out, _err = run.communicate(timeout=HUNG_AFTER)
    check(parse_result(out.decode(), out).is_ok().meta["warm"], "the next run was cold")
    person.call("serve", "--socket", path, "--stop").ok()
    nothing_left(person)


def names_of(person):
    """Of the programs that run, but for those a keeper has: zygotes, and what stands in cells."""
    names = {line.split()[1] for line in processes_of(person)}
    return sorted(name for name in names if name != "hotcell-zygote")


@claim("where no daemon can be started a run is served without one")
def no_daemon_to_start(person):
    run = run_on_demand(person, "/nowhere/d.sock")
    out, _err = run.communicate(timeout=HUNG_AFTER)
    check(not parse_result(out.decode(), out).is_ok().meta["warm"], "it was warm")


@claim("a daemon that is started on demand keeps nothing of its client but what it needs")
def started_clean(person):
    path = person.path("d.sock")
    person.code("1", env={"HOTCELL_SOCKET": path, "HOTCELL_ON_DEMAND": "1",
                          "SECRET_TOKEN": "geheim"}).ok()
    status = json.loads(person.call("serve", "--socket", path, "--status", "--json").ok().out)
    for pid in (status["pid"], status["keeper"]["pid"]):
        environment = read(f"/proc/{pid}/environ")
        check(b"geheim" not in environment, "a secret is in", environment)
        contains(environment.decode(), "HOME=", "the environment")
        equal(os.readlink(f"/proc/{pid}/cwd"), "/", "working directory")
        equal(os.getsid(pid), pid, "session")
        for name in os.listdir(f"/proc/{pid}/fd"):
            lacks(os.readlink(f"/proc/{pid}/fd/{name}"), "pipe:", f"descriptor {name}")
    person.call("serve", "--socket", path, "--stop").ok()


# ---- runs ----------------------------------------------------------------------------------------

WORK = "print('ready', flush=True)\nimport time; time.sleep({})\nprint('done')"


def start_run(person, daemon, seconds=1, *args):
    process = person.start("run", "-t", "50", *args, "-c", WORK.format(seconds),
                           env={"HOTCELL_SOCKET": daemon.path})
    equal(process.stdout.readline(), b"ready\n", "first line")
    return process


def end_run(process):
    out, err = process.communicate(timeout=HUNG_AFTER)
    return process.returncode, out.decode(), err.decode()


@claim("ten runs at once with two cells to lend are all served, two at a time")
def ten_runs(person):
    with Daemon(person, "--concurrency", "2") as daemon:
        env = {"HOTCELL_SOCKET": daemon.path}
        runs = [person.start("run", "-t", "50", "-c", WORK.format(0.2), env=env)
                for _ in range(10)]
        while any(run.poll() is None for run in runs):
            check(daemon.status()["running"] <= 2, "more than two at once")
        for run in runs:
            equal(end_run(run), (0, "ready\ndone\n", ""), "exit status, stdout, stderr")
        daemon.wait_for(served=10, running=0, queued=0)
    nothing_left(person)


@claim("a run that finds the queue full ends with 125 and the reason; --cold needs no daemon")
def run_refused(person):
    with Daemon(person, "--concurrency", "1", "--queue", "0") as daemon:
        daemon.client().borrow()
        env = {"HOTCELL_SOCKET": daemon.path}
        ran = person.code("print(1)", env=env).exits(125)
        contains(ran.err, "the daemon is full: 1 cells are lent", "stderr")
        result = person.json("-c", "print(1)", env=env).has_status("setup_error", 125)
        contains(result["error"]["message"], "--concurrency (1)", "message")
        equal(person.code("print(1)", "--cold", env=env).ok().out, "1\n", "stdout of --cold")


@claim("a run survives the crash of the daemon, whose successor counts it")
def run_without_daemon(person):
    first = Daemon(person)
    run = start_run(person, first, 3)
    first.kill()
    with Daemon(person) as daemon:
        equal(daemon.status()["running"], 1, "running")
        equal(end_run(run), (0, "done\n", ""), "exit status, stdout, stderr")
        daemon.wait_for(running=0)
        equal(person.code("print(2)", env={"HOTCELL_SOCKET": daemon.path}).ok().out, "2\n",
              "stdout of the next run")
    nothing_left(person)


@claim("a run that waits when the daemon dies is served without one")
def run_waiting(person):
    daemon = Daemon(person, "--concurrency", "1")
    holder = daemon.client()
    holder.borrow()
    run = person.start("run", "-c", "print('alone')", env={"HOTCELL_SOCKET": daemon.path})
    daemon.wait_for(queued=1)
    daemon.kill()
    equal(end_run(run), (0, "alone\n", ""), "exit status, stdout, stderr")
    with Daemon(person):
        holder.close()
    nothing_left(person)


@claim("a run whose keeper is killed ends and says so; the next one is served")
def run_without_keeper(person):
    with Daemon(person) as daemon:
        run = start_run(person, daemon, 40)
        os.kill(daemon.keeper_pid(), signal.SIGKILL)
        code, out, err = end_run(run)
        check(code in (125, 137), f"exit status {code}, stdout {out!r}, stderr {err!r}")
        check(err, "nothing on stderr")
        equal(person.code("print(2)", env={"HOTCELL_SOCKET": daemon.path}).ok().out, "2\n",
              "stdout of the next run")
    nothing_left_of_the_killed(person)


@claim("a run that is killed gives its cell back, and nothing of it is left")
def run_killed(person):
    with Daemon(person, "--concurrency", "1") as daemon:
        mark = f"hotcell-daemon-{os.getpid()}"
        run = start_run(person, daemon, 40, "-e", f"MARK={mark}")
        check(marked_processes(mark), "its program is not found")
        run.kill()
        daemon.wait_for(running=0)
        wait_until(lambda: not marked_processes(mark), "the end of its program")
        equal(person.code("print(2)", env={"HOTCELL_SOCKET": daemon.path}).ok().out, "2\n",
              "stdout of the next run")
    nothing_left(person)
