# SPDX-License-Identifier: Apache-2.0
"""What comes out of a cell: output, cut and whole, and files."""
import os

from suite import check, claim, contains, equal, lacks, matches

# ---- what is cut ---------------------------------------------------------------------------------

LINES = "for i in range({}): print(f'line {{i:06d}}')"


@claim("output up to the cap comes whole")
def cut_not(person):
    result = person.json("--max-output", "1000", "-c", "import sys; sys.stdout.write('x' * 1000)")
    equal(result.is_ok().stdout, "x" * 1000, "stdout")
    equal(result.meta["truncated"], False, "meta.truncated")


@claim("output over the cap keeps its head and its tail")
def cut_middle(person):
    for cap in (300, 1000, 1 << 10, 10 << 10, 100 << 10):
        result = person.json("--max-output", str(cap), "-c", LINES.format(20000)).is_ok()
        text = result.stdout
        check(len(text.encode()) <= cap, f"{len(text.encode())} bytes with a cap of {cap}")
        check(len(text.encode()) > cap * 0.7, f"only {len(text.encode())} bytes of {cap}")
        check(text.startswith("line 000000\n"), "the head is lost:", text[:50])
        check(text.endswith("line 019999\n"), "the tail is lost:", text[-50:])
        matches(text, r"\d+ bytes cut", "the note of the cut")
        equal(result.meta["truncated"], True, "meta.truncated")
        equal(result.meta["stdout_bytes"], 240000, "meta.stdout_bytes")


@claim("the note of the cut tells the right number")
def cut_number(person):
    result = person.json("--max-output", "1K", "-c", LINES.format(1000)).is_ok()
    import re
    note = re.search(r"\n\[… (\d+) bytes cut …\]\n", result.stdout)
    check(note, "no note:", result.stdout)
    kept = len(result.stdout.encode()) - len(note[0].encode())
    equal(kept + int(note[1]), 12000, "kept and cut bytes together")


@claim("a small cap keeps the head")
def cut_small(person):
    for cap in (1, 2, 10, 100, 255, 256):
        text = person.json("--max-output", str(cap), "-c", LINES.format(100)).is_ok().stdout
        check(len(text.encode()) <= cap, f"{len(text)} bytes with a cap of {cap}")
        check("line 000000\n" * 1 == text[:12] or "line 000000".startswith(text), "head:", text)


@claim("--max-output 0 keeps nothing but counts")
def cut_all(person):
    code = "import sys; print('x' * 99); print('e', file=sys.stderr)"
    result = person.json("--max-output", "0", "-c", code).is_ok()
    equal((result.stdout, result["stderr"]), ("", ""), "stdout and stderr")
    equal((result.meta["stdout_bytes"], result.meta["stderr_bytes"]), (100, 2), "counters")
    equal(result.meta["truncated"], True, "meta.truncated")
    result = person.json("--max-output", "0", "-c", "1").is_ok()
    equal(result.meta["truncated"], False, "meta.truncated of nothing")


@claim("the cap counts for stdout and stderr each")
def cut_each(person):
    code = "import sys; sys.stdout.write('o' * 500); sys.stderr.write('e' * 5000)"
    result = person.json("--max-output", "1000", "-c", code).is_ok()
    equal(result.stdout, "o" * 500, "stdout")
    check(len(result["stderr"].encode()) <= 1000, "stderr is too long")
    equal(result.meta["truncated"], True, "meta.truncated")


@claim("a cut never goes through a character")
def cut_unicode(person):
    for text in ("é", "€", "😀", "aé", "a€b"):
        for cap in (7, 1000, 1001, 1002, 1003):
            code = f"import sys; sys.stdout.write({text!r} * 3000)"
            found = person.json("--max-output", str(cap), "-c", code).is_ok().stdout
            lacks(found, "\ufffd", f"{text!r} cut at {cap}")
            check(len(found.encode()) <= cap, f"{len(found.encode())} bytes with a cap of {cap}")


@claim("plain output is never cut")
def plain_whole(person):
    ran = person.code("print('x' * 500000)", "--max-output", "100").ok()
    equal(len(ran.out), 500001, "length of stdout")


@claim("ten megabytes of output come through whole")
def plain_big(person):
    code = "import sys\nfor i in range(160): sys.stdout.write(chr(65 + i % 26) * 65536)"
    ran = person.code(code).ok()
    expected = "".join(chr(65 + i % 26) * 65536 for i in range(160))
    check(ran.out == expected, "output changed on its way:", len(ran.out))


@claim("stdout and stderr go to their own streams, byte by byte")
def plain_bytes(person):
    code = "import os; os.write(1, bytes(range(256))); os.write(2, bytes(range(255, -1, -1)))"
    ran = person.code(code).ok()
    equal(ran.out_bytes, bytes(range(256)), "stdout")
    equal(ran.err_bytes, bytes(range(255, -1, -1)), "stderr")


# ---- bytes that are no text ----------------------------------------------------------------------


