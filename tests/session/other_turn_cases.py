# SPDX-License-Identifier: Apache-2.0
"""Turns of sessions in bash, zsh, sh, JavaScript, TypeScript and SQL, over a real line."""
import os
import socket
import time

from other_line import Session
from people import Sessions
from suite import BUILD, EVERYONE, ROOT, USER, check, claim, contains, equal, lacks, matches

ONE = ROOT if os.geteuid() == 0 else USER
SHELLS = ("bash", "zsh", "sh")
SCRIPTS = ("javascript", "typescript")
# What runs for ever after it has said "go", and what it says when it is asked for x = 5 later.
ENDLESS = {
    "bash": "echo go; while :; do :; done", "zsh": "echo go; while :; do :; done",
    "sh": "echo go; while :; do :; done",
    "javascript": "console.log('go'); while (true) {}", "typescript": "console.log('go'); while (true) {}",
}
ASSIGN = {"bash": "x=5", "zsh": "x=5", "sh": "x=5", "javascript": "let x = 5", "typescript": "let x: number = 5"}
ASK = {"bash": "echo $x", "zsh": "echo $x", "sh": "echo $x", "javascript": "console.log(x)",
       "typescript": "console.log(x)"}
ROWS = "with recursive r(n) as (select 1 union all select n + 1 from r) select count(*) from r"


def tell(turn, kind):
    event = turn.event(kind)
    check(event, f"no {kind}: {turn}")
    return event


@claim("shell sessions: variables, functions, aliases, options and directory stay", ONE)
def shells_remember(person):
    for shell in SHELLS:
        session = Session(shell)
        session.run("x=5; f() { echo \"f $1\"; }; alias hi='echo hello'; mkdir d; cd d; set -o noglob; export E=e")
        turn = session.run("echo $x; f 1; hi; pwd; echo *; sh -c 'echo $E'", stdin=b"")
        equal(turn.out.decode().replace(session.home, "~"), "5\nf 1\nhello\n~/d\n*\ne\n", f"{shell}: the state")
        equal([session.run("(exit 7)").code, session.run("echo $?").out], [7, b"7\n"], f"{shell}: $?")
        turn = session.ask({"execute": {"code": "printf '%s\\n' \"$Q\"; (exit 3)", "env": ["Q=a 'b' \\c", "bad;x=1"]}})
        equal((turn.out, turn.code), (b"a 'b' \\c\n", 3), f"{shell}: a variable of a turn")
        session.close()


@claim("shell sessions: each turn has its own stdin, to its end", ONE)
def shells_read(person):
    for shell in SHELLS:
        session = Session(shell)
        equal(session.run("read a; cat", stdin=b"1\n2\n3\n").out, b"2\n3\n", f"{shell}: what is read")
        equal(session.run("cat; echo end", stdin=b"").out, b"end\n", f"{shell}: nothing left of it")
        equal(session.run("cat | wc -c", stdin=b"x" * 1000000).out.strip(), b"1000000", f"{shell}: much")
        equal(session.run(":", stdin=b"x" * 1000000).code, 0, f"{shell}: what nobody reads")
        session.close()


@claim("shell sessions: what a prompt survives ends the turn and not the session", ONE)
def shells_survive(person):
    for shell in SHELLS:
        session = Session(shell)
        session.run("x=1")
        for code in ("echo )", "for i in 1 2", "echo 'open", "${nope?bad}; echo no", "set -u; echo $nope; echo no",
                     "nosuchcommand", "readonly r=1; r=2; echo no", "cat <<E\nopen", "echo \\"):
            turn = session.run(code)
            lacks(turn.out.decode(), "no\n", f"{shell}: what {code!r} says")
            equal(session.run("set +u; echo $x").out, b"1\n", f"{shell}: x after {code!r}")
        session.close()


