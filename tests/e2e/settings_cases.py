# SPDX-License-Identifier: Apache-2.0
"""Settings files and variables: what counts, where it was said, and what is refused."""
import fcntl
import json
import os
import re
import signal
import termios

from daemon import Daemon
from suite import (HUNG_AFTER, ROOT, SOURCE, Skip, check, claim, contains, equal, lacks, matches,
                   wait_until)


def user_file(person, text, mode=0o644):
    """Writes the person's own settings file, in a place of this test's; returns the variables that
    lead there."""
    place = person.path("conf/hotcell")
    os.makedirs(place, exist_ok=True)
    for path in (person.path("conf"), place):
        person.own(path)
    person.write(os.path.join(place, "config.yaml"), text, mode)
    return {"XDG_CONFIG_HOME": person.path("conf")}


def limits(person, *args, env=None):
    return person.json(*args, "-c", "1", env=env).is_ok().meta["resource_limits"]


def shown(person, *args, env=None):
    """Name -> (value, from) as `hotcell config show --json` has them."""
    told = json.loads(person.call("config", "show", "--json", *args, env=env).ok().out)
    return {one["name"]: (one["value"], one["from"]) for one in told["settings"]}


@claim("a run takes its settings from option, variable, the user's file and default, in this order")
def order(person):
    env = user_file(person, "timeout: 7\nmemory: 200M\npids: 20\n")
    found = limits(person, "--pids", "22", env={**env, "HOTCELL_MEMORY": "300M"})
    equal((found["pids"], found["memory"], found["timeout"], found["inodes"]),
          (22, 300 << 20, 7, 16384), "limits from four places")
    found = limits(person, "--no-config", env=env)
    equal((found["pids"], found["timeout"]), (128, 33), "limits with --no-config")
    found = limits(person, env={"SANDBOX_TIMEOUT_SEC": "8", "SANDBOX_MAX_OUTPUT_KB": "20"})
    equal((found["timeout"], found["max_output"]), (8, 20480), "limits from SANDBOX_ variables")
    env = user_file(person, "timeout: 7\ncold: true\n")
    equal(shown(person, env=env)["cold"][0], True, "cold from a file")
    equal(shown(person, "--cold=false", env=env)["cold"], (False, "--cold"), "cold by option")
    person.run("--cold=false", "-c", "1", env=env).ok()
    contains(person.run("--cold=maybe", "-c", "1").exits(125).err, "--cold: 'maybe' is neither", "stderr")
    spec = person.write(person.path("spec.json"), '{"timeout": 4}')
    equal(limits(person, "--spec", spec, env=env)["timeout"], 4, "timeout of a request")


@claim("the file of --config or HOTCELL_CONFIG stands for the user's")
def chosen(person):
    env = user_file(person, "timeout: 7\nmemory: 200M\n")
    other = person.write(person.path("other.yaml"), "timeout: 9\n")
    for args, more in ((("--config", other), {}), ((), {"HOTCELL_CONFIG": other})):
        found = limits(person, *args, env={**env, **more})
        equal((found["timeout"], found["memory"]), (9, 512 << 20), "limits with another file")


@claim("a language has settings of its own, under its name or an alias")
def languages(person):
    env = user_file(person, "timeout: 7\nlanguages:\n  shell: {timeout: 8}\n  py:\n    pids: 21\n")
    found = limits(person, env=env)
    equal((found["timeout"], found["pids"]), (7, 21), "limits of Python")
    script = person.write(person.path("a.sh"), "echo\n")
    found = person.json(script, env=env).is_ok().meta["resource_limits"]
    equal((found["timeout"], found["pids"]), (8, 128), "limits of a shell script")


@claim("a language in the settings is for code that has no ending to tell")
def default_language(person):
    env = user_file(person, "language: bash\n")
    equal(person.run("-c", "echo $((1 + 1))", env=env).ok().out, "2\n", "stdout")
    script = person.write(person.path("a.py"), "print(3)\n")
    equal(person.run(script, env=env).ok().out, "3\n", "stdout of a file")
    equal(person.run("--exec", "--", "echo", "x", env=env).ok().out, "x\n", "stdout of a program")


