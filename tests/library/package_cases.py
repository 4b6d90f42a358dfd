# SPDX-License-Identifier: Apache-2.0
"""The Python package."""
import os
import shutil
import subprocess

import people
from library_cases import Sessions
from suite import HUNG_AFTER, ROOT, SOURCE, Skip, claim, contains, equal


@claim("execute_code and execute_file: output, value, input, arguments, another language")
def executes(person):
    path = person.write(person.path("hello.sh"), "echo hello $1")
    told = people.package(person, """
box = hotcell.get_sandbox(timeout=10)
one = box.execute_code("print(input())\\n6 * 7", stdin="typed")
two = box.execute_file(json.loads(sys.argv[1]), args=["you"])
three = box.execute_code("echo $NAME", language="bash", env={"NAME": "value"})
long = box.execute_code("#" * 300000 + "\\nprint('long')")
answer = [one.stdout, one.value, one.ok, two.stdout, two.meta["language"], three.stdout, long.stdout,
          one.meta["resource_limits"]["timeout"], isinstance(one, hotcell.ExecutionResult)]
""", path)
    equal(told, ["typed\n", "42", True, "hello you\n", "bash", "value\n", "long\n", 10, True],
          "what was executed")


@claim("what is wrong is said as a person would want it: an error, or a result that tells")
def refusals(person):
    told = people.package(person, """
def why(function, *args, **settings):
    try:
        return function(*args, **settings).message
    except (ValueError, hotcell.HotcellError) as problem:
        return type(problem).__name__ + ": " + str(problem)
box = hotcell.get_sandbox()
answer = [why(hotcell.get_sandbox, "nowhere"), why(box.execute_code, "1", timeot=3),
          why(box.execute_code, "1", language="klingon"), why(box.run_python_code, "1", -1),
          why(hotcell.Sandbox(program="/nowhere/hotcell").execute_code, "1"),
          why(box.open_session, "nobody"), why(box.execute_code, "x = 1")]
""")
    contains(told[0], "ValueError: --provider: 'nowhere' is not known", "an unknown type")
    equal(told[1], "ValueError: unknown field 'timeot', did you mean 'timeout'?", "an unknown setting")
    contains(told[2], "'klingon' is not known", "an unknown language")
    contains(told[3], "ValueError: ", "a timeout that is none")
    contains(told[4], "HotcellError: cannot run '/nowhere/hotcell'", "a program that is not there")
    contains(told[5], "HotcellError: there is no session 'nobody'", "a session that is not there")
    equal(told[6], None, "what is said of honest code")


@claim("SANDBOX_TYPE chooses, and one that is not there is refused by its name")
def sandbox_type(person):
    code = """
try:
    answer = hotcell.get_sandbox().execute_code("print(1)").meta["runtime"]
except ValueError as problem:
    answer = str(problem)
"""
    equal(people.package(person, code, env={"SANDBOX_TYPE": "local"}), "local", "runtime")
    contains(people.package(person, code, env={"SANDBOX_TYPE": "nowhere"}),
             "SANDBOX_TYPE: 'nowhere' is not known", "the error")


@claim("analyze_code gives the SecurityReport, under the same settings as a run")
def analysis(person):
    told = people.package(person, """
box = hotcell.get_sandbox()
report = box.analyze_code("import os", profile="strict")
warned = box.analyze_code("import os")
blocked = box.analyze_code("import os", block_imports=True, block_modules=["json"])
clean = hotcell.analyze_code("print(1)")
answer = [report.verdict, report.is_blocked, report.may_autorun, report.findings[0].module,
          report.findings[0].line, warned.verdict, blocked.verdict, clean.verdict, clean.findings]
""")
    equal(told, ["block", True, "no", "os", 1, "warn", "block", "allow", []], "reports")


@claim("sessions of the package remember, go back, branch and end with their block")
def sessions(person):
    with Sessions(person) as daemon:
        told = people.package(person, """
box = hotcell.get_sandbox()
with box.session(name="story", undo=3, idle=600) as session:
    first = session.execute_code("x = 1").ok
    point = session.checkpoint("one")
    session.execute_code("x = 2")
    with session.fork("branch") as branch:
        session.rollback(point)
        values = [session.execute_code("x").value, branch.execute_code("x").value]
    late = session.execute_code("while True: pass", timeout=0.3).message
    again = box.open_session("story").execute_code("x").value
    known = [item["name"] for item in box.sessions()]
    idle = session.info()["idle"]
answer = [first, point, values, late, again, known, idle, box.sessions()]
""", env={"HOTCELL_SOCKET": daemon.path})
    equal(told, [True, "one", ["1", "2"], "Code execution timed out after 0.3s", "1", ["story"], 600, []],
          "the story")


# How a program uses the package; what mypy says is wrong in it must be what is wrong.
TYPED = """
import hotcell
box = hotcell.get_sandbox(timeout=1)
result: hotcell.ExecutionResult = box.execute_code("1")
text: str = hotcell.run_python_code("1", 5)
report: hotcell.SecurityReport = hotcell.analyze_code("1")
print(result.stdout.upper(), text.upper(), report.may_autorun.upper())
number: int = result.stdout
box.execute_code(7)
"""


@claim("the package is typed: mypy finds nothing in it, and the mistakes of a program that uses it", ROOT)
def typed(person):
    if not os.access("/usr/bin/mypy", os.X_OK):
        raise Skip("there is no mypy here; tools/deps test installs it")
    package = os.path.join(person.dir, "python")
    shutil.copytree(os.path.join(SOURCE, "python"), package)
    path = person.write(os.path.join(package, "use.py"), TYPED)

    def mypy(*args):
        return subprocess.run(["/usr/bin/mypy", "--strict", "--no-error-summary", "--cache-dir",
                               person.path("cache"), *args], cwd=package, capture_output=True,
                              text=True, timeout=HUNG_AFTER, check=False)
    ran = mypy("-p", "hotcell")
    equal((ran.stdout, ran.returncode), ("", 0), "what mypy says of the package")
    ran = mypy(os.path.basename(path))
    equal([line.split(":")[1] for line in ran.stdout.splitlines()], ["8", "9"],
          f"the lines that are wrong: {ran.stdout}")
