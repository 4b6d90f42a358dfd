# SPDX-License-Identifier: Apache-2.0
"""The guard's look at a shell script: which programs it starts, and what would do harm.

`python3 check.py FILE`. The script is read as the shell reads it, as far as that can be done without
running it: quotes, comments, here-documents, substitutions and pipes are understood, values of
variables are not. A word that is only known when it runs is told as such.
"""
import re
import sys

from tell import Report, read_code

# rule -> in `standard`, in `strict`
RULES = {
    "destructive": ("warn", "block"),    # what cannot be undone
    "privilege": ("warn", "block"),      # asks for more rights
    "network": ("warn", "block"),        # talks to the network
    "remote-code": ("warn", "block"),    # runs what it downloads
    "fork-bomb": ("warn", "block"),      # starts itself without end
    "dynamic-code": ("info", "block"),   # text becomes code
    "interpreter": (None, "block"),      # another language, which nobody looked at
    "command-unlisted": (None, "block"),  # not on the list of `strict`
    "command-dynamic": ("info", "block"),  # only known when it runs
}
WRAPPERS = {"sudo", "doas", "env", "nice", "nohup", "time", "timeout", "xargs", "exec", "command",
            "builtin", "stdbuf", "setsid", "ionice", "then", "else", "do", "!", "if", "while",
            "until", "elif", "{", "("}
PRIVILEGE = {"sudo", "su", "doas", "pkexec", "chroot", "unshare", "nsenter", "insmod", "modprobe",
             "mount", "umount", "setcap", "sysctl", "iptables", "nft"}
NETWORK = {"curl", "wget", "nc", "ncat", "netcat", "socat", "ssh", "scp", "sftp", "rsync", "telnet",
           "ftp", "dig", "nslookup", "ping", "nmap", "git"}
INTERPRETERS = {"python", "python3", "perl", "ruby", "node", "php", "lua", "awk", "gawk", "mawk", "sh",
                "bash", "dash", "zsh", "ksh", "tclsh", "gcc", "cc", "make"}
SHELLS = {"sh", "bash", "dash", "zsh", "ksh", "python", "python3", "perl", "ruby", "node", "php"}
CODE = {"eval": "makes code of text", "source": "runs another file", ".": "runs another file",
        "trap": "keeps code for later", "alias": "makes code of text"}
LISTED = set("""
: [ [[ alias basename bc break case cat cd cksum cmp comm continue cp cut date declare diff dirname
echo egrep esac exit export expand expr factor false fgrep fi file find fmt fold for function getopts
grep gunzip gzip hash head id in join jq let local ls md5sum mkdir mapfile mktemp mv nl numfmt od
paste popd pr printf pushd pwd read readarray readonly realpath return rev sed select seq set sha1sum
sha256sum shift shopt shuf sleep sort split stat sum tac tail tar tee test touch tr true tsort type
typeset ulimit umask unalias uname unexpand uniq unset wait wc which whoami xargs yes done column
""".split())
KEYWORDS = {"if", "then", "elif", "else", "while", "until", "do", "{", "!", "time"}
ENDS = {"fi", "done", "esac", "}", ";;", "in"}
ROOTS = re.compile(r"^(/|/\*|~|~/|~/\*|\$HOME/?\*?|\$\{HOME\}/?\*?|\.|\.\.|\*|/(etc|usr|bin|sbin|lib|boot|home"
                   r"|root|var|dev|proc|sys|opt)(/\*?)?)$")
DEVICE = re.compile(r"^/dev/(sd|hd|vd|xvd|nvme|mmcblk|mem|kmem|disk)")
ASSIGNMENT = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*(\[[^]]*\])?\+?=")
BOMB = re.compile(r"([A-Za-z_:.]\w*)\s*\(\s*\)\s*\{[^}]*\1\s*\|\s*\1\s*&")
DEPTH_MAX = 32


class Word:
    """A word of the script: its text without quotes, and whether part of it is only known later."""

    __slots__ = ("text", "line", "column", "is_dynamic", "is_operator")

    def __init__(self, text, line, column, is_dynamic=False, is_operator=False):
        self.text, self.line, self.column = text, line, column
        self.is_dynamic, self.is_operator = is_dynamic, is_operator


