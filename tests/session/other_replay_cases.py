# SPDX-License-Identifier: Apache-2.0
"""Ordinary interactive work in bash and Node, step by step: a session says what a plain prompt says.

The steps are in steps/; where bash's manual is installed, its dialogues and its example functions
are steps too, and so are the examples of Node's documentation.

Environment: REPLAY_SHOW=1 prints the differences.
"""
import glob
import html
import os
import re
import select
import subprocess
import time

from other_line import Session
from suite import ROOT, USER, Failure, check, claim, equal

ONE = ROOT if os.geteuid() == 0 else USER
HERE = os.path.dirname(os.path.realpath(__file__))
WANTED = 300
END = "\x01END\x01"
PATIENCE = 20


def read_steps(name):
    steps, block = [], None
    with open(os.path.join(HERE, "steps", name), encoding="utf-8") as file:
        for line in file.read().splitlines():
            if line == "<<<":
                block = []
            elif line == ">>>":
                steps.append("\n".join(block))
                block = None
            elif block is not None:
                block.append(line)
            elif line and not line.startswith("#"):
                steps.append(line)
    return steps


class Prompt:
    """A plain one; `mark` has it say END on stdout and on stderr, without a trace in its state."""

    def __init__(self, argv, folder, env):
        self.process = subprocess.Popen(argv, cwd=folder, env=env, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def say(self, text):
        self.process.stdin.write(text.encode())
        self.process.stdin.flush()

    def hear(self, is_over):
        """What it says, by stream, until both have come to their end."""
        said = {self.process.stdout: b"", self.process.stderr: b""}
        deadline = time.monotonic() + PATIENCE
        while not is_over(*said.values()):
            ready, _, _ = select.select(list(said), [], [], deadline - time.monotonic())
            if not ready:
                raise Failure(f"the prompt hangs: {said}")
            for stream in ready:
                data = os.read(stream.fileno(), 65536)
                if not data:
                    raise Failure(f"the prompt has ended: {said}")
                said[stream] += data
        return tuple(part.decode("utf-8", "replace") for part in said.values())

    def close(self):
        self.process.kill()
        self.process.communicate()


def count(found, what):
    counts = {why: found.count(why) for why in sorted({why for why in found if why})}
    print(f"# {what}: {found.count(None)} of {len(found)} steps are the same; {counts}")
    check(len(found) >= WANTED, f"only {len(found)} steps")
    equal(counts.get("differs", 0), 0, f"steps that differ (of {len(found)})")


def show(what, step, plain, turn):
    if os.environ.get("REPLAY_SHOW"):
        print(f"# {what}: {step!r}\n#   prompt:  {plain}\n#   session: {turn}")


# ---- bash ----------------------------------------------------------------------------------------

BASH = ["/usr/bin/bash", "--norc", "--noprofile", "--noediting", "-i", "+o", "history"]
MARK = f"PS1= PS2=; PROMPT_COMMAND=\"printf '{END}'; printf '{END}' >&2\"\n"
REASONS_BASH = (
    (r"\$0|PROMPT_COMMAND|\bPS[12]\b", "speaks of the prompt itself"),
    (r"\btrap\b.*DEBUG|set -[a-z]*v", "shows the lines a session is made of"),
    (r"set -[a-z]*x", "traces with one more level"),
    (r"^read -t", "stdin is at its end, where a prompt waits"),
)
AFTER_TRAP = "the trap ERR is run for the turn, too"
UNFIT_BASH = re.compile(r"\bselect\b|\bexit\b *\d*$|logout|\bexec [^0-9<>]|stty|/dev/tty|\bbind\b|suspend|"
                        r"/usr/local|chown|\bfg\b|\bbg\b")


def manual_steps():
    """The dialogues of bash's manual, and its example functions as they are defined."""
    steps = []
    for path in glob.glob("/usr/share/doc/bash/bashref.html"):
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
        for block in re.findall(r'<pre class="example[^"]*">(.*?)</pre>', text, re.S):
            block = html.unescape(re.sub(r"<[^>]+>", "", block))
            steps += re.findall(r"^(?:bash)?\$ (.+)", block, re.M)
    for path in sorted(glob.glob("/usr/share/doc/bash/examples/functions/*")):
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
        for definition in re.findall(r"^(?:function )?\w+ ?\(\)\n?\s*\{\n.*?^\}$", text, re.M | re.S):
            if "\n\n" not in definition:
                steps += [definition, "type -t " + re.search(r"\w+(?= ?\()", definition)[0]]
    return [step for step in steps if not UNFIT_BASH.search(step)]


OF_PROCESSES = re.compile(r"\$\{?(!|\$|BASHPID|PPID)")


def still_bash(step, text):
    text = text.replace(END, "")
    text = re.sub(r"\[\d+: \d+ \(\d+\)\] tcsetattr", "[N] tcsetattr", text)
    if OF_PROCESSES.search(step):
        text = re.sub(r"\b\d+\b", "N", text)  # in a cell they have few digits
    text = re.sub(r"^\[(\d+)\][+-]? +\d+$", r"[\1] N", text, flags=re.M)
    text = re.sub(r"/dev/fd/\d+|/tmp/[\w./-]+", "~", text)
    text = re.sub(r"line \d+:", "line N:", text)
    text = re.sub(r"\(\d+\) - |pid \d+", "pid", text)
    return re.sub(r"\b\d{4,7}\b", "N", text)


def replay_bash(person, steps, folder):
    session = Session("bash", home=person.path("home"))
    os.mkdir(folder)
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": session.home, "USER": "user",
           "LANG": "C.UTF-8", "TERM": "dumb", "TMPDIR": "/tmp"}
    prompt = Prompt(BASH, folder, env)
    found = []
    has_trap = False
    try:
        prompt.say(MARK)
        prompt.hear(lambda out, err: END.encode() in out and END.encode() in err)
        for step in steps:
            state = session.ask({"is_complete": {"code": step}}).event("completeness")["state"]
            if state == "incomplete":
                session.run(step)
                found.append("a prompt waits for more")
                continue
            prompt.say(step + "\n")
            try:
                plain = prompt.hear(lambda out, err: END.encode() in out and END.encode() in err)
            except Failure as failure:
                raise Failure(f"{step!r}: {failure}") from None
            turn = session.run(step)
            said = [stream.decode("utf-8", "replace") for stream in (turn.out, turn.err)]
            same = [still_bash(step, text) for text in plain] == [still_bash(step, text) for text in said]
            why = None if same else next(
                (reason for pattern, reason in REASONS_BASH if re.search(pattern, step)), "differs")
            if why and has_trap:
                why = AFTER_TRAP
            has_trap = "ERR" in step and not step.startswith("trap -") or has_trap and "trap" not in step
            found.append(why)
            if why == "differs":
                show("bash", step, plain, turn)
    finally:
        prompt.close()
        session.close()
    return found


