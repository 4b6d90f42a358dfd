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
    "not-analysed": ("warn", "block"),   # a quote, bracket or here-document without an end
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
REDIRECTION = re.compile(r"<<<|>>|>\||<>|[<>]&|[<>]")
PARAMETER = re.compile(r"\$(\w+|[@*#?$!-])?")
EXPANSION = re.compile(r"\$\{[!#]?(?:\w+|[@*#?$!-])?(?:\[[^]\n]*\])?(##?|%%?|//?|\^\^?|,,?|@)?")
ARRAY = re.compile(r"^[A-Za-z_]\w*(\[[^]]*\])?\+?=$")
DEPTH_MAX = 32


class Word:
    """A word of the script: its text without quotes, and whether part of it is only known later."""

    __slots__ = ("text", "line", "column", "is_dynamic", "is_operator")

    def __init__(self, text, line, column, is_dynamic=False, is_operator=False):
        self.text, self.line, self.column = text, line, column
        self.is_dynamic, self.is_operator = is_dynamic, is_operator


class Reader:
    """Cuts a script into words and operators. What is inside of a substitution is read by a reader of
    its own, in the same text, up to the bracket that closes it."""

    def __init__(self, text, at=0, line=1, start=0, depth=0, stop=None):
        self.text, self.at, self.line, self.start = text, at, line, start
        self.depth, self.stop = depth, stop
        self.words, self.inner, self.documents = [], [], []
        self.open = []  # brackets and cases that are not closed yet
        self.is_data = False  # the words of an array are no commands
        self.is_test = False  # between [[ and ]]
        self.lost = 0  # the line in which something begins that does not end; 0: none

    def column(self, at):
        return at - self.start + 1

    def skip_to(self, end):
        """Goes there, and counts lines."""
        end = min(end, len(self.text))
        newline = self.text.find("\n", self.at, end)
        while newline >= 0:
            self.line += 1
            self.start = newline + 1
            newline = self.text.find("\n", newline + 1, end)
        self.at = max(self.at, end)

    def skip_past(self, mark, begin):
        """Behind the next one of these."""
        end = self.text.find(mark, begin)
        if end < 0:
            self.lost = self.line
        self.skip_to(len(self.text) if end < 0 else end + len(mark))
        return len(self.text) if end < 0 else end

    def close(self):
        """The mark that ends a quote or a bracket is here."""
        if self.at >= len(self.text):
            self.lost = self.line
        self.at += 1

    def char(self, offset=0):
        return self.text[self.at + offset:self.at + offset + 1]

    # ---- tokens

    def read(self):
        text, size = self.text, len(self.text)
        is_over = False
        while self.at < size and not is_over:
            is_over = self.step(text[self.at])
        if self.documents or self.stop and not is_over:
            self.lost = self.lost or self.line
        return self

    def step(self, char):
        """One token; True: the bracket that ends all of it."""
        if char == "\n":
            self.operator("\n")
            self.skip_to(self.at + 1)
            self.read_documents()
        elif char in " \t":
            self.at += 1
        elif char == "\\" and self.char(1) == "\n":
            self.skip_to(self.at + 2)
        elif char == "#":
            end = self.text.find("\n", self.at)
            self.at = len(self.text) if end < 0 else end
        elif self.is_test and char in "()|&<>":
            self.at += 1
        elif self.text.startswith("<<", self.at) and self.char(2) != "<":
            self.document()
        elif self.text.startswith("((", self.at) and self.arithmetic_command():
            pass
        elif char in ";|&()":
            return self.bracket(char)
        elif char in "<>":
            self.redirection()
        else:
            self.word()
        return False

    def bracket(self, char):
        if char == ")" and not self.open and self.stop == ")":
            self.at += 1
            return True
        if char == "(":
            self.open.append("(")
        elif char == ")" and self.open and self.open[-1] == "(":
            self.open.pop()
        double = self.text[self.at:self.at + 2]
        is_double = double in (";;", "||", "&&", "|&", "&>", ";&")
        self.operator(double if is_double else char)
        self.at += 2 if is_double else 1
        return False

    def operator(self, text):
        self.words.append(Word(text, self.line, self.column(self.at), is_operator=True))

    def is_command_place(self):
        """Whether the next word is the first of a command."""
        last = self.words[-1] if self.words else None
        return last is None or last.is_operator and last.text not in ("<", ">", ">>", "<<<") or \
            last.text in KEYWORDS and not last.is_dynamic

    def redirection(self):
        if self.char(1) == "(":  # a process substitution
            line, column = self.line, self.column(self.at)
            self.at += 2
            self.substitution()
            self.words.append(Word("", line, column, True))
            return
        match = REDIRECTION.match(self.text, self.at)
        self.operator(match[0])
        self.at = match.end()

    def arithmetic_command(self):
        """((…)) where a command can be, or after `for`; False: it is two brackets."""
        is_for = bool(self.words) and self.words[-1].text == "for"
        end = self.arithmetic_end(self.at) if is_for or self.is_command_place() else -1
        if end < 0:
            return False
        self.words.append(Word(":", self.line, self.column(self.at)))
        self.inside(self.at + 2, end)
        return True

    def arithmetic_end(self, at):
        """Behind the two brackets that close what two have opened here; -1: they do not."""
        level, text = 0, self.text
        while at < len(text):
            char = text[at]
            level += (char == "(") - (char == ")")
            if level == 0:
                return at + 1 if text[at - 1] == ")" else -1
            at += 2 if char == "\\" else 1
        return -1

    def inside(self, begin, end):
        """Only the substitutions in this part of the text."""
        self.skip_to(begin)
        end = min(end, len(self.text))
        while self.at < end:
            if self.text[self.at] in "$`":
                place = self.line, self.start, self.at
                self.dollar([], False)
                if self.at > end:  # the end is where the shell looks for it first
                    self.line, self.start, self.at = place
                    self.lost = self.line
                    break
            else:
                self.skip_to(self.at + (2 if self.text[self.at] == "\\" else 1))
        self.skip_to(end)

    # ---- here-documents

    def document(self):
        is_indented = self.char(2) == "-"
        self.at += 3 if is_indented else 2
        while self.char() in (" ", "\t") and self.char():
            self.at += 1
        begin, quoted = self.at, len(self.inner)
        count = len(self.words)
        if self.at < len(self.text) and self.text[self.at] not in " \t\n;|&()<>":
            self.word()
        del self.inner[quoted:]  # nothing is substituted here
        name = self.words.pop().text if len(self.words) > count else ""
        is_plain = not any(mark in self.text[begin:self.at] for mark in "'\"\\")
        self.documents.append((name, is_indented, is_plain))

    def read_documents(self):
        documents, self.documents = self.documents, []
        for end, is_indented, is_plain in documents:
            begin = stop = self.at
            while stop < len(self.text):
                newline = self.text.find("\n", stop)
                newline = len(self.text) if newline < 0 else newline
                line = self.text[stop:newline]
                if (line.lstrip("\t") if is_indented else line) == end:
                    break
                stop = newline + 1
            if stop >= len(self.text):
                self.lost = self.line
            if is_plain:
                self.inside(begin, stop)
            self.skip_to(stop)
            newline = self.text.find("\n", self.at)
            self.skip_to(len(self.text) if newline < 0 else newline + 1)

    # ---- words

    def word(self):
        text, size = self.text, len(self.text)
        line, column, parts, is_dynamic = self.line, self.column(self.at), [], False
        begin, is_first = self.at, self.is_command_place()
        while self.at < size and text[self.at] not in " \t\n;|&()<>":
            char = text[self.at]
            if char == "\\":
                parts.append("" if self.char(1) == "\n" else self.char(1))
                self.skip_to(self.at + 2)
            elif char == "'":
                start = self.at + 1
                parts.append(text[start:self.skip_past("'", start)])
            elif char == '"':
                is_dynamic |= self.quoted(parts)
            elif char in "$`":
                is_dynamic |= self.dollar(parts, False)
            else:
                parts.append(char)
                self.at += 1
        made = "".join(parts)
        if self.char() == "(" and ARRAY.match(text[begin:self.at]):
            self.array()
        self.words.append(Word(made, line, column, is_dynamic))
        if text[begin:self.at] in ("case", "esac", "[[", "]]"):
            self.compound(made, is_first)

    def compound(self, name, is_first):
        if name == "]]":
            self.is_test = False
        elif name == "[[":
            self.is_test = is_first
        elif name == "case" and is_first:
            self.open.append("case")
        elif name == "esac" and is_first and self.open and self.open[-1] == "case":
            self.open.pop()

    def array(self):
        self.at += 1
        self.substitution()
        self.inner[-1].is_data = True

    def quoted(self, parts):
        text, size, is_dynamic = self.text, len(self.text), False
        self.at += 1
        while self.at < size and text[self.at] != '"':
            char = text[self.at]
            if char == "\\":
                parts.append(self.char(1))
                self.skip_to(self.at + 2)
            elif char in "$`":
                is_dynamic |= self.dollar(parts, True)
            else:
                parts.append(char)
                self.skip_to(self.at + 1)
        self.close()
        return is_dynamic

    def dollar(self, parts, is_quoted):
        """$NAME, ${…}, $(…), `…`: kept as they are written, and read if they are commands."""
        text, begin = self.text, self.at
        if text[begin] == "`":
            self.backquoted(is_quoted)
        elif text.startswith("$((", begin) and self.arithmetic_end(begin + 1) > 0:
            self.inside(begin + 3, self.arithmetic_end(begin + 1))
        elif text.startswith("$(", begin):
            self.at += 2
            self.substitution()
        elif text.startswith("${", begin):
            self.parameter(is_quoted)
        elif text.startswith("$'", begin) and not is_quoted:
            self.at += 2
            while self.at < len(text) and text[self.at] != "'":
                self.skip_to(self.at + (2 if text[self.at] == "\\" else 1))
            self.close()
        elif text.startswith('$"', begin) and not is_quoted:
            self.at += 1
            return self.quoted(parts)
        else:
            match = PARAMETER.match(text, begin)
            self.at = match.end()
        parts.append(text[begin:self.at])
        return True

    def parameter(self, is_quoted):
        """${…}: the bracket that closes it, past quotes and whatever is substituted in it."""
        text = self.text
        match = EXPANSION.match(text, self.at)
        self.skip_to(match.end())
        is_pattern = match[1] in ("#", "##", "%", "%%", "/", "//", "^", "^^", ",", ",,", "@")
        while self.at < len(text) and text[self.at] != "}":
            char = text[self.at]
            if char == "\\":
                self.skip_to(self.at + 2)
            elif char == '"':
                self.quoted([])
            elif char == "'" and (is_pattern or not is_quoted):
                self.skip_past("'", self.at + 1)
            elif char in "$`":
                self.dollar([], is_quoted)
            else:
                self.skip_to(self.at + 1)
        self.close()

    def backquoted(self, is_quoted):
        begin, line = self.at + 1, self.line
        self.at = begin
        while self.at < len(self.text) and self.text[self.at] != "`":
            self.skip_to(self.at + (2 if self.text[self.at] == "\\" else 1))
        code = re.sub(r'\\([$`\\"])' if is_quoted else r"\\([$`\\])", r"\1", self.text[begin:self.at])
        self.nest(Reader(code, 0, line, 0, self.depth + 1))
        self.close()

    def substitution(self):
        """Up to where the bracket closes."""
        inner = Reader(self.text, self.at, self.line, self.start, self.depth + 1, ")")
        self.nest(inner)
        self.at, self.line, self.start = inner.at, inner.line, inner.start

    def nest(self, inner):
        self.inner.append(inner)
        if inner.depth > DEPTH_MAX:
            inner.at = len(inner.text)
        else:
            inner.read()


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

    def script(self, reader):
        if reader.depth > DEPTH_MAX:
            self.report.say("command-dynamic", reader.line, 1, "substitutions are nested too deeply")
            return
        if reader.lost:
            self.report.say("not-analysed", reader.lost, 1, "something begins here that does not end")
        is_fetching, case_depth = False, 0
        for words, before in [] if reader.is_data else commands(reader.words):
            if before == "redirection":
                self.redirection(*words)
                continue
            if before not in ("|", "|&"):
                is_fetching = False
            case_depth += sum(word.text == "case" for word in words[:1])
            case_depth -= sum(word.text == "esac" for word in words)
            name = self.command(words, is_fetching, before, case_depth > 0)
            is_fetching |= name in ("curl", "wget", "nc")
        for inner in reader.inner:
            self.script(inner)

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
    check = Check(report)
    check.functions.update(re.findall(r"(?m)(?:^|[;\s])(?:function\s+)?([\w:.-]+)\s*\(\s*\)", text))
    check.functions.update(re.findall(r"(?m)\bfunction\s+([\w:.-]+)", text))
    check.script(Reader(text).read())
    report.findings.sort(key=lambda item: (item["line"], item["column"]))


if __name__ == "__main__":
    sys.setrecursionlimit(2000)
    told = Report(RULES)
    analyse(read_code(sys.argv[1]), told)
    told.tell()