WRONG = (
    ("timeot: 3\n", "config.yaml:1: unknown key 'timeot', did you mean 'timeout'?"),
    ("timeout: 3\nmemory: lots\n", "config.yaml:2: memory: 'lots' is not a size"),
    ("timeout: [3\n", "config.yaml:2: is no YAML: flow sequence without a closing bracket"),
    ("daemon: {queue: 999999}\n", "config.yaml:1: queue: '999999' is out of range (0 to 4096)"),
    ("code: print(1)\n", "config.yaml:1: code: belongs to one run"),
    ("timeout: 1\ntimeout: 2\n", "config.yaml:2: 'timeout' is there twice, first in line 1"),
    ("a: &x 1\n", "config.yaml:1: anchors (&), aliases (*) and tags (!)"),
    ("ro: [/usr:/etc]\n", "config.yaml: --ro: '/etc' cannot be a mount's place"),
    ("\xff\n".encode("latin-1"), "config.yaml:1: is not text in UTF-8"),
)


@claim("a settings file that is wrong stops every run with one sentence that says where")
def wrong(person):
    for text, words in WRONG:
        env = user_file(person, text)
        ran = person.run("-c", "print('ran')", env=env).exits(125)
        equal((ran.out, len(ran.err.splitlines())), ("", 1), f"stdout and lines of {ran!r}")
        contains(ran.err, words, "stderr")
        result = person.json("-c", "print('ran')", env=env).has_status("setup_error", 125)
        contains(result["error"]["message"], words, "message")
        person.run("--no-config", "-c", "print('ran')", env=env).ok()


@claim("a settings file that others may write to is refused")
def others(person):
    for mode in (0o666, 0o664, 0o646):
        ran = person.run("-c", "1", env=user_file(person, "timeout: 3\n", mode)).exits(125)
        contains(ran.err, "others may write to it; chmod go-w", "stderr")
    person.run("-c", "1", env=user_file(person, "timeout: 3\n", 0o600)).ok()


@claim("root does not read an ordinary user's settings file", ROOT)
def not_root_s(person):
    env = user_file(person, "timeout: 3\n")
    path = person.path("conf/hotcell/config.yaml")
    os.chown(path, 61234, 61234)
    ran = person.run("-c", "1", env=env).exits(125)
    contains(ran.err, "belongs to user 61234, neither to root nor to user 0", "stderr")


@claim("config show tells every value and where it was said")
def show(person):
    env = user_file(person, "timeout: 7\nlanguages: {bash: {pids: 9}}\ndaemon:\n  queue: 5\n")
    path = person.path("conf/hotcell/config.yaml")
    found = shown(person, "-l", "bash", "--disk", "1M",
                  env={**env, "HOTCELL_MEMORY": "64M", "SANDBOX_MAX_OUTPUT_KB": "3"})
    for name, wanted in (("timeout", (7, f"{path}:1")), ("pids", (9, f"{path}:2")),
                         ("daemon.queue", (5, f"{path}:4")), ("disk", ("1M", "--disk")),
                         ("memory", ("64M", "HOTCELL_MEMORY")), ("inodes", (16384, "default")),
                         ("max_output", ("3K", "SANDBOX_MAX_OUTPUT_KB"))):
        equal(found[name], wanted, name)
    check("code" not in found, "what belongs to one run is shown")
    text = person.call("config", "show", env=env).ok().out
    matches(text, rf"(?m)^timeout +7 +{path}:1$", "the table")
    for variable in ("HOTCELL_FAULT", "HOTCELL_CONFIG"):
        contains(text, variable, "the table")


@claim("config show tells what a language brings, and of variables that mean nothing")
def show_more(person):
    equal(shown(person, "-l", "go")["timeout"], (30, "language go"), "timeout of Go")
    ran = person.call("config", "show", env={"HOTCELL_TIMEOT": "3"}).ok()
    equal(ran.err, "hotcell: the variable HOTCELL_TIMEOT means nothing, did you mean "
                   "HOTCELL_TIMEOUT?\n", "stderr")


