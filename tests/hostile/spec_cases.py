# SPDX-License-Identifier: Apache-2.0
"""Behaviour 98: malicious job descriptions. Every one is refused before anything is started."""
import json

from harness import Case, Want

TRUE = ["--exec", "--", "/bin/true"]

# Options that must be refused. {file} and {dir} exist.
BAD_OPTIONS = {
    "timeout": [["-t", value] for value in
                ("-1", "0", "1e99", "nan", "inf", "", "1x", "99999999999999999999", "0x10", " 1")],
    "memory": [["-m", value] for value in
               ("-1", "0", "99999999999G", "18446744073709551616", "1Q", "", "M", "1.5.5G", "nan")],
    "counts": [["--pids", value] for value in ("0", "-5", "99999999999999999999", "1e3", "x", "")],
    "disk": [["--disk", value] for value in ("-1", "0", "9999999999999T", "")],
    "inodes": [["--inodes", value] for value in ("-1", "0", "1", "99999999999999999999")],
    "cpus": [["--cpus", value] for value in ("-1", "0", "nan", "inf", "1e9", "")],
    "output": [["--max-output", "-1"], ["--output-limit", "-1"], ["--output-limit", "0"]],
    "files in": [["--file", value] for value in
                 ("{file}:../x", "{file}:a/../../x", "{file}:/etc/x", "{file}:/home/user/../x",
                  "{file}:..", "{file}:/home/user", "{file}:", "{work}/missing", "", ":x")],
    "two files": [["--file", "{file}:same", "--file", "{file}:same"],
                  ["--file", "{file}:same", "--file", "{file}:./same"]],
    "files out": [["--out", value] for value in ("../*", "/etc/passwd", "a/../../x", "")],
    "mounts": [["--ro", value] for value in
               ("{dir}:/proc", "{dir}:/proc/self", "{dir}:/dev", "{dir}:/dev/shm", "{dir}:/",
                "{dir}:/usr", "{dir}:/usr/bin", "{dir}:/etc", "{dir}:/home/user", "{dir}:/tmp",
                "{dir}:/home", "{dir}:/mnt/../etc", "{dir}:relative", "{work}/missing:/mnt/x",
                "{dir}:/sys", "", "{dir}:")],
    "writable mounts": [["--rw", "/:/"], ["--rw", "{dir}:/usr"], ["--rw", "{dir}:/home/user"]],
    "two mounts": [["--ro", "{dir}:/mnt/a", "--ro", "{dir}:/mnt/a"],
                   ["--ro", "{dir}:/mnt/a", "--rw", "{dir}:/mnt//a/"]],
    "many mounts": [[word for i in range(40) for word in ("--ro", f"{{dir}}:/mnt/m{i}")]],
    "variables": [["-e", value] for value in ("=x", "A B=c", "A\nB=1", "1A=x", "", "A-B=x")],
    "many variables": [[word for i in range(2000) for word in ("-e", f"V{i}=x")]],
    "layers": [["--require", "nosuch"], ["--without", "nosuch"], ["--require", ""]],
    "choices": [["--net", "nosuch"], ["--provider", "nosuch"], ["--net", ""]],
    "places": [["--stdin", "{work}/missing"], ["--rootfs", "{work}/missing"],
               ["--rootfs", "relative"], ["--spill", "{work}/missing/deeper"]],
    "unknown": [["--no-such-option"], ["-Z"]],
}

HUGE = "x" * (2 << 20)

