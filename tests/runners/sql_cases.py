# SPDX-License-Identifier: Apache-2.0
"""SQL: tables as psql draws them, commands, parameters, files, errors with their place."""
import csv
import io
import json
import os
import sqlite3

from suite import check, claim, contains, equal, lacks, matches

TABLE = "application/vnd.hotcell.table+json"

PEOPLE = """
CREATE TABLE people(id INTEGER PRIMARY KEY, name TEXT UNIQUE, score REAL);
INSERT INTO people(name, score) VALUES ('Zoë', 1.5), ('日本語', NULL), ('two
lines', 3);
"""


def sql(person, text, *args, **kwargs):
    return person.run("-l", "sql", "-c", text, *args, **kwargs)


def sql_json(person, text, *args, **kwargs):
    return person.json("-l", "sql", "-c", text, *args, **kwargs)


def tables(result):
    return [output["data"][TABLE] for output in result["outputs"]]


# ---- what is printed -----------------------------------------------------------------------------


@claim("sql draws aligned tables with NULL, wide characters and cells of several lines")
def draws(person):
    ran = sql(person, PEOPLE + "SELECT * FROM people; SELECT 1 WHERE 0;").ok()
    equal(ran.out, "CREATE TABLE\n"
                   "INSERT 0 3\n"
                   " id |  name  | score \n"
                   "----+--------+-------\n"
                   "  1 | Zoë    |   1.5\n"
                   "  2 | 日本語 |  NULL\n"
                   "  3 | two   +|   3.0\n"
                   "    | lines  |      \n"
                   "(3 rows)\n\n"
                   " 1 \n---\n(0 rows)\n\n", "stdout")


@claim("sql runs by its other names and by the ending of the file, and tells its version")
def runs(person):
    for alias in ("sqlite", "sqlite3"):
        contains(person.run("-l", alias, "-c", "SELECT 42;").ok().out, " 42\n", alias)
    path = person.write(person.path("q.sql"), "SELECT 'é€😀' AS x;\n")
    contains(person.run(path).ok().out, " é€😀\n", "stdout")
    matches(sql_json(person, "SELECT 1").meta["language_version"], r"^3\.\d+", "version")


@claim("sql names what a statement did, as psql does")
def tags(person):
    ran = sql(person, "BEGIN; CREATE TABLE t(a); INSERT INTO t VALUES (1),(2); "
                      "UPDATE t SET a = 3; SAVEPOINT s; DELETE FROM t; ROLLBACK TO s; "
                      "INSERT INTO t VALUES (9) RETURNING a; COMMIT; DROP TABLE t;").ok()
    equal(ran.out, "BEGIN\nCREATE TABLE\nINSERT 0 2\nUPDATE 2\nSAVEPOINT\nDELETE 2\nROLLBACK\n"
                   " a \n---\n 9\n(1 row)\n\nINSERT 0 1\nCOMMIT\nDROP TABLE\n", "stdout")


@claim("sql cuts long cells in the table only, and says so")
def cuts(person):
    code = "SELECT printf('%.*c', 500, 'x') AS long"
    result = sql_json(person, code).is_ok()
    contains(result.stdout, "x…\n(1 row)\n(1 value cut to fit", "stdout")
    equal(tables(result)[0]["rows"], [["x" * 500]], "rows")
    contains(sql(person, ".width 0\n" + code).ok().out, "x" * 500, "stdout")


@claim("sql prints no control character of the data in a table")
def controls(person):
    out = sql(person, "SELECT char(27) || '[31m' || char(7) || char(8238) AS evil").ok().out
    contains(out, "\\x1B[31m\\x07\\u202E", "stdout")
    lacks(out, "\x1b", "stdout")


@claim("sql writes csv, json, line and list, and reads its own csv back")
def modes(person):
    select = "SELECT id, name, score FROM people;\n"
    out = sql(person, PEOPLE + ".mode csv\n" + select).ok().out.split("INSERT 0 3\n")[1]
    rows = list(csv.reader(io.StringIO(out)))
    equal(rows, [["id", "name", "score"], ["1", "Zoë", "1.5"], ["2", "日本語", ""],
                 ["3", "two\nlines", "3.0"]], "csv")
    person.write(person.path("people.csv"), out)
    code = ".import people.csv copy\n.mode json\nSELECT name, score + 1 AS more FROM copy;"
    out = sql(person, code, "--file", person.path("people.csv")).ok().out
    contains(out, "COPY 3\n", "stdout")
    equal(json.loads(out.split("COPY 3\n")[1]),
          [{"name": "Zoë", "more": 2.5}, {"name": "日本語", "more": 1},
           {"name": "two\nlines", "more": 4.0}], "json")
    out = sql(person, ".mode line\nSELECT 1 AS a, 'x' AS long;").ok().out
    equal(out, "   a = 1\nlong = x\n", "line")
    out = sql(person, ".mode list\n.headers off\n.nullvalue -\nSELECT 1, 'x', NULL;").ok().out
    equal(out, "1|x|-\n", "list")


