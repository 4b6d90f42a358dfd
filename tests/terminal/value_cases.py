# SPDX-License-Identifier: Apache-2.0
"""Values that a program displays, on terminals of two widths, and where there is none."""
import json

from screen import display, frames, on_pty, on_screen, result, runtimes, table, typed_in
from suite import ROOT, check, claim, contains, equal, lacks

CITIES = table(
    ["city", "people", "area", "what it is known for"],
    [["Berlin", 3769000, 891.7, "a wall that is no more, and museums that are"],
     ["東京", 13960000, 2194, "trains on time; 寿司 in every street and at any hour of the night"],
     ["São Paulo", 12330000, 1521.11, None]])


@claim("a table fits 80 columns")
def table_80(person):
    lines, code = on_screen(person, frames(person, display(CITIES)))
    equal(code, 0, "exit status")
    equal(lines, [
        " city      │   people │    area │ what it is known for",
        "┼".join("─" * width for width in (11, 10, 9, 47)),
        " Berlin    │  3769000 │  891.7  │ a wall that is no more, and museums that are",
        " 東京      │ 13960000 │ 2194    │ trains on time; 寿司 in every street and at a…",
        " São Paulo │ 12330000 │ 1521.11 │ null",
    ], "the screen")


@claim("a table takes the room that 200 columns give")
def table_200(person):
    lines, _code = on_screen(person, frames(person, display(CITIES)), size=(200, 50))
    contains(lines[3], "in every street and at any hour of the night", "the line of Tokyo")
    check(len(lines[1]) < 120, "a rule much longer than the table:", lines[1])


@claim("columns that do not fit are counted")
def many_columns(person):
    wide = table([f"column {i}" for i in range(40)], [list(range(40))])
    lines, _code = on_screen(person, frames(person, display(wide)))
    check(lines[0].endswith("│ …"), "no mark behind the names:", lines)
    equal(lines[3], " … 33 more columns; --json has all columns", "the line below")


@claim("rows past the twentieth are counted, and --rows shows them")
def many_rows(person):
    said = frames(person, display(table(["n"], [[i] for i in range(30)], total=500)))
    lines, _code = on_screen(person, said, size=(80, 50))
    equal(lines[-1], " … 480 more rows of 500; --rows 30 shows more", "the last line")
    equal(len(lines), 2 + 20 + 1, "number of lines")
    lines, _code = on_screen(person, "--rows", "30", said, size=(80, 50))
    equal(lines[-2:], [" 29", " … 470 more rows of 500, not sent by the program"], "the end")


@claim("JSON is pretty and fits")
def pretty(person):
    data = {"application/json": {"name": "x", "list": list(range(40)), "inner": {"a": None}}}
    lines, _code = on_screen(person, frames(person, display(data)))
    equal(lines, [
        "{",
        '  "name": "x",',
        '  "list": [',
        "    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20,",
        "    21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39",
        "  ],",
        '  "inner": {"a": null}',
        "}",
    ], "the screen")


@claim("the value of the last expression has its mark, and a line of its own when it is long")
def out(person):
    lines, _code = on_screen(person, *typed_in(["stdout", "no new line"],
                                               result({"text/plain": "42"})))
    equal(lines, ["no new line", "Out: 42"], "the screen")
    lines, _code = on_screen(person, *typed_in(result({"text/plain": "a\nb\n"})))
    equal(lines, ["Out:", "a", "b"], "the screen")


@claim("what a file's last line comes to is shown when it is a table, not twice when it was printed")
def not_shown(person):
    lines, _code = on_screen(person, frames(person, result(table(["a"], [[1]]))))
    equal(lines[0], "Out:", "the screen")
    printed = {**display({"text/plain": "a table"}), "metadata": {"printed": True}}
    lines, _code = on_screen(person, frames(person, ["stdout", "a table\n"], printed,
                                            result({"text/plain": "42"})))
    equal(lines, ["a table"], "the screen")


