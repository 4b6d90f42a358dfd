# SPDX-License-Identifier: Apache-2.0
"""A Python that stands ready, as the tests ask it for guests."""
import atexit
import glob
import json
import os
import shutil
import subprocess

from suite import BUILD, Failure, Result, Skip, check, children, read

PROGRAM = os.path.join(BUILD, "tests", "guests")


def need_module():
    """Without Python's headers there is no module for it; sanitized, it needs such a Python."""
    if not glob.glob(os.path.join(BUILD, "runtimes", "python", "_hotcell*.so")):
        raise Skip("the module is not built: no Python headers, or sanitized")


class Template:
    """Asks for one program after the other."""

    def __init__(self, person, *modules, runtime=None, prefix=(), is_kept=False):
        need_module()
        program = os.path.join(person.build, "guests")
        if not os.path.exists(program):
            shutil.copy(PROGRAM, program)
        runtime = runtime or os.path.join(person.build, "runtimes", "python")
        self.process = person.start(runtime, *modules, program=program, prefix=prefix,
                                    stdin=subprocess.PIPE)
        if is_kept:  # for more than one test
            person.started.remove(self.process)
            atexit.register(self.__exit__)

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        self.process.stdin.close()
        self.process.wait(20)

    def ask(self, way, code, **fields):
        if code is not None:
            fields["code"] = code
        line = f"{way} {json.dumps(fields)}\n"
        try:
            self.process.stdin.write(line.encode())
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        answer = self.process.stdout.readline()
        if not answer:
            raise Failure(f"no answer: {self.process.stderr.read().decode()}")
        return Result(json.loads(answer))

    def guest(self, code, **fields):
        return self.ask("guest", code, **fields)

    def parked(self, code, **fields):
        return self.ask("parked", code, **fields)

    def cold(self, code, **fields):
        return self.ask("cold", code, **fields)

    def interpreter(self):
        """Its pid."""
        found = [pid for pid in children(self.process.pid)
                 if b"boot.py" in read(f"/proc/{pid}/cmdline")]
        check(len(found) == 1, "not one interpreter:", found)
        return found[0]