@claim("bash session: steps of ordinary work say what a plain prompt says", ONE)
def bash_replays(person):
    os.makedirs(person.path("home"), exist_ok=True)
    count(replay_bash(person, read_steps("bash.txt") + manual_steps(), person.path("work")), "bash")


# ---- JavaScript ----------------------------------------------------------------------------------

PROMPTS = re.compile(r"^(?:> |\.\.\. )+", re.M)
def why_node(step, plain, earlier):
    """Why a session may say something else than the prompt."""
    if "has already been declared" in plain[0]:
        return "may be declared anew"
    if "async_id_symbol" in plain[0]:
        return "a prompt follows promises, which shows in them"
    if plain[0].endswith("... > "):
        return "a prompt waits for more"
    if "nextTick" in step + earlier or "queueMicrotask" in step + earlier:
        return "belongs to the turn, where a prompt is ahead of it"
    return "differs"


def still_node(text):
    # a warning comes when node finds the time
    lines = [line for line in text.split("\n")
             if not re.match(r" +at |\(node:\d+\) .*Warning:|\(Use `node --trace", line)]
    text = "\n".join(lines)
    text = re.sub(r"REPL\d+|<cell \d+>", "~", text)
    text = re.sub(r" ?\{$", "", text, flags=re.M)  # behind the last frame, or behind the message
    return sorted(line.strip() for line in text.split("\n") if line.strip())