@claim("bytes that are not UTF-8 become U+FFFD in JSON and stay exact in the spill")
def not_utf8(person):
    os.makedirs(person.path("logs"))
    person.own(person.path("logs"))
    data = b"ok \xff\xfe \xc3( \xe2\x82 \xf0\x9f end \x00 \x80"
    code = f"import os; os.write(1, {data!r}); os.write(2, {data[::-1]!r})"
    result = person.json("--spill", "logs", "-c", code).is_ok()
    equal(result.stdout, data.decode("utf-8", "replace"), "stdout")
    equal(result["stderr"], data[::-1].decode("utf-8", "replace"), "stderr")
    for key, wanted in (("stdout_file", data), ("stderr_file", data[::-1])):
        with open(person.path(result.meta[key]), "rb") as file:
            equal(file.read(), wanted, f"bytes in meta.{key}")


@claim("--spill keeps everything, whatever the result cuts")
def spill_whole(person):
    os.makedirs(person.path("logs"))
    person.own(person.path("logs"))
    result = person.json("--spill", "logs", "--max-output", "500", "-c", LINES.format(50000)).is_ok()
    with open(person.path(result.meta["stdout_file"]), "rb") as file:
        text = file.read().decode()
    equal(len(text), 600000, "length of the spilled file")
    check(text.splitlines()[49999] == "line 049999", "the last line is lost")
    equal(sorted(os.listdir(person.path("logs"))),
          [result["id"] + ".stderr", result["id"] + ".stdout"], "names of the files")


@claim("--spill keeps what a timed out program wrote")
def spill_timeout(person):
    os.makedirs(person.path("logs"))
    person.own(person.path("logs"))
    code = "import time; print('x' * 50000, flush=True); time.sleep(30)"
    result = person.json("--spill", "logs", "-t", "0.6", "-c", code).has_status("timeout")
    equal(os.path.getsize(person.path(result.meta["stdout_file"])), 50001, "size of the file")


@claim("--spill makes private files and none when the run is refused")
def spill_private(person):
    os.makedirs(person.path("logs"))
    person.own(person.path("logs"))
    person.run("--spill", "logs", "--exec", "--", "no-such-program").exits(125)
    equal(os.listdir(person.path("logs")), [], "files of a refused run")
    person.code("print(1)", "--spill", "logs").ok()
    for name in os.listdir(person.path("logs")):
        equal(os.stat(person.path("logs/" + name)).st_mode & 0o777, 0o600, f"mode of {name}")


# ---- files out -----------------------------------------------------------------------------------

MAKE = """
import os
os.makedirs('plots/sub')
for name in ('a.png', 'b.png', 'c.txt', 'plots/d.png', 'plots/sub/e.png', '.hidden.png'):
    open(name, 'w').write(name)
"""


def files_below(path):
    return sorted(os.path.relpath(os.path.join(root, name), path)
                  for root, _dirs, names in os.walk(path) for name in names)


@claim("--out takes what a pattern matches")
def out_glob(person):
    result = person.json("--out", "*.png:got", "-c", MAKE).is_ok()
    equal(files_below(person.path("got")), ["a.png", "b.png"], "files that came out")
    equal(sorted(file["path"] for file in result["files"]), ["a.png", "b.png"], "files")
    for file in result["files"]:
        equal(file["size"], len(file["path"]), f"size of {file}")
        equal(os.path.getsize(person.path(file["saved_to"])), file["size"], f"size of {file}")


@claim("--out takes a directory with all that is in it")
def out_directory(person):
    person.code(MAKE, "--out", "plots:got").ok()
    equal(files_below(person.path("got")), ["plots/d.png", "plots/sub/e.png"], "files")


@claim("--out takes a nested pattern and one with the full path")
def out_nested(person):
    person.code(MAKE, "--out", "plots/*.png:one", "--out", "/home/user/c.txt:two",
                "--out", "plots/sub/?.png:three").ok()
    equal(files_below(person.path("one")), ["plots/d.png"], "files")
    equal(files_below(person.path("two")), ["c.txt"], "files")
    equal(files_below(person.path("three")), ["plots/sub/e.png"], "files")


@claim("--out without a directory puts files where we are")
def out_here(person):
    person.code(MAKE, "--out", "c.txt").ok()
    equal(os.listdir(person.dir), ["c.txt"], "files here")


@claim("--out * takes all but the program itself and hidden files")
def out_star(person):
    person.code(MAKE, "--out", "*:got").ok()
    equal(files_below(person.path("got")),
          ["a.png", "b.png", "c.txt", "plots/d.png", "plots/sub/e.png"], "files")


@claim("--out replaces a file that is there, whole, and leaves nothing beside it")
def out_replaces(person):
    os.makedirs(person.path("got"))
    person.own(person.path("got"))
    person.write(person.path("got/a.png"), "old and much longer than the new one")
    person.code(MAKE, "--out", "a.png:got").ok()
    with open(person.path("got/a.png"), encoding="utf-8") as file:
        equal(file.read(), "a.png", "content")
    equal(os.listdir(person.path("got")), ["a.png"], "files beside it")