@claim("every variable that the sources read is told by config show and described")
def variables(person):
    told = json.loads(person.call("config", "show", "--json").ok().out)
    names = {one["variable"]: one["name"] for one in told["settings"]}
    with open(os.path.join(SOURCE, "docs/en/SETTINGS.md"), encoding="utf-8") as file:
        described = file.read()
    for folder, _dirs, files in os.walk(os.path.join(SOURCE, "src")):
        for path in (os.path.join(folder, name) for name in files):
            with open(path, encoding="utf-8") as file:
                for variable in re.findall(r'"(HOTCELL_[A-Z][A-Z_]+)[="]', file.read()):
                    check(variable in names, f"{variable} of {path} is not shown")
                    contains(described, f"`{variable}`", "SETTINGS.md")
    for variable, name in names.items():
        if variable != "HOTCELL_" + name.upper():
            contains(described, f"`{variable}`", "SETTINGS.md")


@claim("every line of .env.example is understood")
def env_example(person):
    env = {}
    with open(os.path.join(SOURCE, ".env.example"), encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                name, _equals, value = line.strip().partition("=")
                check(value, f"{name} has no value")
                env[name] = value
    for name in ("SANDBOX_TYPE", "SANDBOX_TIMEOUT_SEC", "SANDBOX_MAX_OUTPUT_KB",
                 "SANDBOX_BLOCK_DANGEROUS_IMPORTS", "SANDBOX_STORE_CODE", "DOCKER_CPU_LIMIT",
                 "DOCKER_MEMORY_LIMIT", "DOCKER_IMAGE"):
        check(name in env, f"{name} is not in .env.example")
    told = shown(person, env=env)
    origins = {origin for _value, origin in told.values()}
    for name in env:
        # the guard's and the record's fields come with them
        later = {"SANDBOX_BLOCK_DANGEROUS_IMPORTS": "block_imports", "SANDBOX_STORE_CODE": "store"}
        if name not in later or later[name] in told:
            check(name in origins, f"{name} sets nothing")
    person.code("print(1)", env=env).ok()


@claim("config check tells whether a file is right, and config schema what could be in it")
def check_and_schema(person):
    right = person.write(person.path("right.yaml"), "timeout: 3\nlanguages: {go: {pids: 64}}\n")
    equal(person.call("config", "check", right).ok().out, f"{right}: is right\n", "stdout")
    for text, words in (("x: 1\n", "wrong.yaml:1: unknown key 'x'"),
                        ("languages: {klingon: {pids: 64}}\n", "wrong.yaml:1: "),
                        ("daemon: {warm: '=1'}\n", "wrong.yaml:1: --warm:")):
        path = person.write(person.path("wrong.yaml"), text)
        contains(person.call("config", "check", path).exits(125).err, words, "stderr")
        told = json.loads(person.call("config", "check", "--json", path).exits(125).out)
        check(not told["ok"] and words in told["error"], "JSON of a wrong file:", told)
    schema = json.loads(person.call("config", "schema").ok().out)
    equal(schema["properties"]["timeout"]["anyOf"][0]["maximum"], 86400, "most of timeout")
    for args in ((), ("shw",), ("check",), ("check", "/nowhere/x"), ("schema", "x")):
        person.call("config", *args).exits(125)
    for part in ((), ("show",), ("check",), ("schema",)):
        contains(person.call("config", *part, "--help").ok().out, "usage:", "help")


# Files that are right, and such that are wrong in what a schema can say: names, types and ranges.
RIGHT_FILES = (
    "", "timeout: 3\n", "timeout: '1.5'\nmemory: 1G\npids: 64\n", "memory: 67108864\n",
    "env: {TZ: UTC}\nro: [/srv/data:/mnt/data, {from: /srv, to: /mnt/srv}]\n", "env: [A=1, B=2]\n",
    "require: [seccomp, landlock]\n", "require: seccomp,landlock\n", "net: loopback\ncold: true\n",
    "profile: strict\nallow_modules: [numpy]\nblock_imports: on\n", "store: on_error\naudit: required\n",
    "languages:\n  go: {timeout: 60}\n  py: {pids: 9}\n",
    "daemon: {concurrency: 16, warm: 'python=4,javascript', idle: 60}\nstate_dir: /srv/state\n",
    "docker: {cpus: 1.5, memory: 1G, image: debian}\n", "env: []\ntimeout:\n",
)
WRONG_FILES = (
    "timeot: 3\n", "timeout: [3]\n", "timeout: -1\n", "timeout: 90000\n", "memory: 1\n", "memory: lots of\n",
    "pids: {a: 1}\n", "profile: lax\n", "net: wide\n", "cold: perhaps\n", "env: {A: [1]}\n", "code: print(1)\n",
    "languages: {go: {tmeout: 1}}\n", "languages: {go: {timeout: [1]}}\n", "languages: [go]\n",
    "daemon: {queu: 1}\n", "daemon: {queue: 999999}\n", "docker: {image: [a]}\n", "- timeout\n",
)


@claim("what the schema says of a file is what hotcell says of it", ROOT)
def schema_holds(person):
    try:
        import jsonschema
        import yaml
    except ImportError as missing:
        raise Skip(f"{missing}; tools/deps test installs it") from None
    schema = json.loads(person.call("config", "schema").ok().out)
    kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft7Validator)
    kind.check_schema(schema)
    validator = kind(schema)
    for texts, code in ((RIGHT_FILES, 0), (WRONG_FILES, 125)):
        for text in texts:
            path = person.write(person.path("some.yaml"), text)
            person.call("config", "check", path).exits(code)
            errors = [error.message for error in validator.iter_errors(yaml.safe_load(text) or {})]
            check(bool(errors) == bool(code), f"the schema says of {text!r}:", errors)


