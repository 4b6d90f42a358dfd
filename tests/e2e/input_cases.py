# SPDX-License-Identifier: Apache-2.0
"""What goes into a cell: code, arguments, standard input, variables, files."""
import json
import os
import subprocess

from suite import HUNG_AFTER, check, claim, contains, equal

# ---- code and arguments --------------------------------------------------------------------------


@claim("code comes from a file, whose ending tells the language")
def code_by_ending(person):
    for name, code in (("a.py", "print('python')"), ("b.js", "console.log('javascript')"),
                       ("c.bash", "echo ${BASH_VERSION:+bash}")):
        person.write(person.path(name), code)
        result = person.json(name).is_ok()
        equal(result.stdout.strip(), result.meta["language"], f"output of {name}")
    person.write(person.path("d.sh"), "echo shell")
    equal(person.run("d.sh").ok().out, "shell\n", "stdout of d.sh")


@claim("a file without a known ending is Python")
def code_without_ending(person):
    for name in ("script", "notes.txt"):
        person.write(person.path(name), "print('py')")
        equal(person.json(name).is_ok().meta["language"], "python", f"language of {name}")


@claim("--language counts more than the ending")
def language_over_ending(person):
    person.write(person.path("odd.py"), "echo shell")
    equal(person.run("-l", "sh", "odd.py").ok().out, "shell\n", "stdout")


@claim("error messages speak of the file by its own name")
def own_name(person):
    person.write(person.path("tool.py"), "1/0")
    ran = person.run("tool.py").exits(1)
    contains(ran.err, "tool.py", "stderr")
    contains(ran.err, "line 1", "stderr")


@claim("a file of any name is run, also one that looks like an option")
def odd_file_names(person):
    for name in ("-c", "-x.py", "-", "ü b.py", "new\nline.py", "quote'.py", "$HOME.py"):
        person.write(person.path(name), "import sys; print('ran', sys.argv[1:])")
        equal(person.run("-l", "python", "--", "./" + name, "a").ok().out, "ran ['a']\n",
              f"stdout of {name!r}")
    equal(person.run("--", "-x.py", "a").ok().out, "ran ['a']\n", "stdout of -x.py after --")
    for name, code in (("-e.js", "console.log('ran')"), ("-c.bash", "echo ran")):
        person.write(person.path(name), code)
        equal(person.run("--", name).ok().out, "ran\n", f"stdout of {name!r}")


@claim("code from a pipe, with a byte order mark or line ends of another system runs")
def odd_code(person):
    shell = f"exec {person.hotcell} run /dev/fd/5 5<<'EOF'\nprint('piped')\nEOF"
    ran = subprocess.run(person.prefix + ["sh", "-c", shell], env=person.env, cwd=person.dir,
                         capture_output=True, timeout=HUNG_AFTER, check=False)
    equal((ran.returncode, ran.stdout), (0, b"piped\n"), f"exit status and stdout {ran.stderr!r}")
    person.write(person.path("bom.py"), b"\xef\xbb\xbfprint(1)\r\nprint(2)\r\n")
    equal(person.run("bom.py").ok().out, "1\n2\n", "stdout")
    equal(person.run("-c", "").ok().out, "", "stdout of no code at all")


@claim("code comes from standard input with -")
def code_from_stdin(person):
    equal(person.run("-", stdin=b"print('from stdin')").ok().out, "from stdin\n", "stdout")
    equal(person.run("-l", "bash", "-", stdin=b"echo $0 $1", ).ok().out.split()[0], "main.bash",
          "name of the program")
    equal(person.run("-", "x", stdin=b"import sys; print(sys.argv[1:])").ok().out, "['x']\n",
          "arguments")