@claim("--out does not follow a link that waits at the target")
def out_target_link(person):
    os.makedirs(person.path("got"))
    person.own(person.path("got"))
    person.write(person.path("precious"), "precious")
    os.symlink("../precious", person.path("got/a.png"))
    person.code(MAKE, "--out", "a.png:got").ok()
    with open(person.path("precious"), encoding="utf-8") as file:
        equal(file.read(), "precious", "the file behind the link")


@claim("--out keeps an executable executable, and files are ours")
def out_mode(person):
    code = "import os; open('t', 'w').write('x'); os.chmod('t', 0o4777); open('u', 'w').close()"
    person.code(code, "--out", "*:got").ok()
    status = os.stat(person.path("got/t"))
    equal((status.st_mode & 0o7777, status.st_uid), (0o755, person.uid), "mode and owner of t")
    equal(os.stat(person.path("got/u")).st_mode & 0o7777, 0o644, "mode of u")


@claim("--out refuses links, pipes and sockets and says so")
def out_refuses(person):
    code = ("import os, socket\n"
            "os.symlink('/etc/passwd', 'link'); os.symlink('..', 'dirlink')\n"
            "os.mkfifo('pipe'); socket.socket(socket.AF_UNIX).bind('sock')\n"
            "open('good', 'w').write('g')")
    result = person.json("--out", "*:got", "-c", code).is_ok()
    found = {file["path"]: file for file in result["files"]}
    equal(files_below(person.path("got")), ["good"], "files that came out")
    for name in ("link", "dirlink", "pipe", "sock"):
        check(found[name]["refused"], f"{name} was not refused:", found[name])
        equal(found[name]["saved_to"], None, f"saved_to of {name}")
    ran = person.code(code, "--out", "*:got2").ok()
    contains(ran.err, "'link' was not taken", "stderr")


@claim("--out does not reach through a linked directory")
def out_through_link(person):
    code = "import os; os.symlink('/etc', 'd')"
    result = person.json("--out", "d/passwd:got", "--out", "d:got", "-c", code).is_ok()
    equal(files_below(person.path("got")), [], "files that came out")
    check(all(file["saved_to"] is None for file in result["files"]), "files:", result["files"])


@claim("--out makes the directory it is given, and one that cannot be made is told before the run")
def out_target(person):
    person.code(MAKE, "--out", "a.png:deep/er/still").ok()
    equal(files_below(person.path("deep")), ["er/still/a.png"], "files that came out")
    person.write(person.path("file"), "")
    ran = person.code("print('ran')", "--out", "x:file").exits(125)
    contains(ran.err, "--out", "stderr")
    equal(ran.out, "", "stdout of a program that should not have run")


@claim("a pattern that matches nothing is a warning")
def out_nothing(person):
    result = person.json("--out", "*.nothing:got", "-c", "1").is_ok()
    check(any("*.nothing" in warning for warning in result.meta["warnings"]), "no warning:",
          result.meta["warnings"])
    contains(person.code("1", "--out", "*.nothing:got").ok().err, "*.nothing", "stderr")


@claim("--out takes what was made before the program failed")
def out_after_failure(person):
    code = "open('part', 'w').write('p'); raise SystemExit(3)"
    person.json("--out", "part:got", "-c", code).has_status("error", 3)
    equal(files_below(person.path("got")), ["part"], "files after an error")
    code = "open('part', 'w').write('p'); import time; time.sleep(30)"
    person.json("--out", "part:late", "-t", "0.6", "-c", code).has_status("timeout", 124)
    equal(files_below(person.path("late")), ["part"], "files after a timeout")


@claim("--out copies bytes exactly, also holes")
def out_bytes(person):
    code = ("data = bytes(range(256)) * 5000\n"
            "f = open('blob', 'wb'); f.write(data); f.seek(4 << 20); f.write(data)")
    person.code(code, "--out", "blob:got").ok()
    with open(person.path("got/blob"), "rb") as file:
        found = file.read()
    data = bytes(range(256)) * 5000
    check(found == data + bytes((4 << 20) - len(data)) + data, "the file changed:", len(found))


@claim("odd names come out as they are")
def out_odd_names(person):
    names = ["ü.txt", "a b", "-rf", "q'uote", "new\nline", "back\\slash", "[x]"]
    code = f"for name in {names!r}: open(name, 'w').write('x')"
    result = person.json("--out", "*:got", "-c", code).is_ok()
    equal(files_below(person.path("got")), sorted(names), "files that came out")
    equal(sorted(file["path"] for file in result["files"]), sorted(names), "files in the result")


@claim("a pattern of /tmp is taken from the cell's own /tmp")
def out_tmp(person):
    person.code("open('/tmp/t.txt', 'w').write('t')", "--out", "/tmp/t.txt:got").ok()
    equal(files_below(person.path("got")), ["t.txt"], "files that came out")