@claim("shell sessions: exit, set -e and a killed shell end the session with a word", ONE)
def shells_end(person):
    for shell in SHELLS:
        for code, wanted, words in (
                ("trap 'echo bye' EXIT; exit 3", 3, "ended with status 3"),
                ("set -e; false; echo no", 1, "ended with status 1: with 'set -e'"),
                ("kill -9 $$", 137, "was ended by signal 9")):
            session = Session(shell)
            turn = session.run(code)
            error = tell(turn, "error")
            contains(error["value"], f"{shell} {words}", f"{shell}: what is told of {code!r}")
            equal((error["name"], turn.code), ("SessionEnded", wanted), f"{shell}: {code!r}")
            equal(turn.out, b"bye\n" if "bye" in code else b"", f"{shell}: what {code!r} says")
            equal(session.expect("ended")["ended"], error["value"], f"{shell}: the last word on the line")
            session.close()


@claim("sessions: an interrupt ends the code and keeps the state", ONE)
def interrupts(person):
    for language in (*SHELLS, *SCRIPTS):
        session = Session(language)
        session.run(ASSIGN[language])
        for _ in range(5):
            turn = session.run(ENDLESS[language], interrupt_at=b"go\n")
            check(turn.code in (130, 2) and turn.done["interrupted"], f"{language}: {turn}")  # zsh has 2, too
            turn = session.run(ASK[language])
            equal((turn.out, turn.err, turn.code), (b"5\n", b"", 0), f"{language}: x after it")
        session.close()


@claim("shell sessions: an interrupt reaches the program in the foreground, whenever it comes", ONE)
def foreground(person):
    for shell in SHELLS:
        session = Session(shell)
        session.run("python3 -c 'import time; time.sleep(100)' & echo $! > pid; sleep 0.3")
        for _ in range(30):
            turn = session.run("echo go; sleep 100; echo no", interrupt_at=b"go\n")
            check(turn.code != 0 and turn.done["interrupted"], f"{shell}: {turn}")
            equal(turn.out, b"go\n", f"{shell}: what it says")
        equal(session.run("kill -0 $(cat pid); echo $?; kill -9 $(cat pid)").out, b"0\n",
              f"{shell}: a program in the background")
        if shell == "bash":  # the others need a terminal for it
            turn = session.run("set -m; echo go; sleep 100 | cat; echo no", interrupt_at=b"go\n")
            check(turn.done["interrupted"] and turn.out == b"go\n", f"with jobs of their own: {turn}")
            session.run("set +m")
        turn = session.run("trap 'echo trapped' INT; echo go; sleep 100; echo on", interrupt_at=b"go\n")
        contains(turn.out, b"trapped\non\n", f"{shell}: with a trap")
        session.close()


@claim("sessions: between turns an interrupt does nothing", ONE)
def idle_interrupt(person):
    for language in (*SHELLS, *SCRIPTS, "sql"):
        session = Session(language)
        for _ in range(3):
            session.interrupt()
        turn = session.run("select 1" if language == "sql" else ASSIGN[language])
        equal((turn.code, turn.done["interrupted"]), (0, False), f"{language}: {turn}")
        session.close()


@claim("sessions: much output arrives whole and before the end, however slowly it is read", ONE)
def much_output(person):
    codes = {"bash": "head -c 3000000 /dev/zero | tr '\\0' x; echo end >&2",
             "javascript": "process.stdout.write('x'.repeat(3000000)); console.error('end')",
             "sql": "select replace(hex(zeroblob(1500000)), '0', 'x');"}
    for language, code in codes.items():
        session = Session(language)
        if language == "sql":
            session.run(".mode list\n.headers off\n.width 0")
        turn = session.run(code, slow=True)
        equal(turn.out.count(b"x"), 3000000, f"{language}: bytes")
        equal(turn.code, 0, f"{language}: {turn.events}")
        session.close()


