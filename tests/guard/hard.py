# SPDX-License-Identifier: Apache-2.0
"""Programs that are hard to cut into words: where a string, a comment or a bracket begins and ends."""

SHELL = [
    "x=$(( 1 << 2 )); echo $x\n", "echo ${x:-')'} \"${y:-\"}\"}\"\n", "cat <<'E' | tr a b\n$(rm -rf /)\nE\necho a\n",
    "cat <<-E\n\ta `b` $(c)\n\tE\n", "case $1 in a) echo b;; *) echo \"c)\";; esac\n", "f() { echo $#; }; f # it's\n",
    "echo a#b '#' \"#\" # c'\n", "echo $'a\\'b' \"$(echo \")\")\"\n", "[[ $a =~ ^(b|c)$ ]] && echo \"d\"\n",
    "for ((i=0; i<3; i++)); do echo $((i<<1)); done\n", "a=(1 2 \"3 4\"); echo ${a[@]} ${#a[@]}\n",
    "echo `echo \\`echo a\\``\n", "cat <(echo a) >(cat)\n", "if true; then echo a; elif false; then :; fi\n",
    "echo ${x//\\'/a} ${x#\\#} ${x%%)*}\n", "cat <<A <<B\na\nA\nb\nB\n", "echo \\\n a \\\n b\n", "x='a\nb' y=\"c\nd\"; echo\n",
    "echo $\"a\" ${x+\"$(echo '}')\"}\n", "(( x = y << 1 )); let x=1\n", "coproc cat; echo {a,b}\n",
]
SQL = [
    "SELECT 'it''s'; SELECT \"a\"\"b\", [c d], `e`;\n", "CREATE TRIGGER t AFTER INSERT ON a BEGIN UPDATE b SET c=1; END;\n",
    "CREATE TRIGGER t AFTER INSERT ON a BEGIN SELECT CASE WHEN 1 THEN 2 END; DELETE FROM b WHERE 1; END;\n",
    "/* a ; ' */ SELECT 1; -- b ' ;\n", "SELECT '\n.shell x';\n", ".tables\nSELECT 1;\n", "WITH a AS (SELECT 1) SELECT * FROM a;\n",
    "INSERT INTO a VALUES (x'00', 1e5, ?1, :b, @c, $d);\n", "EXPLAIN QUERY PLAN SELECT 1;\n", "BEGIN; COMMIT; END;\n",
    "CREATE TEMP TRIGGER IF NOT EXISTS t BEFORE DELETE ON a BEGIN SELECT 1; END;\n", "SELECT 1 /* open\n",
    "CREATE TABLE case_(a, \"end\"); SELECT CASE 1 WHEN 1 THEN 2 END;\n", "PRAGMA foreign_keys = on;\n",
]
JAVASCRIPT = [
    "const a = /[/'`]/.test('x') / 2;\n", "if (a) /'/.exec(b);\nlet c = (1) / 2 / 3;\n", "x = `a${`b${1}`}c`;\n",
    "const f = () => ({}) / 2;\n", "a++ / 2; b = a++\n/1/g;\n", "x = {a: /'/}; y = [1] / 2;\n", "<!-- it's `\nlet z = 1;\n",
    "label: { break label; }\n/'/.test('a');\n", "function g() {}\n/`/.exec('a');\n", "const t = String.raw`\\u{`;\n",
    "class A { #p = 1; get [`x`]() { return this.#p / 2; } }\n", "s = 'a\\\nb' + \"c'd\"; // it's `\n", "x = a ? /'/ : b / c;\n",
    "for (const k of /a'b/[Symbol.match] ? [] : []) {}\n", "y = x\n/* ` */ / 2;\n", "z = (function () {}) / 1;\n",
    "do /'/.test(a); while (0)\n", "async () => { await /'/ ; }\n", "v = typeof /`/ ; w = void /'/;\n", "--> it's `\n",
]
SEEDS = {"shell": SHELL, "sql": SQL, "javascript": JAVASCRIPT}