class Reader:
    """Cuts a script into words and operators; what is inside of substitutions is read as well."""

    def __init__(self, text, line=1, column=1, depth=0):
        self.text, self.at, self.line, self.start = text, 0, line, 0
        self.first_column, self.depth = column, depth
        self.words, self.inner, self.documents = [], [], []

    def column(self, at):
        return at - self.start + (self.first_column if self.start == 0 else 1)

    def newline(self):
        self.line += 1
        self.start = self.at + 1

    def read(self):
        text, size = self.text, len(self.text)
        while self.at < size:
            char = text[self.at]
            if char == "\n":
                self.operator("\n")
                self.newline()
                self.at += 1
                self.skip_documents()
            elif char in " \t\r":
                self.at += 1
            elif char == "\\" and text[self.at + 1:self.at + 2] == "\n":
                self.at += 1
                self.newline()
                self.at += 1
            elif char == "#":
                end = text.find("\n", self.at)
                self.at = size if end < 0 else end
            elif text.startswith(("<<-", "<<"), self.at) and text[self.at + 2:self.at + 3] != "<":
                self.document()
            elif char in ";|&()":
                double = text[self.at:self.at + 2]
                is_double = double in (";;", "||", "&&", "|&", "&>")
                self.operator(double if is_double else char)
                self.at += 2 if is_double else 1
            elif char in "<>":
                self.redirection()
            else:
                self.word()
        return self

    def operator(self, text):
        self.words.append(Word(text, self.line, self.column(self.at), is_operator=True))

    def redirection(self):
        match = re.compile(r"<<<|>>|>\||<>|[<>]&|[<>]").match(self.text, self.at)
        if self.text[self.at + 1:self.at + 2] == "(":  # a process substitution
            begin = self.at + 2
            self.at = begin
            self.substitution(")")
            self.words.append(Word("", self.line, self.column(begin), True))
            return
        self.operator(match[0])
        self.at = match.end()

    def document(self):
        match = re.compile(r"<<-?\s*(['\"\\]?)([^\s'\"\\;|&<>()]+)['\"]?").match(self.text, self.at)
        if not match:
            self.at += 2
            return
        self.documents.append((match[2], self.text.startswith("<<-", self.at)))
        self.at = match.end()

    def skip_documents(self):
        for end, is_indented in self.documents:
            while self.at < len(self.text):
                stop = self.text.find("\n", self.at)
                stop = len(self.text) if stop < 0 else stop
                line = self.text[self.at:stop]
                self.at = stop
                if stop < len(self.text):
                    self.newline()
                    self.at += 1
                if (line.lstrip("\t") if is_indented else line).rstrip("\r") == end:
                    break
        self.documents = []

    def word(self):
        text, size = self.text, len(self.text)
        line, column, parts, is_dynamic = self.line, self.column(self.at), [], False
        while self.at < size and text[self.at] not in " \t\r\n;|&()<>":
            char = text[self.at]
            if char == "\\":
                parts.append(text[self.at + 1:self.at + 2])
                if text[self.at + 1:self.at + 2] == "\n":
                    parts.pop()
                    self.at += 1
                    self.newline()
                    self.at += 1
                else:
                    self.at += 2
            elif char == "'":
                end = text.find("'", self.at + 1)
                end = size if end < 0 else end
                parts.append(text[self.at + 1:end])
                self.skip_to(end + 1)
            elif char == '"':
                is_dynamic |= self.quoted(parts)
            elif char in "$`":
                is_dynamic |= self.dollar(parts)
            else:
                parts.append(char)
                self.at += 1
        self.words.append(Word("".join(parts), line, column, is_dynamic))

    def skip_to(self, end):
        end = min(end, len(self.text))
        while self.at < end:
            if self.text[self.at] == "\n":
                self.newline()
            self.at += 1

    def quoted(self, parts):
        text, size, is_dynamic = self.text, len(self.text), False
        self.at += 1
        while self.at < size and text[self.at] != '"':
            char = text[self.at]
            if char == "\\":
                parts.append(text[self.at + 1:self.at + 2])
                self.skip_to(self.at + 2)
            elif char in "$`":
                is_dynamic |= self.dollar(parts)
            else:
                parts.append(char)
                self.skip_to(self.at + 1)
        self.at += 1
        return is_dynamic

    def dollar(self, parts):
        """$NAME, ${…}, $(…), `…`: kept as they are written, and read if they are commands."""
        text, begin = self.text, self.at
        if text[begin] == "`":
            self.at += 1
            self.substitution("`")
        elif text.startswith("$((", begin):
            end = text.find("))", begin)
            self.skip_to(len(text) if end < 0 else end + 2)
        elif text.startswith("$(", begin):
            self.at += 2
            self.substitution(")")
        elif text.startswith("${", begin):
            end = text.find("}", begin)
            self.skip_to(len(text) if end < 0 else end + 1)
        elif text.startswith("$'", begin):
            end = text.find("'", begin + 2)
            self.skip_to(len(text) if end < 0 else end + 1)
        else:
            match = re.compile(r"\$(\w+|[^\w\s])?").match(text, begin)
            self.at = match.end()
        parts.append(text[begin:self.at])
        return True

    def substitution(self, end):
        """Up to where the bracket closes."""
        begin, line, column, level = self.at, self.line, self.column(self.at), 1
        quote = None
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == "\\" and quote != "'":
                self.skip_to(self.at + 2)
                continue
            if quote:
                quote = None if char == quote else quote
            elif char in "'\"":
                quote = char
            elif end == ")" and char == "(":
                level += 1
            elif char == end:
                level -= 1
                if level == 0:
                    break
            self.skip_to(self.at + 1)
        self.inner.append((self.text[begin:self.at], line, column))
        self.at += 1