@claim("sessions: a client that goes away harms nobody", ONE)
def gone_client(person):
    for language, code in (("bash", "x=5; yes"), ("javascript", "let x = 5; for (;;) console.log('y')"),
                           ("sql", ROWS.replace("count(*)", "n"))):
        session = Session(language)
        pipes = [os.pipe() for _ in range(3)]
        ours, theirs = socket.socketpair()
        session.number += 1
        session.say({"turn": session.number}, [pipes[0][0], pipes[1][1], pipes[2][1], theirs.fileno()])
        theirs.close()
        data = b'{"execute":{"code":' + __import__("json").dumps(code).encode() + b"}}"
        ours.sendall(len(data).to_bytes(4, "big") + data)
        os.read(pipes[1][0], 10)
        ours.close()
        for pipe in pipes:
            os.close(pipe[0])
            os.close(pipe[1])
        time.sleep(0.05)  # it goes on for nobody
        session.interrupt()
        equal(session.expect("idle"), {"idle": session.number}, f"{language}: the line")
        turn = session.run("select 5" if language == "sql" else ASK[language])
        contains(turn.out, b"5\n", f"{language}: the next turn")
        session.close()


@claim("shell sessions: what runs in the background speaks in the next turn", ONE)
def background(person):
    session = Session("bash")
    turn = session.run("{ read -t 0.2 x <> <(:); echo late; } 2>/dev/null &")
    equal(turn.out, b"", "the turn that started it")
    equal(session.run("wait; echo now").out, b"late\nnow\n", "the next")
    session.run("yes > /dev/full & sleep 100 & disown -a")
    equal(session.run("echo still").out, b"still\n", "one with programs that stay")
    session.close()


@claim("sessions: completions, what a name is, and whether code is whole", ONE)
def questions(person):
    asked = {
        "bash": (("ech", "echo"), ("cd /us", "/usr/"), ("echo ${HO", "${HOME}"), ("gre", "greet"), "greet", "if true; then"),
        "zsh": (("ech", "echo"), ("cd /us", "/usr/"), ("echo $HO", "$HOME"), ("gre", "greet"), "greet", "if true; then"),
        "sh": (("ls /us", "/usr/"), ("echo $HO", "$HOME"), "greet", "echo 'a"),
        "javascript": (("gre", "greet"), ("Math.ma", "Math.max"), ("let é = JSON.pa", "JSON.parse"), "greet", "greet("),
        "typescript": (("gre", "greet"), ("Math.ma", "Math.max"), "greet", "function f(x: number) {"),
    }
    for language, questions_of in asked.items():
        session = Session(language)
        session.run("greet() { :; }" if language in SHELLS else "function greet(name) { return 1 }")
        status = session.run("false" if language in SHELLS else "1")
        *completions, name, half = questions_of
        for code, wanted in completions:
            event = tell(session.ask({"complete": {"code": code, "cursor": len(code)}}), "completions")
            contains(event["matches"], wanted, f"{language}: completions of {code!r}")
            check(wanted.startswith(code[event["start"]:event["end"]]), f"{language}: place of {code!r}: {event}")
        contains(tell(session.ask({"inspect": {"name": name, "detail": 0}}), "inspection")["text"], name, language)
        equal(tell(session.ask({"inspect": {"name": "nonesuch", "detail": 1}}), "inspection")["text"], None, language)
        for code, state in ((half, "incomplete"), ("echo )" if language in SHELLS else "let 1", "invalid"),
                            ("echo 1" if language in SHELLS else "1", "complete")):
            event = tell(session.ask({"is_complete": {"code": code}}), "completeness")
            equal(event["state"], state, f"{language}: {code!r}")
        if language in SHELLS:
            equal(session.run("echo $?").out, b"1\n", f"{language}: $? after questions ({status})")
        equal(session.run(":" if language in SHELLS else "1").done["execution_count"],
              4 if language in SHELLS else 3, f"{language}: executions")
        session.close()


# ---- JavaScript and TypeScript ---------------------------------------------------------------------


