# SPDX-License-Identifier: Apache-2.0
"""Finding the program ``hotcell`` and calling it."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterator, Mapping, Optional, Sequence

COULD_NOT_RUN = 125  # exit status of hotcell when it could not do what it was asked for

# Fields whose option has another name.
FLAGS = {"files": "file", "outs": "out", "block_imports": "block-dangerous-imports",
         "allow_modules": "allow-import", "block_modules": "block-import"}

# Fields that an option takes as names with commas between them.
NAMES = {"commands", "require", "without"}


class HotcellError(Exception):
    """hotcell could not do what it was asked for; the text is its own sentence."""


def find_program(program: Optional[str] = None) -> str:
    """The program to run: the one given, ``$HOTCELL``, the one this package was installed or built
    with, or the first in ``$PATH``."""
    here = Path(__file__).resolve().parent
    for chosen in (program, os.environ.get("HOTCELL")):
        if chosen:
            return chosen
    for near in (here.parents[3] / "bin" / "hotcell", here.parents[1] / "build" / "hotcell"):
        if os.access(near, os.X_OK) and near.is_file():
            return str(near)
    found = shutil.which("hotcell")
    if found:
        return found
    raise HotcellError("the program hotcell was not found: install it, or name it with "
                       "Sandbox(program=…) or the variable HOTCELL")


def to_field(value: Any) -> Any:
    """A setting as JSON has it."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return {str(key): to_field(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [to_field(item) for item in value]
    return value


def to_item(item: Any) -> str:
    """An item of a list as an option has it: {"from": …, "to": …} is FROM:TO."""
    if not isinstance(item, dict):
        return str(item)
    text = str(item.get("from", "")).replace(":", "\\:")
    return text if item.get("to") is None else f"{text}:{item['to']}"


def to_flags(settings: Mapping[str, Any]) -> list[str]:
    """Settings as options of the command line."""
    flags: list[str] = []
    for name, value in settings.items():
        flag = "--" + FLAGS.get(name, name).replace("_", "-")
        value = to_field(value)
        if value is None or value is False:
            continue
        if value is True:
            flags.append(flag)
        elif isinstance(value, dict):
            flags += [word for key, item in value.items() for word in (flag, f"{key}={item}")]
        elif isinstance(value, list) and name in NAMES:
            flags += [flag, ",".join(map(str, value))]
        elif isinstance(value, list):
            flags += [word for item in value for word in (flag, to_item(item))]
        else:
            flags += [flag, str(value)]
    return flags


@contextmanager
def handed_over(spec: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """A file without a name that holds the spec: code may be longer than a command line, and its
    standard input is its own."""
    fd = os.memfd_create("hotcell-spec")
    try:
        with os.fdopen(os.dup(fd), "wb") as file:
            file.write(json.dumps(to_field(spec)).encode("utf-8", "surrogatepass"))
        yield f"/proc/self/fd/{fd}", fd
    finally:
        os.close(fd)


def call(program: str, args: Sequence[str], data: Optional[bytes] = None,
         fds: Sequence[int] = ()) -> subprocess.CompletedProcess[bytes]:
    """Runs hotcell to its end. An exception on the way, such as that of ^C, ends it, too."""
    try:
        process = subprocess.Popen(
            [program, *args], pass_fds=fds, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL if data is None else subprocess.PIPE)
    except OSError as problem:
        raise HotcellError(f"cannot run '{program}': {problem.strerror}") from problem
    with process:
        try:
            out, err = process.communicate(data)
        except BaseException:
            process.terminate()
            raise
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def words(done: subprocess.CompletedProcess[bytes]) -> str:
    """What hotcell said when it could not."""
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    said = lines[-1] if lines else f"hotcell ended with status {done.returncode}"
    return said[len("hotcell: "):] if said.startswith("hotcell: ") else said


def parse(done: subprocess.CompletedProcess[bytes]) -> Any:
    """The JSON it printed."""
    try:
        return json.loads(done.stdout)
    except ValueError:
        raise HotcellError(words(done)) from None


def ask(program: str, *args: str) -> Any:
    """A command that answers in JSON, or fails."""
    done = call(program, args)
    if done.returncode == COULD_NOT_RUN:
        raise HotcellError(words(done))
    return parse(done)