@claim("sql streams a result of any length and keeps the first thousand rows for the result")
def streams(person):
    code = ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000) "
            "SELECT i, 'row' FROM n")
    result = sql_json(person, code, "-m", "48M").is_ok()
    table = tables(result)[0]
    equal(table["total_rows"], 200000, "total_rows")
    equal(len(table["rows"]), 1000, "rows")
    equal(table["rows"][999], [1000, "row"], "last row")
    contains(result.stdout, "(200000 rows)", "stdout")
    check(result["usage"]["max_memory_kb"] < 32 << 10, "memory", result["usage"])


# ---- what is sent --------------------------------------------------------------------------------


@claim("sql sends each result as a table, text and HTML, the last one as the result")
def sends(person):
    result = sql_json(person, PEOPLE + "SELECT 1 AS one; SELECT name, score, x'6869' AS b "
                                       "FROM people; DELETE FROM people;").is_ok()
    equal([output["type"] for output in result["outputs"]], ["display", "result"], "types")
    equal(tables(result)[1], {"columns": ["name", "score", "b"], "total_rows": 3,
                              "rows": [["Zoë", 1.5, "\\x6869"], ["日本語", None, "\\x6869"],
                                       ["two\nlines", 3.0, "\\x6869"]]}, "table")
    data = result["outputs"][1]["data"]
    contains(data["text/plain"], "(3 rows)", "text/plain")
    contains(data["text/html"], "<th>name</th>", "text/html")
    contains(data["text/html"], "<em>NULL</em>", "text/html")


@claim("sql sends numbers exactly and hostile text as text")
def sends_exactly(person):
    result = sql_json(person, "SELECT 0.1 + 0.2, 9007199254740993, 9e999, "
                              "'<script>&' AS \"<b>\", CAST(x'ff41' AS TEXT)").is_ok()
    equal(tables(result)[0]["rows"],
          [[0.30000000000000004, 9007199254740993, "Infinity", "<script>&", "\ufffdA"]], "rows")
    html = result["outputs"][0]["data"]["text/html"]
    lacks(html, "<script>", "html")
    contains(html, "&lt;script&gt;&amp;", "html")


# ---- files and parameters ------------------------------------------------------------------------


@claim("sql works on a database file that is copied in, and the changes can be copied out")
def database(person):
    path = person.path("data.db")
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE t(a)")
        db.execute("INSERT INTO t VALUES (1)")
    db.close()
    person.own(path)
    script = person.write(person.path("x.sql"), "INSERT INTO t VALUES (:new); "
                          "ATTACH 'other.db' AS other; CREATE TABLE other.u AS SELECT * FROM t;"
                          "SELECT sum(a) AS s FROM other.u;")
    ran = person.run("--file", path, "--out", f"*.db:{person.path('out')}", script, "data.db",
                     "new=41").ok()
    contains(ran.out, " 42\n", "stdout")
    with sqlite3.connect(person.path("out/other.db")) as db:
        equal(db.execute("SELECT sum(a) FROM u").fetchone(), (42,), "what came out")
    db.close()


@claim("sql reads a mounted database and cannot change one that is mounted read-only")
def mounted(person):
    directory = person.path("data")
    os.mkdir(directory)
    with sqlite3.connect(f"{directory}/data.db") as db:
        db.execute("CREATE TABLE t AS SELECT 7 AS a")
    db.close()
    for name in ("", "data.db"):
        person.own(os.path.join(directory, name))
    script = person.write(person.path("x.sql"), "SELECT a FROM t; DELETE FROM t;")
    result = person.json("--ro", f"{directory}:/mnt/data", script, "/mnt/data/data.db")
    result.has_status("error", 1)
    contains(result.stdout, " 7\n", "stdout")
    contains(result["stderr"], "ERROR: attempt to write a readonly database", "stderr")
    equal(result["error"]["name"], "SQLITE_READONLY", "name")


@claim("sql binds arguments NAME=VALUE, numbers as numbers, and misses the others by name")
def parameters(person):
    code = "SELECT typeof(:a) AS a, typeof(@b) AS b, typeof($c) AS c, :d AS d"
    result = sql_json(person, code, "a=3", "b=-2.5", "c=007", "d=it's; --").is_ok()
    equal(tables(result)[0]["rows"], [["integer", "real", "text", "it's; --"]], "rows")
    ran = sql(person, "SELECT :missing").exits(1)
    equal(ran.err, "ERROR: parameter :missing has no value; give it as an argument: "
                   "missing=VALUE\nLINE 1: SELECT :missing\n", "stderr")