NAMES = {
    "bash": ("x=5; list=(1 2); f() { :; }; alias hi='echo hello'", "list  array|x  variable|f  function|hi  alias"),
    "zsh": ("x=5; list=(1 2); f() { :; }; alias hi='echo hello'", "list  array|x  scalar|f  function|hi  alias"),
    "sh": ("x=5; f() { :; }; alias hi='echo hello'", "x  variable|hi  alias"),
    "javascript": ("let x = 5; var list = [1]; function f() {}; class C {}; g = null",
                   "C     class|f     function|g     null|list  Array|x     number"),
    "typescript": ("let x: number = 5; const f = (a: string) => a", "f  function|x  number"),
    "sql": ("create table t(a); create temp view v as select 1; create index i on t(a)",
            "i  index|t  table|v  temporary view"),
}


@claim("sessions: the names that were given in one are told, and nothing else", ONE)
def names_given(person):
    for language, (code, wanted) in NAMES.items():
        session = Session(language)
        for given in ("no names yet", wanted):
            event = tell(session.ask({"inspect": {"name": "", "detail": 0}}), "inspection")
            equal((event["text"] or "").strip().replace("\n", "|"), given, f"{language}: names")
            session.run(code)
        session.close()


@claim("javascript session: declarations, modules, _ and awaited values stay", ONE)
def script_state(person):
    session = Session("javascript")
    with open(f"{session.home}/lib.mjs", "w", encoding="utf-8") as file:
        file.write("export default 'd'; export const two = 2")
    for code, value in (
            ("let a = 1; const b = 2; class C { x = 3 }", None), ("a + b + new C().x", "6"), ("_ * 2", "12"),
            ("let a = 10; const b = 20; class C {}", None), ("a + b", "30"), ("{ a: a }", "{ a: 10 }"),
            ("import d, { two as zwei } from './lib.mjs'", None), ("d + zwei", "'d2'"),
            ("const f = async () => (await import('./lib.mjs')).two; await f()", "2"),
            ("'a string with import(x)'", "'a string with import(x)'"), ("require('path').basename('/a/b')", "'b'"),
            ("fs.existsSync('lib.mjs')", "true"), ("export const e = 5", None), ("e", "5"),
            ("await new Promise((done) => setTimeout(done, 5, 'later'))", "'later'"), ("10n ** 3n", "1000n"),
            ("Symbol('s')", "Symbol(s)"), ("-0", "-0"), ("undefined", None), ("process.argv.length", "1")):
        turn = session.run(code)
        equal((turn.value, turn.code), (value, 0), f"what {code!r} gives ({turn})")
    session.close()


@claim("javascript session: errors tell their place and end the turn", ONE)
def script_errors(person):
    session = Session("javascript")
    session.run("function f() {\n  throw new TypeError('deep')\n}")
    error = tell(session.run("1\nf()"), "error")
    equal([(frame["file"], frame["line"], frame["function"]) for frame in error["traceback"]],
          [("<cell 2>", 2, "<main>"), ("<cell 1>", 2, "f")], "the trace")
    equal((error["name"], error["kind"], error["line"]), ("TypeError", "runtime", 2), "the error")
    for code, kind, line in (("let 1", "syntax", 1), ("1\n2 +* 3", "syntax", 2), ("JSON.parse('{')", "runtime", 1),
                             ("require('nonesuch')", "import", 1), ("\nawait import('nonesuch')", "import", 2)):
        error = tell(session.run(code), "error")
        equal((error["kind"], error.get("line")), (kind, line), f"{code!r}: {error}")
    for code, word in (("setTimeout(() => { throw new Error('late') }, 5); await new Promise(() => {})", "late"),
                       ("Promise.reject(new Error('nobody'))", "nobody"), ("throw null", "null"),
                       ("throw { get stack() { throw 1 } }", "")):
        turn = session.run(code)
        equal(turn.code, 1, f"{code!r}: {turn}")
        contains(turn.err.decode(), word, f"{code!r}: stderr")
        equal(session.run("1 + 1").value, "2", f"after {code!r}")
    turn = session.run("process.exit(4)")
    equal((tell(turn, "error")["value"], turn.code), ("node ended with status 4", 4), "the end")
    session.close()