@claim("of several forms the best one is shown, once")
def best(person):
    for data, wanted in (
            ({"text/plain": "plain", "text/html": "<b>html</b>"}, "plain"),
            ({"text/markdown": "# mark"}, "# mark"),
            ({"text/html": "<b>html</b>"}, "[text/html; --json has it]"),
            ({"text/plain": "{'a': 1}", "application/json": {"a": 1}}, '{"a": 1}')):
        lines, _code = on_screen(person, frames(person, display(data)))
        equal(lines, [wanted], f"the screen for {sorted(data)}")


@claim("a long text is folded, and the line below says how to see the rest")
def long_text(person):
    text = "\n".join(f"line {i}" for i in range(200))
    _code, shown = on_pty(person, frames(person, display({"text/plain": text})))
    contains(shown, "line 59\n", "the terminal")
    lacks(shown, "line 60\n", "the terminal")
    contains(shown, "… 140 more lines of 200; --json has all of them", "the terminal")


@claim("no value can move the cursor, set a title or hide its traces")
def hostile_values(person):
    evil = "a\033[2J\033]0;t\007\r\u009b1A\u202eb\x08"
    for data in ({"text/plain": evil}, {"application/json": {evil: evil}}, table([evil], [[evil]]),
                 {evil: "x"}, {"text/markdown": evil}, {"image/png": evil},
                 {"image/svg+xml": evil}):
        code, shown = on_pty(person, frames(person, display(data), result(data)),
                             env={"NO_COLOR": "1"})
        equal(code, 0, "exit status")
        for control in "\033\007\r\x08\u009b\u202e":
            lacks(shown, control, f"the terminal after {data!r}")


@claim("colours are ours, balanced and gone with NO_COLOR, a dumb terminal and --color never")
def colours(person):
    said = frames(person, display(CITIES), display({"application/json": {"a": [1, "x", True]}}),
                  result({"text/plain": "42"}))
    _code, shown = on_pty(person, said)
    contains(shown, "\033[1mcity\033[0m", "the terminal")
    contains(shown, '\033[34m"a"\033[0m', "the terminal")
    for args, env in (((), {"NO_COLOR": "1"}), ((), {"TERM": "dumb"}), (("--color", "never"), {})):
        _code, shown = on_pty(person, *args, said, env=env)
        contains(shown, " city      │   people", "the terminal")
        lacks(shown, "\033", f"the terminal with {args} {env}")


@claim("a pipe gets the program's own output and nothing else")
def pipe(person):
    said = frames(person, ["stdout", "own\n"], display(CITIES), result({"text/plain": "42"}))
    ran = person.run(said, env={"HOTCELL_RUNTIMES": runtimes(person), "TERM": "xterm"}).ok()
    equal((ran.out, ran.err), ("own\n", ""), "stdout and stderr")


@claim("--color always shows values in a pipe too")
def always(person):
    said = frames(person, ["stdout", "own\n"], display(CITIES))
    ran = person.run("--color", "always", said, env={
        "HOTCELL_RUNTIMES": runtimes(person), "TERM": "xterm", "COLUMNS": "60"}).ok()
    check(ran.out.startswith("own\n \033[1mcity\033[0m"), "no table in colours:", ran.out)


@claim("a wrong --color or --rows is refused with an example", ROOT)
def wrong_options(person):
    for args, words in ((("--color", "blue"), "--color never"), (("--rows", "0"), "--rows 100")):
        ran = person.run(*args, "-c", "1").exits(125)
        contains(ran.err, words, "stderr")


@claim("JSON for programs carries the values whole and says what output was cut")
def json_whole(person):
    said = frames(person, ["stdout", "x" * 30000], display(CITIES))
    env = {"HOTCELL_RUNTIMES": runtimes(person)}
    answer = json.loads(person.run("--json", said, env=env).ok().out)
    equal(answer["outputs"][0]["data"], CITIES, "the displayed value")
    equal(answer["meta"]["warnings"], [
        "stdout: shortened from 30000 bytes; --max-output 30000 or --spill DIR keeps all of it"],
        "warnings")
    answer = json.loads(person.run("--json", "--spill", ".", said, env=env).ok().out)
    contains(answer["meta"]["warnings"][0], "all of it is in './", "the warning")