@claim("an unknown key is told with the nearest one, wherever it stands")
def nearest(person):
    for text, wrong, near in (("timeot: 3\n", "timeot", "timeout"), ("memry: 1G\n", "memry", "memory"),
                              ("daemon: {queu: 3}\n", "queu", "queue"),
                              ("languages: {go: {tmeout: 1}}\n", "tmeout", "timeout")):
        path = person.write(person.path("some.yaml"), text)
        ran = person.call("config", "check", path).exits(125)
        contains(ran.err, f"'{wrong}'", "stderr")
        contains(ran.err, f"did you mean '{near}'?", "stderr")
        equal(ran.err.count("\n"), 1, "lines of stderr")


@claim("the jobs of a batch take what they leave open from the settings")
def batch(person):
    env = user_file(person, "timeout: 7\nlanguages: {python: {pids: 21}}\n")
    person.write(person.path("other.yaml"), "timeout: 9\n")
    jobs = b'{"code": "1"}\n{"code": "1", "timeout": 5}\n'
    for args, wanted in (((), [(7, 21), (5, 21)]), (("--config", "other.yaml"), [(9, 128), (5, 128)]),
                         (("--no-config",), [(33, 128), (5, 128)])):
        ran = person.call("batch", "-q", *args, "-", stdin=jobs, env=env).ok()
        found = [json.loads(line)["meta"]["resource_limits"] for line in ran.out.splitlines()]
        equal([(one["timeout"], one["pids"]) for one in found], wanted, f"limits with {args}")
    ran = person.call("batch", "-", stdin=jobs, env=user_file(person, "x: 1\n")).exits(125)
    contains(ran.err, "config.yaml:1: unknown key 'x'", "stderr")


@claim("settings lead runs to the daemon, and its cells stand ready under them")
def leads_to_daemon(person):
    path = person.path("other.sock")
    env = user_file(person, f"memory: 222M\ndaemon:\n  socket: {path}\n  queue: 3\n"
                            "  warm: python=1\n")
    with Daemon(person, path=path, env=env) as daemon:
        wait_until(lambda: (daemon.status()["keeper"] or {}).get("parked"), "a cell to stand ready")
        equal(daemon.status()["queue"], 3, "places in the queue")
        result = person.json("-c", "1", env=env).is_ok()
        equal((result.meta["warm"], result.meta["resource_limits"]["memory"]), (True, 222 << 20),
              "whether it was warm, and its memory")
        lines = person.call("serve", "--status", env=env).ok().out
        contains(lines, "queue", "status through the settings' socket")