@claim("javascript session: an interrupt ends what it awaits, and a child it waits for", ONE)
def script_interrupts(person):
    session = Session("javascript")
    session.run("let x = 5")
    for code in ("console.log('go'); await new Promise(() => {})",
                 "console.log('go'); require('child_process').execSync('sleep 100')",
                 "await null; console.log('go'); while (true) {}",
                 "await new Promise((done) => setTimeout(done, 5)); console.log('go'); try { for (;;); } finally { for (;;); }",
                 "for (;;) console.log('go')"):
        for _ in range(5):
            turn = session.run(code, interrupt_at=b"go\n")
            equal((turn.code, turn.done["interrupted"]), (130, True), f"{code!r}: {turn.events}")
            equal(session.run("console.log(x)").out, b"5\n", f"after {code!r}")
    session.close()


@claim("javascript session: stdin is that of the turn, as a stream and as a file", ONE)
def script_reads(person):
    session = Session("javascript")
    for code in ("console.log(fs.readFileSync(0, 'utf8').trim())",
                 "for await (const part of process.stdin) console.log(String(part).trim())",
                 "for await (const line of require('readline').createInterface({ input: process.stdin })) console.log(line)",
                 "console.log(require('child_process').execSync('cat', { stdio: ['inherit', 'pipe', 'inherit'] }).toString().trim())"):
        for number in (b"1", b"2"):
            equal(session.run(code, stdin=b"line " + number + b"\n").out, b"line " + number + b"\n", repr(code))
    session.close()


QUESTIONS = (
    "prompt('Name? ')",
    "await new Promise((done) => require('readline').createInterface("
    "{ input: process.stdin, output: process.stdout }).question('Name? ', done))",
    "await require('readline/promises').createInterface({ input: process.stdin }).question('Name? ')",
)


@claim("javascript session: prompt() and question() ask who has the turn, else they read stdin", ONE)
def questions(person):
    with Sessions(person) as sessions:
        sessions.new("a", language="javascript")
        sessions.exec("a", "let kept = 5").is_ok()
        for code in QUESTIONS:
            result = sessions.exec("a", code, "input=Ada").is_ok()
            contains(result.words, "asked for 'Name? '", f"what the client was asked by {code}")
            equal(result["outputs"][-1]["data"]["text/plain"], "'Ada'", f"what {code} is worth")
        equal(sessions.value("a", "prompt('?') === null && kept"), "5", "prompt() at the end of input")
        result = sessions.exec("a", "prompt('?')", "input=").is_ok()
        equal(result["outputs"][-1]["data"]["text/plain"], "null", "an answer that is the end")
    session = Session("javascript")
    turn = session.run("[prompt('a? '), prompt(), prompt(), prompt('b? ', 'x')]", stdin=b"Ada\n\nBob")
    equal(turn.value, "[ 'Ada', '', 'Bob', null ]", "lines of stdin")
    equal(turn.out, b"a? b? ", "what is printed then")
    turn = session.ask({"execute": {"code": "console.log('go'); prompt('?')", "accepts_input": True}},
                       interrupt_at=b"go")
    equal((turn.code, turn.done["interrupted"]), (130, True), "an interrupt while nobody answers")
    equal(session.run("1 + 1").value, "2", "the next turn")
    session.close()