def commands(words):
    """The simple commands: lists of words, and what stands before each of them."""
    found, current, before, redirected = [], [], "", False
    for word in words:
        if word.is_operator and word.text in ("<", ">", ">>", ">|", "<>", "<&", ">&", "&>", "<<<"):
            redirected = word
            last = current[-1] if current else None
            if last and last.text.isdigit() and last.column + len(last.text) == word.column:
                current.pop()  # the descriptor
            continue
        if redirected:
            found.append(([redirected, word], "redirection"))
            redirected = False
            if not word.is_operator:
                continue
        if word.is_operator:
            if current:
                found.append((current, before))
            current, before = [], word.text
        else:
            current.append(word)
    if current:
        found.append((current, before))
    return found


class Check:
    def __init__(self, report):
        self.report = report
        self.functions = set()

    def say(self, rule, word, reason, command=None):
        self.report.say(rule, word.line, word.column, reason, command)

    def script(self, text, line=1, column=1, depth=0):
        if depth > DEPTH_MAX:
            self.report.say("command-dynamic", line, column, "substitutions are nested too deeply")
            return
        reader = Reader(text, line, column, depth).read()
        self.functions.update(re.findall(r"(?m)(?:^|[;\s])(?:function\s+)?([\w:.-]+)\s*\(\s*\)", text))
        self.functions.update(re.findall(r"(?m)\bfunction\s+([\w:.-]+)", text))
        is_fetching, case_depth = False, 0
        for words, before in commands(reader.words):
            if before == "redirection":
                self.redirection(*words)
                continue
            if before not in ("|", "|&"):
                is_fetching = False
            case_depth += sum(word.text == "case" for word in words[:1])
            case_depth -= sum(word.text == "esac" for word in words)
            name = self.command(words, is_fetching, before, case_depth > 0)
            is_fetching |= name in ("curl", "wget", "nc")
        for inner, inner_line, inner_column in reader.inner:
            self.script(inner, inner_line, inner_column, depth + 1)

    def redirection(self, operator, target):
        if operator.text.startswith((">", "&>")) and DEVICE.match(target.text):
            self.say("destructive", target, "writes to the device %s" % target.text)
        if target.text.startswith(("/dev/tcp/", "/dev/udp/")):
            self.say("network", target, "opens a connection: %s" % target.text)

    def command(self, words, is_fetching, before, is_case):
        words = list(words)
        while words and (words[0].text in KEYWORDS or ASSIGNMENT.match(words[0].text)):
            words.pop(0)
        if not words or words[0].text in ENDS:
            return None
        if words[0].text in ("for", "select", "case", "function"):
            return None
        first = words[0]
        name = first.text.rpartition("/")[2]
        if is_case and before in ("\n", ";;", "(", "in") and len(words) == 1:
            return None  # a pattern
        if first.is_dynamic:
            self.say("command-dynamic", first, "the command is only known when it runs: %s" % first.text)
            return None
        self.report.imports.add(name[:200])
        if name in self.functions:
            return name
        self.judge(name, first, words[1:], is_fetching)
        if name in ("sudo", "doas", "env", "nice", "nohup", "timeout", "xargs", "exec", "command", "stdbuf",
                    "setsid", "builtin"):
            rest = words[1:]
            while rest and (rest[0].text.startswith("-") or ASSIGNMENT.match(rest[0].text)
                            or name == "timeout" and re.match(r"^[\d.]+[smhd]?$", rest[0].text)):
                rest.pop(0)
            if rest:
                return self.command(rest, is_fetching, before, False)
        return name

    def judge(self, name, first, args, is_fetching):
        texts = [arg.text for arg in args]
        flags = "".join(text[1:] for text in texts if text.startswith("-") and not text.startswith("--"))
        if is_fetching and name in SHELLS:
            self.say("remote-code", first, "runs what was downloaded: … | %s" % name)
        if name == "rm" and ("r" in flags or "R" in flags or "--recursive" in texts):
            for arg in args:
                if ROOTS.match(arg.text) or "--no-preserve-root" == arg.text:
                    self.say("destructive", arg, "deletes a whole tree: rm %s" % " ".join(texts)[:80])
                    return
            self.say("destructive" if any(arg.is_dynamic for arg in args) else "command-unlisted", first,
                     "deletes a tree: rm %s" % " ".join(texts)[:80], "rm")
        elif name in ("chmod", "chown", "chgrp") and "R" in flags and any(map(ROOTS.match, texts)):
            self.say("destructive", first, "changes the rights of a whole tree: %s" % name)
        elif name == "dd" and any(text.startswith("of=/dev/") for text in texts) or \
                name.startswith("mkfs") or name in ("shred", "wipefs", "fdisk", "parted", "mkswap"):
            self.say("destructive", first, "overwrites a disk or file for good: %s" % name)
        elif name in ("shutdown", "reboot", "halt", "poweroff"):
            self.say("destructive", first, "stops the machine: %s" % name)
        elif name == "kill" and "-1" in texts[1:] or name == "killall":
            self.say("destructive", first, "ends processes of others: %s" % name)
        elif name == "find" and ("-delete" in texts or "-exec" in texts or "-execdir" in texts):
            self.say("dynamic-code", first, "find starts programs or deletes what it finds")
        elif name in PRIVILEGE:
            self.say("privilege", first, "asks for more rights: %s" % name, name)
        elif name in NETWORK:
            self.say("network", first, "talks to the network: %s" % name, name)
        elif name in CODE:
            if name not in ("trap", "alias") or self.report.is_strict:
                self.say("dynamic-code", first, "%s: %s" % (name, CODE[name]))
        elif name in INTERPRETERS:
            self.say("interpreter", first, "runs another language: %s" % name, name)
        elif name not in LISTED and name not in WRAPPERS:
            self.say("command-unlisted", first, "starts %s, which is not on the list of strict" % name, name)


def analyse(text, report):
    match = BOMB.search(text)
    if match:
        line = text.count("\n", 0, match.start()) + 1
        report.say("fork-bomb", line, match.start() - text.rfind("\n", 0, match.start()),
                   "a function that starts itself twice, without end")
    Check(report).script(text)
    report.findings.sort(key=lambda item: (item["line"], item["column"]))


if __name__ == "__main__":
    sys.setrecursionlimit(2000)
    told = Report(RULES)
    analyse(read_code(sys.argv[1]), told)
    told.tell()
