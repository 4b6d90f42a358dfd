# SPDX-License-Identifier: Apache-2.0
"""Run one module of CPython's test suite and tell the verdict of each test method.

    python3 verdicts.py MODULE [PATTERN…]

Runs the tests whose id matches a pattern; a pattern that begins with ! leaves tests out. A module
called test_… is one of the test package, any other one lies beside this file. Standard output
carries one line per test, VERDICT ID WHY separated by tabs, and `done` at the end, nothing else;
whatever the tests print goes to standard error, with the tracebacks. The same file runs in a cell
and outside.
"""
import fnmatch
import importlib
import os
import sys
import traceback
import unittest

BAD = ("FAIL", "ERROR")


class Teller(unittest.TestResult):
    def __init__(self, fd):
        super().__init__()
        self.fd = fd
        self.verdict = None

    def tell(self, verdict, name, why=""):
        why = " ".join(str(why).split())[:300]
        os.write(self.fd, f"{verdict}\t{name}\t{why}\n".encode(errors="replace"))

    def note(self, verdict, test, error=None, why=""):
        if error:
            print("====", verdict, name_of(test), file=sys.stderr)
            traceback.print_exception(*error)
            why = traceback.format_exception_only(*error[:2])[-1]
        if self.verdict is None or self.verdict[0] not in BAD:
            self.verdict = (verdict, why)
        if type(test).__name__ == "_ErrorHolder":  # set-up of a class or module, no test
            self.tell(verdict, name_of(test), why)

    def startTest(self, test):
        self.verdict = None

    def stopTest(self, test):
        verdict, why = self.verdict or ("none", "")
        self.tell(verdict, name_of(test), why)
        sys.stderr.flush()

    def addSuccess(self, test):
        self.note("ok", test)

    def addSkip(self, test, reason):
        self.note("skipped", test, why=reason)

    def addFailure(self, test, error):
        self.note("FAIL", test, error)

    def addError(self, test, error):
        self.note("ERROR", test, error)

    def addSubTest(self, test, subtest, error):
        if error:
            is_failure = issubclass(error[0], test.failureException)
            self.note("FAIL" if is_failure else "ERROR", subtest, error)

    def addExpectedFailure(self, test, error):
        self.note("expected", test)

    def addUnexpectedSuccess(self, test):
        self.note("unexpected", test)


def name_of(test):
    # some tests have an attribute of that name
    return test.id() if callable(test.id) else unittest.TestCase.id(test)


def flatten(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from flatten(test)
        else:
            yield test


def is_chosen(name, patterns):
    wanted = [pattern for pattern in patterns if pattern[0] != "!"]
    unwanted = [pattern[1:] for pattern in patterns if pattern[0] == "!"]
    if any(fnmatch.fnmatchcase(name, pattern) for pattern in unwanted):
        return False
    return not wanted or any(fnmatch.fnmatchcase(name, pattern) for pattern in wanted)


def prepare():
    """As `python3 -m test` does without -u: no test that wants a network, much time or space."""
    from test import support
    support.use_resources = []
    support.verbose = 0


def run(name, patterns, teller):
    prepare()
    try:
        module = importlib.import_module("test." + name if name.startswith("test_") else name)
        suite = unittest.TestLoader().loadTestsFromModule(module)
    except unittest.SkipTest as error:
        teller.tell("skipped", name, error)
        return
    unittest.TestSuite(
        test for test in flatten(suite) if is_chosen(name_of(test), patterns)).run(teller)


def main():
    teller = Teller(os.dup(1))
    os.dup2(2, 1)
    run(sys.argv[1], sys.argv[2:], teller)
    teller.tell("done", "")
    sys.stderr.flush()
    os._exit(0)  # a thread that a test left behind must not keep us


if __name__ == "__main__":
    main()