@claim("typescript session: types go, places stay, modules of TypeScript are found", ONE)
def typescript_state(person):
    session = Session("typescript")
    with open(f"{session.home}/lib.ts", "w", encoding="utf-8") as file:
        file.write("export interface I { a: number }\nexport const hi = (n: string): string => 'hi ' + n\n")
    for code, value in (
            ("interface P { x: number }\nconst p: P = { x: 3 }; p", "{ x: 3 }"), ("enum E { A, B = 5 }\nE.B", "5"),
            ("import { hi, type I } from './lib'", None), ("hi('you')", "'hi you'"),
            ("const again = require('./lib.ts').hi; again('b')", "'hi b'"), ("await Promise.resolve(<number>7)", "7")):
        turn = session.run(code)
        equal((turn.value, turn.code), (value, 0), f"what {code!r} gives ({turn})")
    error = tell(session.run("function f(x: number): string {\n  // a comment\n\n  throw new Error('x')\n}\nf(1)"), "error")
    equal([frame["line"] for frame in error["traceback"]], [6, 4], "lines of the source")
    error = tell(session.run("1\nlet x: = 5"), "error")
    equal((error["kind"], error["line"], error["column"]), ("syntax", 2, 8), "what does not parse")
    session.close()


# ---- SQL -------------------------------------------------------------------------------------------


@claim("sql session: tables, temporary ones, modes and an open transaction stay", ONE)
def sql_state(person):
    session = Session("sql")
    session.run("create table t(a, b); insert into t values (1, 'x'); create temp table u as select 7 as v; .mode csv")
    session.run(".mode csv\nbegin; insert into t values (2, 'y')")
    equal(session.run("select count(*) from t; select v from u").out, b"count(*)\n2\nv\n7\n", "the state")
    session.run("rollback")
    equal(session.run("select count(*) from t").out, b"count(*)\n1\n", "after a rollback")
    error = tell(session.run("select 1;\nselect * from nope"), "error")
    equal((error["kind"], error["line"], error["traceback"][0]["file"]), ("runtime", 2, "<cell 6>"), "an error")
    event = tell(session.ask({"complete": {"code": "select t.", "cursor": 9}}), "completions")
    equal(event["matches"], ["a", "b"], "columns")
    for code, wanted in (("sel", "select"), (".ta", ".tables"), ("select * from t", "t")):
        event = tell(session.ask({"complete": {"code": code, "cursor": len(code)}}), "completions")
        contains(event["matches"], wanted, f"completions of {code!r}")
    contains(tell(session.ask({"inspect": {"name": "t", "detail": 1}}), "inspection")["text"], "1 rows", "a table")
    for code, state in (("select 1", "incomplete"), ("select 1;", "complete"), (".tables", "complete"), ("select ';", "incomplete")):
        equal(tell(session.ask({"is_complete": {"code": code}}), "completeness")["state"], state, repr(code))
    contains(tell(session.run(".quit"), "error")["value"], ".quit", "the end")
    session.close()


@claim("sql session: an interrupt ends the query and what follows it", ONE)
def sql_interrupt(person):
    session = Session("sql")
    session.run("create table t(a)")
    turn = session.run(f".bail off\nselect 'go';\n{ROWS};\nselect 'no'", interrupt_at=b"go\n")
    equal((turn.code, turn.done["interrupted"]), (130, True), f"{turn}")
    lacks(turn.out, b"no\n", "what follows")
    equal(session.run("select count(*) from t").code, 0, "the next turn")
    session.close()


@claim("sql session: a copy of it has the open transaction, and goes its own way", ONE)
def sql_copy(person):
    session = Session("sql")
    session.run("create table t(a); insert into t values (1); begin; insert into t values (2)")
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    session.say({"fork": 9, "branch": True}, [theirs.fileno()])
    theirs.close()
    equal(ours.recv(4096), b'{"forked":9,"notes":[]}', "the first word of the copy")
    session.run("rollback; drop table t")
    session.end, original = ours, session.end
    contains(session.run("rollback; select count(*) from t").out, b"1", "the copy")
    session.end = original
    ours.close()
    session.run("attach 'file.db' as f; begin; create table f.x(a)")
    session.say({"fork": 10}, [os.dup(0)])
    contains(session.expect("refused")["why"][0], "file.db", "why there is no copy of a file in a transaction")
    session.close()


