# SPDX-License-Identifier: Apache-2.0
"""Every language does what every language must: one table of small programs, one set of claims.

args     prints its arguments, joined by commas
stdin    copies its standard input to its standard output
exit     exits with 5
unicode  prints é€😀
big      prints 30000 lines of 0123456789
syntax   is wrong, and never runs
crash    fails while it runs; `trace` is what stderr then says
endless  never ends
memory   takes memory until there is none
copy     copies in.txt to out.txt
net      prints "connected" when it reaches 127.0.0.1:9; None where the language has no sockets
"""
import json

from suite import Skip, check, claim, contains, equal, lacks, matches

LINES = 30000
HELLO = "é€😀"

TABLE = {
    "python": {
        "args": "import sys; print(','.join(sys.argv[1:]))",
        "stdin": "import sys; sys.stdout.write(sys.stdin.read())",
        "exit": "raise SystemExit(5)", "unicode": f"print('{HELLO}')",
        "big": "for i in range(30000): print('0123456789')",
        "syntax": "print('no'\n", "crash": "def f():\n    return 1 / 0\nf()",
        "trace": "ZeroDivisionError", "endless": "while True: pass",
        "memory": "x = []\nwhile True: x.append(bytearray(1 << 20))",
        "copy": "open('out.txt', 'w').write(open('in.txt').read())",
        "net": "import socket\nsocket.create_connection(('127.0.0.1', 9))\nprint('connected')",
    },
    "javascript": {
        "args": "console.log(process.argv.slice(2).join(','))",
        "stdin": "process.stdout.write(require('fs').readFileSync(0, 'utf8'))",
        "exit": "process.exit(5)", "unicode": f"console.log('{HELLO}')",
        "big": "process.stdout.write('0123456789\\n'.repeat(30000))",
        "syntax": "console.log('no'\n", "crash": "function f() { return null.x }\nf()",
        "trace": "TypeError", "endless": "for (;;);",
        "memory": "const x = []; for (;;) x.push(Buffer.alloc(1 << 20, 1))",
        "copy": "const fs = require('fs'); fs.writeFileSync('out.txt', fs.readFileSync('in.txt'))",
        "net": "require('net').connect(9, '127.0.0.1', () => console.log('connected'))",
    },
    "typescript": {
        "args": "const a: string[] = process.argv.slice(2); console.log(a.join(','))",
        "stdin": "import * as fs from 'fs'; process.stdout.write(fs.readFileSync(0, 'utf8'))",
        "exit": "const n: number = 5; process.exit(n)",
        "unicode": f"const s: string = '{HELLO}'; console.log(s)",
        "big": "const s: string = '0123456789\\n'; process.stdout.write(s.repeat(30000))",
        "syntax": "let x: = 1\n", "crash": "function f(x: any): any { return x.y.z }\nf({})",
        "trace": "TypeError", "endless": "for (;;);",
        "memory": "const x: Buffer[] = []; for (;;) x.push(Buffer.alloc(1 << 20, 1))",
        "copy": "import * as fs from 'fs'; fs.writeFileSync('out.txt', fs.readFileSync('in.txt'))",
        "net": "import * as net from 'net';\n"
               "net.connect(9, '127.0.0.1', () => console.log('connected'))",
    },
    "bash": {
        "args": "IFS=,; echo \"$*\"", "stdin": "cat", "exit": "exit 5", "unicode": f"echo '{HELLO}'",
        "big": "for ((i = 0; i < 30000; i++)); do echo 0123456789; done",
        "syntax": "if then\n", "crash": "set -u; echo \"$nothing\"", "trace": "unbound variable",
        "endless": "while :; do :; done",
        "memory": "x=0123456789abcdef; while :; do x=$x$x; done", "copy": "cat in.txt > out.txt",
        "net": "exec 3<>/dev/tcp/127.0.0.1/9 && echo connected",
    },
    "sh": {
        "args": "IFS=,; echo \"$*\"", "stdin": "cat", "exit": "exit 5", "unicode": f"echo '{HELLO}'",
        "big": "i=0; while [ $i -lt 30000 ]; do echo 0123456789; i=$((i + 1)); done",
        "syntax": "if then\n", "crash": "set -u; echo \"$nothing\"", "trace": "parameter not set",
        "endless": "while :; do :; done",
        "memory": "x=0123456789abcdef; while :; do x=$x$x; done", "copy": "cat in.txt > out.txt",
        "net": None,
    },
    "zsh": {
        "args": "print -r -- ${(j:,:)@}", "stdin": "cat", "exit": "exit 5",
        "unicode": f"print '{HELLO}'", "big": "repeat 30000 print 0123456789",
        "syntax": "if then\n", "crash": "set -u; print $nothing", "trace": "parameter not set",
        "endless": "while :; do :; done",
        "memory": "x=0123456789abcdef; while :; do x=$x$x; done", "copy": "cat in.txt > out.txt",
        "net": "zmodload zsh/net/tcp && ztcp 127.0.0.1 9 && print connected",
    },
    "c": {
        "args": "#include <stdio.h>\nint main(int n, char **a) { for (int i = 1; i < n; i++)"
                " printf(\"%s%s\", i > 1 ? \",\" : \"\", a[i]); puts(\"\"); }",
        "stdin": "#include <stdio.h>\nint main(void) { int c; while ((c = getchar()) >= 0)"
                 " putchar(c); }",
        "exit": "int main(void) { return 5; }",
        "unicode": f"#include <stdio.h>\nint main(void) {{ puts(\"{HELLO}\"); }}",
        "big": "#include <stdio.h>\nint main(void) { for (int i = 0; i < 30000; i++)"
               " puts(\"0123456789\"); }",
        "syntax": "int main(void) { return 0 }\n",
        "crash": "#include <assert.h>\nint main(void) { int x = 1; assert(x == 2); }",
        "trace": "Assertion `x == 2' failed", "endless": "int main(void) { for (;;); }",
        "memory": "#include <stdlib.h>\n#include <string.h>\nint main(void) { for (;;) {"
                  " char *p = malloc(1 << 20); if (!p) return 1; memset(p, 1, 1 << 20); } }",
        "copy": "#include <stdio.h>\nint main(void) { FILE *i = fopen(\"in.txt\", \"r\"),"
                " *o = fopen(\"out.txt\", \"w\"); int c; while ((c = getc(i)) >= 0) putc(c, o);"
                " return fclose(o); }",
        "net": "#include <arpa/inet.h>\n#include <stdio.h>\nint main(void) {"
               " struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(9),"
               " .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };"
               " int s = socket(AF_INET, SOCK_STREAM, 0);"
               " if (s < 0 || connect(s, (void *)&a, sizeof(a))) return 1; puts(\"connected\"); }",
    },
    "cpp": {
        "args": "#include <iostream>\nint main(int n, char **a) { for (int i = 1; i < n; i++)"
                " std::cout << (i > 1 ? \",\" : \"\") << a[i]; std::cout << '\\n'; }",
        "stdin": "#include <iostream>\nint main() { std::cout << std::cin.rdbuf(); }",
        "exit": "int main() { return 5; }",
        "unicode": f"#include <cstdio>\nint main() {{ std::puts(\"{HELLO}\"); }}",
        "big": "#include <cstdio>\nint main() { for (int i = 0; i < 30000; i++)"
               " std::puts(\"0123456789\"); }",
        "syntax": "int main() { return 0 }\n",
        "crash": "#include <stdexcept>\nint main() { throw std::runtime_error(\"boom\"); }",
        "trace": "what():  boom", "endless": "int main() { for (volatile int i = 0;;) i = 1; }",
        "memory": "#include <cstring>\n#include <vector>\nint main() {"
                  " std::vector<std::vector<char>> x; for (;;) x.emplace_back(1 << 20, 'x'); }",
        "copy": "#include <fstream>\nint main() { std::ofstream(\"out.txt\")"
                " << std::ifstream(\"in.txt\").rdbuf(); }",
        "net": "#include <arpa/inet.h>\n#include <cstdio>\nint main() { sockaddr_in a{};"
               " a.sin_family = AF_INET; a.sin_port = htons(9);"
               " a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);"
               " int s = socket(AF_INET, SOCK_STREAM, 0);"
               " if (s < 0 || connect(s, (sockaddr *)&a, sizeof(a))) return 1;"
               " std::puts(\"connected\"); }",
    },
    "go": {
        "args": "fmt.Println(strings.Join(os.Args[1:], \",\"))",
        "stdin": "io.Copy(os.Stdout, os.Stdin)", "exit": "os.Exit(5)",
        "unicode": f"fmt.Println(\"{HELLO}\")",
        "big": "for i := 0; i < 30000; i++ {\n\tfmt.Println(\"0123456789\")\n}",
        "syntax": "package main\nfunc main() { x := }\n",
        "crash": "package main\nfunc main() {\n\tvar m map[string]int\n\tm[\"x\"] = 1\n}",
        "trace": "main.go:4", "endless": "for {\n}",
        "memory": "var x [][]byte\nfor {\n\tb := make([]byte, 1<<20)\n\tfor i := range b {\n"
                  "\t\tb[i] = 1\n\t}\n\tx = append(x, b)\n}",
        "copy": "b, _ := os.ReadFile(\"in.txt\")\nos.WriteFile(\"out.txt\", b, 0644)",
        "net": "if _, err := net.Dial(\"tcp\", \"127.0.0.1:9\"); err != nil {\n\tlog.Fatal(err)\n}\n"
               "fmt.Println(\"connected\")",
    },
    "rust": {
        "args": "fn main() { let a: Vec<String> = std::env::args().skip(1).collect();"
                " println!(\"{}\", a.join(\",\")); }",
        "stdin": "fn main() { std::io::copy(&mut std::io::stdin(), &mut std::io::stdout()).unwrap(); }",
        "exit": "fn main() { std::process::exit(5) }",
        "unicode": f"fn main() {{ println!(\"{HELLO}\"); }}",
        "big": "fn main() { for _ in 0..30000 { println!(\"0123456789\"); } }",
        "syntax": "fn main() { let x = ; }\n",
        "crash": "fn main() { let v: Vec<i32> = vec![]; println!(\"{}\", v[std::env::args().count()]); }",
        "trace": "panicked at", "endless": "fn main() { loop { std::hint::spin_loop() } }",
        "memory": "fn main() { let mut x = vec![]; loop { x.push(vec![1u8; 1 << 20]); } }",
        "copy": "fn main() { std::fs::copy(\"in.txt\", \"out.txt\").unwrap(); }",
        "net": "fn main() { std::net::TcpStream::connect(\"127.0.0.1:9\").unwrap();"
               " println!(\"connected\"); }",
    },
    "java": {
        "args": "class A { public static void main(String[] a) {"
                " System.out.println(String.join(\",\", a)); } }",
        "stdin": "class A { public static void main(String[] a) throws Exception {"
                 " System.in.transferTo(System.out); System.out.flush(); } }",
        "exit": "class A { public static void main(String[] a) { System.exit(5); } }",
        "unicode": "class A { public static void main(String[] a) { System.out.println(\"" + HELLO
                   + "\"); } }",
        "big": "class A { public static void main(String[] a) {"
               " System.out.print(\"0123456789\\n\".repeat(30000)); } }",
        "syntax": "public class B { void f() { int x = ; } }\n",
        "crash": "public class B { public static void main(String[] a) { a[0].length(); } }",
        "trace": "ArrayIndexOutOfBoundsException",
        "endless": "class A { public static void main(String[] a) { for (;;); } }",
        "memory": "class A { public static void main(String[] a) {"
                  " var x = new java.util.ArrayList<byte[]>(); for (;;) x.add(new byte[1 << 20]); } }",
        "copy": "import java.nio.file.*; class A { public static void main(String[] a)"
                " throws Exception { Files.copy(Path.of(\"in.txt\"), Path.of(\"out.txt\")); } }",
        "net": "class A { public static void main(String[] a) throws Exception {"
               " new java.net.Socket(\"127.0.0.1\", 9); System.out.println(\"connected\"); } }",
    },
    "ruby": {
        "args": "puts ARGV.join(',')", "stdin": "print $stdin.read", "exit": "exit 5",
        "unicode": f"puts '{HELLO}'", "big": "30000.times { puts '0123456789' }",
        "syntax": "puts (\n", "crash": "def f = nil.size\nf", "trace": "NoMethodError",
        "endless": "loop { }", "memory": "x = []\nloop { x << 'x' * (1 << 20) }",
        "copy": "File.write('out.txt', File.read('in.txt'))",
        "net": "require 'socket'; TCPSocket.new('127.0.0.1', 9); puts 'connected'",
    },
    "perl": {
        "args": "print join(',', @ARGV), \"\\n\"", "stdin": "print while <STDIN>", "exit": "exit 5",
        "unicode": f"print \"{HELLO}\\n\"", "big": "print \"0123456789\\n\" for 1..30000",
        "syntax": "print (\n", "crash": "sub f { die 'boom' } f()", "trace": "boom at",
        "endless": "1 while 1", "memory": "my @x; push @x, 'x' x (1 << 20) while 1",
        "copy": "use File::Copy; copy('in.txt', 'out.txt')",
        "net": "use IO::Socket::INET; IO::Socket::INET->new(PeerAddr => '127.0.0.1:9') or die $@;"
               " print 'connected'",
    },
    "lua": {
        "args": "print(table.concat(arg, ','))", "stdin": "io.write(io.read('a'))",
        "exit": "os.exit(5)", "unicode": f"print('{HELLO}')",
        "big": "for i = 1, 30000 do print('0123456789') end", "syntax": "print(\n",
        "crash": "local x\nprint(x.y)", "trace": "attempt to index a nil value",
        "endless": "while true do end",
        "memory": "local x = {} while true do x[#x + 1] = string.rep(tostring(#x), 1 << 18) end",
        "copy": "io.open('out.txt', 'w'):write(io.open('in.txt'):read('a'))", "net": None,
    },
    "php": {
        "args": "<?php echo implode(',', array_slice($argv, 1)), \"\\n\";",
        "stdin": "<?php echo stream_get_contents(STDIN);", "exit": "<?php exit(5);",
        "unicode": f"<?php echo \"{HELLO}\\n\";",
        "big": "<?php echo str_repeat(\"0123456789\\n\", 30000);", "syntax": "<?php echo (;\n",
        "crash": "<?php function f() { throw new Exception('boom'); } f();", "trace": "boom",
        "endless": "<?php while (true);",
        "memory": "<?php $x = []; while (true) $x[] = str_repeat('x', 1 << 20);",
        "copy": "<?php copy('in.txt', 'out.txt');",
        "net": "<?php if (fsockopen('127.0.0.1', 9)) echo 'connected'; else exit(1);",
    },
    "r": {
        "args": "cat(commandArgs(TRUE), sep = ','); cat('\\n')",
        "stdin": "writeLines(readLines(file('stdin')))", "exit": "quit(status = 5)",
        "unicode": f"cat('{HELLO}\\n')", "big": "cat(rep('0123456789\\n', 30000), sep = '')",
        "syntax": "cat((\n)\n", "crash": "f <- function() stop('boom')\nf()", "trace": "boom",
        "endless": "repeat {}", "memory": "x <- list(); repeat x[[length(x) + 1]] <- runif(1e5)",
        "copy": "invisible(file.copy('in.txt', 'out.txt'))",
        "net": "x <- socketConnection('127.0.0.1', 9); cat('connected')",
    },
    "tcl": {
        "args": "puts [join $argv ,]", "stdin": "puts -nonewline [read stdin]", "exit": "exit 5",
        "unicode": f"puts {HELLO}", "big": "for {set i 0} {$i < 30000} {incr i} {puts 0123456789}",
        "syntax": "puts \"no\n", "crash": "proc f {} {error boom}\nf", "trace": "boom",
        "endless": "while 1 {}", "memory": "while 1 {lappend x [string repeat [incr i] 200000]}",
        "copy": "file copy in.txt out.txt", "net": "socket 127.0.0.1 9; puts connected",
    },
    "awk": {
        "args": "BEGIN { for (i = 1; i < ARGC; i++) printf \"%s%s\", (i > 1 ? \",\" : \"\"), ARGV[i];"
                " print \"\"; exit }",
        "stdin": "{ print }", "exit": "BEGIN { exit 5 }", "unicode": f"BEGIN {{ print \"{HELLO}\" }}",
        "big": "BEGIN { for (i = 0; i < 30000; i++) print \"0123456789\" }",
        "syntax": "BEGIN { print ( }\n", "crash": "BEGIN { print substr(\"x\", 1) > \"/nowhere/x\" }",
        "trace": "/nowhere/x", "endless": "BEGIN { for (;;); }",
        "memory": "BEGIN { for (;;) x[i++] = sprintf(\"%200000d\", i) }",
        "copy": "BEGIN { while ((getline l < \"in.txt\") > 0) print l > \"out.txt\" }",
        "net": "BEGIN { print \"x\" |& \"/inet/tcp/0/127.0.0.1/9\"; print \"connected\" }",
    },
    "ocaml": {
        "args": "print_endline (String.concat \",\" (List.tl (Array.to_list Sys.argv)))",
        "stdin": "try while true do print_endline (read_line ()) done with End_of_file -> ()",
        "exit": "exit 5", "unicode": f"print_endline \"{HELLO}\"",
        "big": "for _ = 1 to 30000 do print_endline \"0123456789\" done", "syntax": "let = ;;\n",
        "crash": "let f () = failwith \"boom\" ;; f ()", "trace": "boom",
        "endless": "while true do () done",
        "memory": "let x = ref [] ;; while true do x := Bytes.make (1 lsl 20) 'x' :: !x done",
        "copy": "let i = open_in \"in.txt\" ;; let o = open_out \"out.txt\" ;;"
                " output_string o (input_line i ^ \"\\n\") ;; close_out o",
        "net": None,
    },
}
COMPILED = {"c", "cpp", "go", "rust", "java"}
ELSEWHERE = {"sql"}  # no arguments, no input, no end: it has claims of its own