@claim("arguments after FILE and CODE belong to the program")
def arguments(person):
    code = "import sys; print(sys.argv[1:])"
    person.write(person.path("args.py"), code)
    words = ["a", "", "b c", "--json", "-t", "abc", "--spec", "nowhere", "--help", "-x", "ü", "$HOME",
             "'", "--", "-"]
    expected = repr(words) + "\n"
    equal(person.run("args.py", *words).ok().out, expected, "arguments after FILE")
    equal(person.run("-c", code, *words[:3]).ok().out, repr(words[:3]) + "\n", "after -c")
    equal(person.run("-c", code, "--", *words).ok().out, expected, "after -c and --")


@claim("arguments reach every language")
def arguments_everywhere(person):
    for language, code in (("python", "import sys; print(*sys.argv[1:], sep='|')"),
                           ("javascript", "console.log(process.argv.slice(2).join('|'))"),
                           ("bash", "IFS='|'; echo \"$*\""), ("sh", "IFS='|'; echo \"$*\"")):
        equal(person.run("-l", language, "-c", code, "--", "a b", "-c", "ü").ok().out,
              "a b|-c|ü\n", f"arguments of {language}")


@claim("--exec hands arguments over as they are")
def exec_arguments(person):
    ran = person.run("--exec", "--", "printf", "%s|", "a b", "", "$HOME", "*", "--json").ok()
    equal(ran.out, "a b||$HOME|*|--json|", "stdout")


@claim("long arguments and many of them get through")
def long_arguments(person):
    words = ["x" * 100000] + [str(i) for i in range(3000)]
    code = "import sys; print(len(sys.argv), len(sys.argv[1]), sys.argv[-1])"
    equal(person.run("-c", code, *words).ok().out, "3002 100000 2999\n", "stdout")


@claim("code of a megabyte runs")
def long_code(person):
    code = "x = 1\n" * 170000 + "print('end')"
    equal(person.run("-", stdin=code.encode()).ok().out, "end\n", "stdout")


@claim("the program's directory is its home, and its file is there")
def working_directory(person):
    person.write(person.path("tool.py"), "import os; print(os.getcwd(), os.listdir('.'))")
    equal(person.run("tool.py").ok().out, "/home/user ['tool.py']\n", "stdout")


# ---- standard input ------------------------------------------------------------------------------

CAT = "import sys; sys.stdout.buffer.write(sys.stdin.buffer.read())"


@claim("without --stdin a program reads nothing")
def stdin_empty(person):
    equal(person.code("import sys; print(repr(sys.stdin.read()))", stdin=b"secret").ok().out,
          "''\n", "stdout")


@claim("--stdin FILE is read to its end, byte by byte")
def stdin_file(person):
    data = bytes(range(256)) * 2000
    person.write(person.path("data"), data)
    ran = person.code(CAT, "--stdin", "data", "--output-limit", "10M").ok()
    check(ran.out_bytes == data, "stdin came through changed:", len(ran.out_bytes))


@claim("--stdin - passes our own standard input on")
def stdin_own(person):
    data = os.urandom(300000)
    ran = person.code(CAT, "--stdin", "-", stdin=data).ok()
    check(ran.out_bytes == data, "stdin came through changed:", len(ran.out_bytes))
    equal(person.code(CAT, "--stdin", "-", stdin=b"").ok().out, "", "stdout for an empty stdin")


@claim("a program that ignores its input does not hold the run up")
def stdin_ignored(person):
    process = person.start("run", "--stdin", "-", "-c", "print('done')", stdin=subprocess.PIPE)
    equal(process.wait(HUNG_AFTER), 0, "exit status")
    equal(process.stdout.read(), b"done\n", "stdout")
    process.stdin.close()
    ran = person.code("import sys; print(sys.stdin.readline())", "--stdin", "-",
                      stdin=b"one\n" + b"x" * (1 << 20))
    equal(ran.ok().out, "one\n\n", "stdout")


@claim("a closed standard input of ours does no harm")
def stdin_closed(person):
    process = subprocess.run(
        person.prefix + ["sh", "-c", 'exec "$0" run -c "print(1)" <&-', person.hotcell],
        env=person.env, capture_output=True, timeout=HUNG_AFTER, cwd=person.dir)
    equal((process.returncode, process.stdout), (0, b"1\n"), "exit status and stdout")