@claim("SIGHUP has the daemon read its settings again, and keep the old ones when they are wrong")
def reload(person):
    env = user_file(person, "daemon: {queue: 3, concurrency: 2, warm: python=1}\n")
    with Daemon(person, "--concurrency", "1", env=env) as daemon:
        equal((daemon.status()["queue"], daemon.status()["concurrency"]), (3, 1), "at the start")
        running, waiting = daemon.client(), daemon.client()
        running.borrow()
        waiting.ask().expect("queued")
        user_file(person, "daemon: {queue: 4, concurrency: 2, warm: bash=1}\nmemory: 99M\n")
        daemon.process.send_signal(signal.SIGHUP)
        daemon.wait_for_log("settings read again: queue 3 -> 4, warm 'python=1' -> 'bash=1', "
                            "memory default -> 99M")
        daemon.wait_for(queue=4, concurrency=1)
        user_file(person, "daemon: {queue: 5\n")
        daemon.process.send_signal(signal.SIGHUP)
        daemon.wait_for_log("settings stay as they are: ")
        contains(daemon.words(), "config.yaml:2: is no YAML", "the daemon's log")
        equal(daemon.status()["queue"], 4, "places in the queue after a broken file")
        running.close()
        waiting.wait_for_loan()


@claim("more cells are lent at once as soon as the settings say so")
def reload_concurrency(person):
    env = user_file(person, "daemon: {concurrency: 1}\n")
    with Daemon(person, env=env) as daemon:
        running, waiting = daemon.client(), daemon.client()
        running.borrow()
        waiting.ask().expect("queued")
        user_file(person, "daemon: {concurrency: 2}\n")
        daemon.process.send_signal(signal.SIGHUP)
        waiting.wait_for_loan()


@claim("hotcell serve refuses settings that are wrong")
def serve_wrong(person):
    env = user_file(person, "daemon: {parked: many}\n")
    ran = person.call("serve", "--socket", person.path("d.sock"), env=env).exits(125)
    contains(ran.err, "config.yaml:1: parked: 'many' is not a whole number", "stderr")
    lacks(ran.err, "serving", "stderr")


@claim("a daemon in a terminal ends when the terminal is closed")
def hangup(person):
    ours, theirs = os.openpty()

    def take_terminal():
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    with open(person.path("log"), "wb") as log:
        process = person.start("serve", "--socket", person.path("d.sock"), stdin=theirs, stderr=log,
                               preexec_fn=take_terminal)
    os.close(theirs)

    def words():
        with open(person.path("log"), encoding="utf-8") as file:
            return file.read()

    wait_until(lambda: "serving at" in words(), "the daemon to serve")
    process.send_signal(signal.SIGHUP)
    wait_until(lambda: "settings read again: no change" in words(), "the settings to be read again")
    os.close(ours)
    equal(process.wait(HUNG_AFTER), 0, "exit status")


@claim("the system's file counts less than the user's, and nobody else's may stand there", ROOT)
def system_file(person):
    upper, work = person.make_dir("upper"), person.make_dir("work")
    place = os.path.join(upper, "hotcell")
    os.mkdir(place)
    person.write(os.path.join(place, "config.yaml"), "timeout: 6\nmemory: 100M\n")
    mount = (f"mount -t overlay -o lowerdir=/etc,upperdir={upper},workdir={work} overlay /etc && "
             'exec "$@"')
    prefix = ("unshare", "-m", "sh", "-c", mount, "sh")
    if person.call("--version", prefix=prefix).code != 0:
        raise Skip("no overlay can be mounted here")
    env = user_file(person, "timeout: 7\n")
    told = json.loads(person.call("config", "show", "--json", prefix=prefix, env=env).ok().out)
    found = {one["name"]: (one["value"], one["from"]) for one in told["settings"]}
    equal(found["memory"], ("100M", "/etc/hotcell/config.yaml:2"), "memory")
    equal(found["timeout"], (7, person.path("conf/hotcell/config.yaml") + ":1"), "timeout")
    person.run("-c", "1", prefix=prefix, env=env).ok()
    os.chmod(os.path.join(place, "config.yaml"), 0o666)
    contains(person.run("-c", "1", prefix=prefix, env=env).exits(125).err,
             "/etc/hotcell/config.yaml: others may write to it", "stderr")