def available(person):
    return {entry["name"]: entry
            for entry in json.loads(person.call("languages", "--json", timeout=120).ok().out)}


def need(person, name):
    entry = available(person).get(name)
    if not entry:
        raise Skip(f"there is no language '{name}'")
    if not entry["available"]:
        raise Skip(f"needs the package {entry['package']}")


def declare(name, programs):
    def run(person, key, *args, argv=(), **kwargs):
        need(person, name)
        return person.run("-l", name, *args, "-c", programs[key], *argv, **kwargs)

    def tell(person, key, *args, **kwargs):
        need(person, name)
        return person.json("-l", name, *args, "-c", programs[key], **kwargs)

    @claim(f"{name} gets its arguments")
    def gets_arguments(person):
        equal(run(person, "args", argv=("a", "b c", "é")).ok().out, "a,b c,é\n", "stdout")

    @claim(f"{name} reads its input")
    def reads_input(person):
        ran = run(person, "stdin", "--stdin", "-", stdin="one\nzwölf\n".encode()).ok()
        equal(ran.out, "one\nzwölf\n", "stdout")

    @claim(f"{name} passes its exit code on")
    def exits(person):
        run(person, "exit").exits(5)

    @claim(f"{name} speaks UTF-8 and tells what it is in the result")
    def speaks(person):
        result = tell(person, "unicode").is_ok()
        equal((result["stdout"], result["stderr"]), (HELLO + "\n", ""), "output")
        equal(result.meta["language"], name, "meta.language")
        equal(result.meta["compile"] is not None, name in COMPILED, "meta.compile is there")

    @claim(f"{name} writes a lot, whole")
    def writes(person):
        check(run(person, "big").ok().out == "0123456789\n" * LINES, "the output changed")

    @claim(f"{name} that is not well formed never runs")
    def malformed(person):
        result = tell(person, "syntax").has_status("error")
        equal(result["stdout"], "", "stdout")
        check(result["stderr"], "nothing on stderr")
        check(result["error"]["message"], "no message")
        if name in COMPILED:
            equal(result["error"]["kind"], "syntax", "kind")
            contains(result["stderr"], "Main." if name == "java" else "main.", "stderr")

    @claim(f"{name} that fails while it runs says why")
    def fails(person):
        result = tell(person, "crash")
        check(result.status in ("error", "signal"), "status is", result.status)
        check(result["exit_code"] != 0, "exit code 0")
        contains(result["stderr"], programs["trace"], "stderr")
        equal(result["error"]["kind"], "runtime", "kind")

    @claim(f"{name} that never ends is ended")
    def ends(person):
        result = tell(person, "endless", "-t", "0.8").has_status("timeout", 124)
        matches(result["error"]["message"], "^Code execution timed out after 0.8s$", "message")

    @claim(f"{name} cannot have more memory than it was given")
    def fills(person):
        size = "160M" if name in ("java", "javascript", "typescript", "r") else "64M"
        result = tell(person, "memory", "-m", size, "-t", "20", timeout=90)
        check(result.status in ("oom", "error", "signal"), "status is", result.status,
              result["stderr"])
        check(result["exit_code"] != 0, "exit code 0")

    @claim(f"{name} reads a file that came in and leaves one to take out")
    def copies(person):
        person.write(person.path("in.txt"), "hätte\n")
        run(person, "copy", "--file", "in.txt", "--out", "out.txt:got").ok()
        with open(person.path("got/out.txt"), encoding="utf-8") as file:
            equal(file.read(), "hätte\n", "out.txt")

    if programs["net"]:
        @claim(f"{name} has no network")
        def alone(person):
            result = tell(person, "net")
            lacks(result["stdout"], "connected", "stdout")
            result.denial("network")


for language_name, language_programs in TABLE.items():
    declare(language_name, language_programs)


@claim("every language that is listed is tried")
def all_tried(person):
    strange = set(available(person)) - set(TABLE) - ELSEWHERE
    check(not strange, "no programs here for", sorted(strange))