# Job descriptions as JSON that must be refused; text, or what becomes text.
BAD_SPECS = {
    "nothing to run": {},
    "two things to run": {"exec": ["/bin/true"], "code": "print(1)"},
    "an empty program": {"exec": [""]},
    "no program": {"exec": []},
    "NUL in an argument": {"exec": ["/bin/true", "a\0b"]},
    "NUL in the program": {"exec": ["/bin/true\0x"]},
    "NUL in a variable": {"exec": ["/bin/true"], "env": ["A=b\0C=d"]},
    "NUL in a path": {"exec": ["/bin/true"], "files": ["/etc/passwd:a\0b"]},
    "an argument of 2 MiB": {"exec": ["/bin/true", HUGE]},
    "a million arguments": {"exec": ["/bin/true"] + ["x"] * 1000000},
    "a million variables": {"exec": ["/bin/true"], "env": [f"V{i}=x" for i in range(1000000)]},
    "five megabytes of variables": {"exec": ["/bin/true"],
                                    "env": [f"V{i}={'x' * 100000}" for i in range(50)]},
    "an unknown field": {"exec": ["/bin/true"], "privileged": True},
    "a negative limit": {"exec": ["/bin/true"], "memory": -1},
    "a limit that overflows": '{"exec": ["/bin/true"], "memory": 1e400}',
    "a limit beyond 64 bits": '{"exec": ["/bin/true"], "pids": 99999999999999999999999}',
    "a limit that is no number": {"exec": ["/bin/true"], "timeout": [1]},
    "a limit that is an object": {"exec": ["/bin/true"], "memory": {"$gt": 0}},
    "a name with dots": {"exec": ["/bin/true"], "files": ["/etc/passwd:../../x"]},
    "a mount over the root": {"exec": ["/bin/true"], "rw": ["/:/"]},
    "the same mount twice": {"exec": ["/bin/true"], "ro": ["/usr:/mnt/a", "/usr:/mnt/a"]},
    "a list": [],
    "a number": 3,
    "null": None,
    "nothing": "",
    "a torn text": '{"exec": ["/bin/tr',
    "two texts": '{"exec": ["/bin/true"]} {"exec": ["/bin/true"]}',
    "a deep text": '{"exec": ' + "[" * 100000 + "]" * 100000 + "}",
    "no text at all": b"\xff\xfe\x00\x01\x02",
    "invalid UTF-8": b'{"exec": ["/bin/true", "\xff\xfe"]}',
    "an endless text": '{"exec": ["/bin/true"], "code": "' + "x" * (26 << 20) + '"}',
}


def refusal_problems(run):
    """Exit 125 with words for a person, or a result that says setup_error; never a run."""
    if run.is_hung:
        return ["no end"]
    if run.exit != 125:
        return [f"exit status is {run.exit}, not 125"]
    if run.result is None:
        return [] if run.stderr.strip() else ["refused without a word"]
    if run.result["status"] != "setup_error":
        return [f"status is {run.result['status']}"]
    return [] if (run.result["error"] or {}).get("message") else ["refused without a message"]


def refuses_options(group):
    def check(bench):
        (bench.work / "dir").mkdir()
        (bench.work / "file").write_text("x")
        problems = []
        for options in BAD_OPTIONS[group]:
            filled = [option.replace("{file}", str(bench.work / "file"))
                      .replace("{dir}", str(bench.work / "dir")) for option in options]
            run = bench.run(filled + TRUE)
            found = refusal_problems(run)
            problems += [f"{' '.join(options[:4])!r}: {p}" for p in found]
            bench.runs = [one for one in bench.runs if refusal_problems(one)]
        return problems + bench.expect(Want(), TRUE)

    return check


def refuses_specs(bench):
    problems = []
    for name, spec in BAD_SPECS.items():
        path = bench.work / "spec.json"
        if not isinstance(spec, (bytes, str)):
            spec = json.dumps(spec)
        path.write_bytes(spec if isinstance(spec, bytes) else spec.encode())
        run = bench.run(["--spec", str(path)])
        found = refusal_problems(run)
        problems += [f"{name}: {p}" for p in found]
        bench.runs = [one for one in bench.runs if refusal_problems(one)]
    return problems


def accepts_honest_spec(bench):
    path = bench.work / "spec.json"
    source = bench.work / "data"
    source.write_text("hello\n")
    path.write_text(json.dumps({"exec": ["/bin/cat", "in/data"], "timeout": 5, "memory": "64M",
                                "env": ["A=b"], "files": [f"{source}:in/data"]}))
    return bench.expect(Want(says="hello"), ["--spec", str(path)])


CASES = [
    *(Case(f"98.{group.replace(' ', '-')}", f"bad options are refused: {group}",
           refuses_options(group)) for group in BAD_OPTIONS),
    Case("98.spec", "bad job descriptions are refused", refuses_specs),
    Case("98.honest", "an honest job description runs", accepts_honest_spec),
]