# ---- commands ------------------------------------------------------------------------------------


@claim("sql shows tables, columns, indexes, databases and schema by both families of commands")
def describes(person):
    code = PEOPLE + "CREATE INDEX by_score ON people(score);\n"
    for commands in ((".tables", ".describe people", ".indexes", ".databases"),
                     ("\\dt", "\\d people", "\\di", "\\l")):
        out = sql(person, code + "\n".join(commands)).ok().out
        contains(out, " main   | people | table |       3\n", "tables")
        contains(out, " name   | TEXT    |          |         | \n", "columns")
        contains(out, '    "by_score" (score)\n', "indexes of the table")
        contains(out, " by_score                  | people | score\n", "indexes")
        contains(out, " main | (in memory)\n", "databases")
    contains(sql(person, code + ".schema people").ok().out, "CREATE INDEX by_score", "schema")
    ran = sql(person, code + ".schema nobody").exits(1)
    contains(ran.err, "ERROR: there is no table 'nobody'\nLINE 6: .schema nobody\n", "stderr")
    contains(sql(person, ".help").ok().out, ".import FILE TABLE", "help")
    matches(sql(person, ".timer on\nSELECT 1;").ok().out, r"\nTime: \d+\.\d{3} ms\n$", "timer")


@claim("sql dumps a database that makes the same one again")
def dumps(person):
    code = PEOPLE + """
        CREATE TABLE odd("a ""b" BLOB, n REAL, t TEXT, g AS (n + 1));
        INSERT INTO odd VALUES (x'00ff', 0.1 + 0.2, 'it''s' || char(0, 10));
        CREATE TABLE counted(id INTEGER PRIMARY KEY AUTOINCREMENT);
        INSERT INTO counted VALUES (41); DELETE FROM counted;
        CREATE VIRTUAL TABLE words USING fts5(w); INSERT INTO words VALUES ('hello world');
        CREATE TRIGGER t AFTER INSERT ON people BEGIN DELETE FROM odd; END;
        CREATE VIEW v AS SELECT name FROM people -- comment
        ;
        .dump"""
    dump = sql(person, code.replace("        .dump", ".dump"), "--max-output", "1M").ok().out
    dump = dump[dump.index("PRAGMA"):]
    db = sqlite3.connect(":memory:")
    db.executescript(dump)
    equal(db.execute('SELECT * FROM odd').fetchall(),
          [(b"\x00\xff", 0.30000000000000004, "it's\x00\n", 1.3)], "odd")
    equal(db.execute("SELECT count(*) FROM v").fetchall(), [(3,)], "view")
    equal(db.execute("SELECT seq FROM sqlite_sequence").fetchall(), [(41,)], "sequence")
    equal(db.execute("SELECT w FROM words('hello')").fetchall(), [("hello world",)], "words")


@claim("sql imports all of a CSV file or nothing")
def imports(person):
    person.write(person.path("bad.csv"), 'a,b\n1,"x,\n""y"""\n3\n')
    ran = sql(person, ".bail off\n.import bad.csv t\nSELECT count(*) AS n FROM pragma_table_list "
                      "WHERE name = 't';", "--file", person.path("bad.csv")).exits(1)
    contains(ran.err, "cannot import 'bad.csv': line 4 has 1 fields where there are 2", "stderr")
    contains(ran.out, " 0\n", "stdout")
    ran = sql(person, ".import nowhere.csv t").exits(1)
    contains(ran.err, "cannot read 'nowhere.csv': No such file", "stderr")


@claim("sql has regular expressions, JSON, full text search and mathematics")
def functions(person):
    result = sql_json(person, """
        CREATE VIRTUAL TABLE d USING fts5(x); INSERT INTO d VALUES ('a quick fox');
        SELECT 'abc1' REGEXP '^[a-c]+[0-9]$' AS re, regexp_substr('k=v', 'k=(.)') AS sub,
               regexp_replace('a-b-c', '-(.)', '<\\1>') AS rep, json_extract('{"a":[1]}', '$.a[0]')
               AS js, (SELECT count(*) FROM d('quick')) AS fts, round(sqrt(2), 3) AS root,
               (SELECT median(column1) FROM (VALUES (1), (9), (2))) AS med;""").is_ok()
    equal(tables(result)[0]["rows"], [[1, "v", "a<b><c>", 1, 1, 1.414, 2.0]], "rows")
    ran = sql(person, "SELECT 'a' REGEXP '('").exits(1)
    contains(ran.err, "ERROR: regular expression '(':", "stderr")