def said_by_node(plain):
    """Without the prompts, and without the word for nothing."""
    out = PROMPTS.sub("", plain[0])
    return re.sub(r"(^|\n)undefined\n*$", r"\1", out) + plain[1]


DECLARES = re.compile(r"^(?:const|let|class|function\*?) (?:\{ ?)?(\w+)")
UNFIT_NODE = re.compile(r"\.time|import\(|process\.|await|\bname\b|listen|connect|createSocket|Worker|spawn|"
                        r"exec|console\.(dir|trace)|[Dd]ate|now\(|random|uuid|memoryUsage|cpus|resourceUsage|"
                        r"allocUnsafe|\bbuf\w*\b")


def documented_steps(known):
    """Single statements of the examples of Node's documentation; a name is declared once."""
    steps = []
    declared = {match[1] for match in map(DECLARES.match, known) if match}
    for path in sorted(glob.glob("/usr/share/doc/nodejs/api/*.md*")):
        with open(path, encoding="utf-8", errors="replace") as file:
            blocks = re.findall(r"```(?:js|cjs)\n(.*?)```", file.read(), re.S)
        for line in (line for block in blocks for line in block.splitlines()):
            match = DECLARES.match(line)
            if not re.match(r"(?:const|console|path|util|url|buf|assert)\b.*;$", line) or UNFIT_NODE.search(line) \
                    or match and match[1] in declared:
                continue
            if match:
                declared.add(match[1])
            steps.append(line)
    return steps[:250]


def ask_node(prompt, text):
    """One prompt comes for each line."""
    wanted = text.count("\n")

    def is_over(out, _):
        return sum(len(match[0].replace("... ", "> ")) // 2 for match in PROMPTS.finditer(out.decode())) >= wanted

    prompt.say(text)
    out, err = prompt.hear(is_over)
    while select.select([prompt.process.stderr], [], [], 0)[0]:
        err += os.read(prompt.process.stderr.fileno(), 65536).decode()
    return out, err


def replay_node(person, steps, folder):
    session = Session("javascript", home=person.path("home"))
    os.mkdir(folder)
    env = {"PATH": "/usr/bin:/bin", "HOME": folder, "USER": "user", "LANG": "C.UTF-8", "TERM": "dumb",
           "NODE_REPL_HISTORY": ""}
    prompt = Prompt(["/usr/bin/node", "-i"], folder, env)
    found = []
    try:
        prompt.hear(lambda out, _: out.endswith(b"> "))  # its greeting
        earlier = ""
        for step in steps:
            plain = ask_node(prompt, step + "\n")
            if plain[0].endswith("... "):
                plain = tuple(map("".join, zip(plain, ask_node(prompt, ".break\n"))))
            turn = session.run(step)
            own = turn.out.decode() + turn.err.decode() + (f"\n{turn.value}" if turn.value else "")
            same = still_node(said_by_node(plain)) == still_node(own)
            why = None if same else why_node(step, plain, earlier)
            earlier = step
            found.append(why)
            if why:
                show(f"node ({why})", step, plain, turn)
    finally:
        prompt.close()
        session.close()
    return found


@claim("javascript session: steps of ordinary work say what node's own prompt says", ONE)
def node_replays(person):
    os.makedirs(person.path("home"), exist_ok=True)
    steps = read_steps("javascript.txt")
    steps += documented_steps(steps)
    count(replay_node(person, steps, person.path("work")), "node")