# ---- hostile children --------------------------------------------------------------------------------


def framed(code):
    """A child of the relay that is not Node at all."""
    relay = os.path.join(BUILD, "hotcell-relay")
    prelude = ("import json, os, sys, struct\n"
               "def say(m): d = json.dumps(m).encode(); os.write(3, struct.pack('>I', len(d)) + d)\n"
               "def hear(): n = struct.unpack('>I', os.read(3, 4))[0]; return json.loads(os.read(3, n))\n"
               "say({'event': 'ready'})\nhear(); hear()\n")
    return Session("javascript", argv=[relay, "--", "/usr/bin/python3", "-c", prelude + code])


@claim("relay: a child that breaks the rules ends its session, with a word, and nothing else", ONE)
def hostile_children(person):
    for code, words in (
            ("os.close(3); import time; time.sleep(100)", "has closed its channel"),
            ("os.write(3, b'\\xff' * 100); import time; time.sleep(100)", "what is no frame"),
            ("os.kill(os.getpid(), 11)", "signal 11"), ("sys.exit(5)", "status 5")):
        session = framed(code)
        turn = session.run("1")
        word = session.said if "ended" in session.said else session.expect("ended")
        contains(word["ended"], words, f"{code!r}: the last word ({turn})")
        session.process.wait(10)


@claim("relay: a flood of frames is slowed by its reader, and the end still comes", ONE)
def flood(person):
    session = framed("for i in range(300): say({'event': 'display', 'data': {'text/plain': 'x' * 9000}})\n"
                     "os.write(1, b'last'); say({'event': 'done', 'exit_code': 0})\nhear()")
    turn = session.run("1", slow=True)
    equal((len(turn.events), turn.out), (301, b"last"), "what arrived")
    equal(turn.events[-1]["event"], "done", "the last")
    with open(f"/proc/{session.process.pid}/status", encoding="ascii") as file:
        peak = next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))
    check(peak < 64 << 10, f"the relay grew to {peak} KiB")
    session.close()


@claim("relay: nonsense on the line and a second turn are refused or passed over", ONE)
def nonsense(person):
    session = Session("bash")
    for text in (b"", b"{", b"[]", b'{"turn":1}', b'{"what":2}', b"\xff" * 4096):
        if text:
            session.end.send(text)
    session.say({"fork": 5})
    equal(session.expect("refused"), {"refused": 5, "why": ["process state of bash cannot be copied"]}, "a fork")
    equal(session.run("echo ok").out, b"ok\n", "a turn after it")
    for request in ({}, {"execute": {}}, {"execute": {"code": 5}}, {"nonsense": 1}):
        check(session.ask(request).done, f"no end of {request}")
    equal(session.run("echo ok").out, b"ok\n", "a turn after that")
    session.say({"bye": True})
    session.process.wait(10)


# ---- in cells ----------------------------------------------------------------------------------------


@claim("sessions in cells: every language remembers, is interrupted in time, and ends", EVERYONE)
def in_cells(person):
    with Sessions(person) as sessions:
        for language in (*SHELLS, *SCRIPTS):
            sessions.new(language, language=language)
            sessions.exec(language, ASSIGN[language]).is_ok()
            timed = sessions.exec(language, ENDLESS[language], "timeout=500")
            equal(timed["status"], "timeout", f"{language}: an endless loop")
            equal(sessions.exec(language, ASK[language]).is_ok()["stdout"], "5\n", f"{language}: x after it")
        sessions.new("sql", language="sql")
        sessions.exec("sql", "create table t(a); begin; insert into t values (5)").is_ok()
        point = sessions.verb("checkpoint", session="sql", point="before")
        sessions.exec("sql", "rollback; drop table t").is_ok()
        sessions.verb("rollback", session="sql", point="before")
        contains(sessions.exec("sql", "commit; select a from t").is_ok()["stdout"], "5", f"after {point}")