# ---- errors --------------------------------------------------------------------------------------


@claim("sql shows where a syntax error is and runs nothing after it")
def syntax(person):
    result = sql_json(person, "SELECT 'first';\n\nSELECT *\n\tFORM people;\nSELECT 'later';")
    result.has_status("error", 1)
    equal(result["stderr"], 'ERROR: near "FORM": syntax error\n'
                            "LINE 4:         FORM people;\n"
                            "                ^\n", "stderr")
    lacks(result.stdout, "later", "stdout")
    error = result["error"]
    equal((error["kind"], error["line"], error["column"]), ("syntax", 4, 2), "error")
    equal(error["value"], 'near "FORM": syntax error', "value")
    equal(error["traceback"][0]["source"], "\tFORM people;", "source")
    equal(error["traceback"][0]["file"], "main.sql", "file")
    equal([output["type"] for output in result["outputs"]], ["display"], "outputs")


@claim("sql points at the word that a runtime error is about")
def runtime(person):
    cases = {
        "SELECT a\nFROM  missing;": ("no such table: missing", 2, 7),
        "SELECT lenght('x');": ("no such function: lenght", 1, 8),
        "CREATE TABLE t(a);\nSELECT ü, t.b FROM t;": ("no such column: ü", 2, 8),
        "CREATE TABLE t(a);\nINSERT INTO t(a, bb) VALUES (1, 2);":
            ("table t has no column named bb", 2, 18),
    }
    for code, (text, line, column) in cases.items():
        error = sql_json(person, code).has_status("error", 1)["error"]
        equal((error["kind"], error["value"], error["line"], error["column"]),
              ("runtime", text, line, column), code)
    error = sql_json(person, PEOPLE + "INSERT INTO people(name) VALUES\n('Zoë');")["error"]
    equal((error["name"], error["value"], error["line"]),
          ("SQLITE_CONSTRAINT_UNIQUE", "UNIQUE constraint failed: people.name", 5), "error")


@claim("sql goes on after an error when told so, and still fails")
def bail(person):
    ran = sql(person, ".bail off\nSELECT (1;\nSELECT 'open;").exits(1)
    contains(ran.err, "ERROR: incomplete input\nLINE 2: SELECT (1;\n", "stderr")
    contains(ran.err, "ERROR: unrecognized token", "stderr")
    ran = sql(person, ".bail off\nSELECT nothing;\nSELECT 'later';").exits(1)
    contains(ran.out, " later\n", "stdout")


@claim("sql names the file of an error in a script that another one reads")
def reads(person):
    person.write(person.path("inner.sql"), "SELECT 1;\nSELEC 2;\n")
    result = sql_json(person, ".read inner.sql\nSELECT 'later';", "--file",
                      person.path("inner.sql")).has_status("error", 1)
    contains(result["stderr"], "LINE 2 of inner.sql: SELEC 2;\n", "stderr")
    equal(result["error"]["traceback"][0]["file"], "inner.sql", "file")
    equal(result["stderr"].count("ERROR"), 1, "errors")
    person.write(person.path("self.sql"), ".read self.sql\n")
    ran = person.run(person.path("self.sql")).exits(1)
    contains(ran.err, "without end", "stderr")


@claim("sql cannot load extensions, and its limits are the cell's")
def limits(person):
    ran = sql(person, "SELECT load_extension('/usr/lib/x.so')").exits(1)
    contains(ran.err, "ERROR: not authorized", "stderr")
    forever = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
    sql_json(person, forever + "SELECT count(*) FROM n", "-t", "0.5").has_status("timeout", 124)
    result = sql_json(person, forever + "SELECT group_concat(i, 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx')"
                                        " FROM n", "-m", "32M", "-t", "20")
    check(result.status in ("oom", "error"), "status", result.status)
    result = sql_json(person, "ATTACH 'big.db' AS b; CREATE TABLE b.t AS " + forever
                      + "SELECT zeroblob(65536) FROM n", "--disk", "4M", "-t", "20")
    matches(result["stderr"], r"ERROR: (disk I/O error|database or disk is full): "
                              r"(File too large|No space left on device)\n", "stderr")
    contains(result.denial("disk")["option"], "--disk", "option")


@claim("sql refuses a script that is no text, and arguments it does not understand")
def refuses(person):
    person.write(person.path("x.sql"), b"SELECT 1\0;")
    contains(person.run(person.path("x.sql")).exits(1).err, "has a NUL byte", "stderr")
    contains(sql(person, "SELECT 1", "one.db", "two.db").exits(2).err, "usage:", "stderr")
    contains(sql(person, "SELECT 1", "nowhere/one.db").exits(1).err,
             "ERROR: cannot open the database 'nowhere/one.db'", "stderr")