@claim("--stdin - with code from - is refused")
def stdin_twice(person):
    ran = person.run("--stdin", "-", "-", stdin=b"print(1)").exits(125)
    contains(ran.err, "--stdin", "stderr")


@claim("--stdin refuses a directory")
def stdin_directory(person):
    ran = person.code(CAT, "--stdin", ".").exits(125)
    contains(ran.err, "--stdin", "stderr")


@claim("--stdin reads from a named pipe")
def stdin_pipe(person):
    os.mkfifo(person.path("pipe"))
    person.own(person.path("pipe"))
    with subprocess.Popen(["sh", "-c", "exec echo through the pipe > pipe"], cwd=person.dir):
        ran = person.code(CAT, "--stdin", "pipe", timeout=HUNG_AFTER)
    equal(ran.ok().out, "through the pipe\n", "stdout")


# ---- environment ---------------------------------------------------------------------------------


@claim("only six variables are in a cell")
def env_six(person):
    code = "import os, json; print(json.dumps(dict(os.environ)))"
    ran = person.code(code, env={"SECRET": "x", "AWS_KEY": "y", "LD_PRELOAD": ""}).ok()
    found = json.loads(ran.out)
    found.pop("LC_CTYPE", None)  # Python's own doing
    equal(sorted(found), ["HOME", "LANG", "PATH", "TERM", "TMPDIR", "USER"], "variables")
    equal((found["HOME"], found["USER"], found["TMPDIR"]), ("/home/user", "user", "/tmp"),
          "HOME, USER, TMPDIR")


@claim("only six variables are in an executed program")
def env_exec(person):
    ran = person.run("--exec", "--", "env", env={"SECRET": "x"}).ok()
    names = sorted(line.split("=")[0] for line in ran.out.splitlines())
    equal(names, ["HOME", "LANG", "PATH", "TERM", "TMPDIR", "USER"], "variables")


@claim("-e K=V sets a variable, -e K passes ours, and one we do not have stays away")
def env_given(person):
    code = "import os; print([os.environ.get(k) for k in ('A', 'B', 'C', 'D', 'EMPTY')])"
    ran = person.code(code, "-e", "A=1 2=3", "--env=B", "-e", "C", "-e", "D=ü", "-e", "EMPTY=",
                      env={"B": "ours"}).ok()
    equal(ran.out, "['1 2=3', 'ours', None, 'ü', '']\n", "stdout")


@claim("-e replaces a variable of the cell")
def env_replaces(person):
    code = "import os; print(os.environ['HOME'], os.environ['TERM'])"
    equal(person.code(code, "-e", "HOME=/tmp", "-e", "TERM=xterm").ok().out, "/tmp xterm\n",
          "stdout")


@claim("of two -e for one variable the last counts")
def env_twice(person):
    ran = person.run("-e", "A=1", "-e", "A=2", "--exec", "--", "env").ok()
    values = [line for line in ran.out.splitlines() if line.startswith("A=")]
    equal(values, ["A=2"], "values of A")


# ---- files in ------------------------------------------------------------------------------------


def tree(person):
    """A directory with a nest, an executable, a link and an odd name."""
    os.makedirs(person.path("tree/deep/er"))
    person.write(person.path("tree/one"), "1")
    person.write(person.path("tree/deep/er/two"), "22")
    person.write(person.path("tree/deep/tool"), "#!/bin/sh\necho tool ran\n", 0o755)
    person.write(person.path("tree/ü 'x"), "odd")
    os.symlink("/etc/passwd", person.path("tree/link"))
    for root, dirs, _files in os.walk(person.path("tree")):
        for name in dirs:
            person.own(os.path.join(root, name))


@claim("--file copies a file under its own name, another, or into a directory")
def file_names(person):
    person.write(person.path("a.txt"), "A")
    code = "import os; print([open(p).read() for p in ('a.txt', 'b.txt', 'new/c.txt', 'in/a.txt')])"
    ran = person.code(code, "--file", "a.txt", "--file", "a.txt:b.txt", "--file", "a.txt:new/c.txt",
                      "--file", "a.txt:in/").ok()
    equal(ran.out, "['A', 'A', 'A', 'A']\n", "stdout")
    code = "print(open('/home/user/abs/x').read())"
    equal(person.code(code, "--file", "a.txt:/home/user/abs/x").ok().out, "A\n", "stdout")


@claim("--file copies bytes exactly")
def file_bytes(person):
    data = os.urandom(2 << 20)
    person.write(person.path("blob"), data)
    import hashlib
    code = "import hashlib; print(hashlib.sha256(open('blob', 'rb').read()).hexdigest())"
    equal(person.code(code, "--file", "blob").ok().out.strip(), hashlib.sha256(data).hexdigest(),
          "sum of the copy")


@claim("--file copies a directory with all that is in it, but no links")
def file_directory(person):
    tree(person)
    code = ("import os\n"
            "for root, dirs, files in sorted(os.walk('tree')):\n"
            "    for name in sorted(files): print(os.path.join(root, name))")
    ran = person.code(code, "--file", "tree").ok()
    equal(ran.out.splitlines(), ["tree/one", "tree/ü 'x", "tree/deep/tool", "tree/deep/er/two"],
          "files in the cell")
    ran = person.code("import os; print(sorted(os.listdir('as/other')))", "--file",
                      "tree:as/other").ok()
    equal(ran.out, "['deep', 'one', \"ü 'x\"]\n", "stdout with another name")


@claim("an executable stays executable, and a file stays none")
def file_mode(person):
    tree(person)
    code = ("import os, subprocess\n"
            "print(subprocess.run(['tree/deep/tool'], capture_output=True, text=True).stdout,"
            " os.access('tree/one', os.X_OK))")
    equal(person.code(code, "--file", "tree").ok().out, "tool ran\n False\n", "stdout")


@claim("a copied file belongs to the program, and the original stays as it was")
def file_owner(person):
    person.write(person.path("a.txt"), "A", 0o400)
    code = "open('a.txt', 'a').write('B'); import os; os.rename('a.txt', 'b'); print(open('b').read())"
    equal(person.code(code, "--file", "a.txt").ok().out, "AB\n", "stdout")
    with open(person.path("a.txt"), encoding="utf-8") as file:
        equal(file.read(), "A", "the original")


@claim("a link that a person names is followed")
def file_named_link(person):
    person.write(person.path("a.txt"), "A")
    os.symlink("a.txt", person.path("link"))
    equal(person.code("print(open('link').read())", "--file", "link").ok().out, "A\n", "stdout")


@claim("a file with a colon in its name can be named")
def file_colon(person):
    person.write(person.path("a:b"), "colon")
    equal(person.code("print(open('c').read())", "--file", "a\\:b:c").ok().out, "colon\n", "stdout")


@claim("a file that does not fit is told with the option that makes room")
def file_too_big(person):
    person.write(person.path("big"), b"x" * (3 << 20))
    ran = person.code("print(1)", "--disk", "1M", "--file", "big").exits(125)
    contains(ran.err, "--disk", "stderr")
    equal(ran.out, "", "stdout")
    person.code("print(1)", "--disk", "8M", "--file", "big").ok()


@claim("a file that we may not read is told by name")
def file_unreadable(person):
    if person.is_root:
        return
    os.makedirs(person.path("closed"))
    os.chmod(person.path("closed"), 0o700)  # the suite's, not this person's
    person.run("--file", "/etc/shadow", "-c", "1").exits(125)
    contains(person.run("--file", "/etc/shadow", "-c", "1").err, "/etc/shadow", "stderr")
