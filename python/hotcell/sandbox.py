# SPDX-License-Identifier: Apache-2.0
"""Executing code, once or in a session."""
from __future__ import annotations

import os
import re
from typing import Any, Mapping, Optional, Union

from . import program as _program
from .program import HotcellError
from .result import ExecutionResult, SecurityReport

Data = Union[str, bytes]
Path = Union[str, "os.PathLike[str]"]

SPEC_FAULT = re.compile(r"^--spec '[^']*': (.*)$", re.DOTALL)


def _bytes(data: Optional[Data]) -> Optional[bytes]:
    return data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data


class Sandbox:
    """Runs code in fresh cells, all under the same settings.

    ``settings`` are the fields of a run: ``timeout=5``, ``memory="256M"``, ``net="loopback"``,
    ``profile="strict"``, ``env={"NAME": "value"}``, ``ro=["/data:/mnt/data"]`` … as ``hotcell run
    --help`` lists them, with ``_`` for ``-``. What is not set comes from hotcell's own settings. An
    unknown one is a ValueError that names the nearest. Objects can be shared by threads.
    """

    def __init__(self, *, program: Optional[str] = None, **settings: Any) -> None:
        self.program = _program.find_program(program)
        self.settings = settings

    def __repr__(self) -> str:
        words = "".join(f", {name}={value!r}" for name, value in self.settings.items())
        return f"Sandbox(program={self.program!r}{words})"

    def execute_code(self, code: str, language: str = "python", *, stdin: Optional[Data] = None,
                     **settings: Any) -> ExecutionResult:
        """Executes code and waits for its end. Whatever becomes of it is told by the result."""
        return self._run({"code": code, "language": language}, stdin, settings)

    def execute_file(self, path: Path, *, language: Optional[str] = None,
                     stdin: Optional[Data] = None, **settings: Any) -> ExecutionResult:
        """Executes a file of the host, of which the cell gets a copy. Its ending tells the language
        unless that is given; ``args=[…]`` are its arguments."""
        return self._run({"file": os.path.abspath(os.fspath(path)), "language": language}, stdin,
                         settings)

    def run_python_code(self, code: str, timeout: Optional[float] = None) -> str:
        """Executes Python code and tells the outcome as one short text for a reader who pays for
        every word: output, value, error with its line and hint, limits that were hit."""
        settings = {} if timeout is None else {"timeout": timeout}
        done = self._call({"code": code, "language": "python"}, "--compact", None, settings)
        text: str = done.stdout.decode("utf-8", "replace")
        if not text:
            raise HotcellError(_program.words(done))
        fault = SPEC_FAULT.match(text.removeprefix("error: ").strip())
        if fault and done.returncode == _program.COULD_NOT_RUN:
            raise ValueError(fault.group(1))
        return text

    def analyze_code(self, code: str, language: str = "python", **settings: Any) -> SecurityReport:
        """What the guard says about code, which is not run."""
        flags = _program.to_flags({**self.settings, **settings, "language": language})
        done = _program.call(self.program, ["check", "--json", "--autorun", *flags, "-"],
                             code.encode("utf-8", "surrogatepass"))
        return SecurityReport.from_dict(_program.parse(done))

    def languages(self) -> list[dict[str, Any]]:
        """The languages that are defined, and whether they can run here."""
        return list(_program.ask(self.program, "languages", "--json"))

    def session(self, language: str = "python", name: Optional[str] = None, *,
                idle: Optional[int] = None, lifetime: Optional[int] = None,
                undo: Optional[int] = None, **settings: Any) -> Session:
        """A new session: a cell that remembers. It ends when it was idle for so many seconds, is so
        many seconds old, or is killed; ``with`` does that. A daemon is started if none serves."""
        flags = _program.to_flags({**self.settings, **settings, "language": language,
                                   "idle": idle, "lifetime": lifetime, "undo": undo})
        info = _program.ask(self.program, "session", "new", "--json", "--quiet", *flags,
                            *([name] if name else []))
        return Session(self.program, info["name"])

    def open_session(self, name: str) -> Session:
        """A session that is there already."""
        _program.ask(self.program, "session", "info", "--json", name)
        return Session(self.program, name)

    def sessions(self) -> list[dict[str, Any]]:
        """All sessions there are."""
        return list(_program.ask(self.program, "session", "list", "--json"))

    def _call(self, what: Mapping[str, Any], manner: str, stdin: Optional[Data],
              settings: Mapping[str, Any]) -> Any:
        spec = {**self.settings, **settings, **what}
        if stdin is not None:
            spec["stdin"] = "-"
        with _program.handed_over(spec) as (path, fd):
            return _program.call(self.program, ["run", manner, "--spec", path], _bytes(stdin), [fd])

    def _run(self, what: Mapping[str, Any], stdin: Optional[Data],
             settings: Mapping[str, Any]) -> ExecutionResult:
        result = ExecutionResult.from_dict(
            _program.parse(self._call(what, "--json", stdin, settings)))
        fault = SPEC_FAULT.match(result.message or "") if result.status == "setup_error" else None
        if fault:
            raise ValueError(fault.group(1))
        return result


class Session:
    """A cell that remembers from one execution to the next.

    As a context manager it is killed at the end; otherwise it goes on without this process.
    """

    def __init__(self, program: str, name: str) -> None:
        self.program = program
        self.name = name

    def __repr__(self) -> str:
        return f"Session({self.name!r})"

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_exception: object) -> None:
        try:
            self.kill()
        except HotcellError:
            pass  # it ended by itself

    def _ask(self, verb: str, *args: str) -> Any:
        return _program.ask(self.program, "session", verb, "--json", self.name, *args)

    def execute_code(self, code: str, *, timeout: Optional[float] = None,
                     max_output: Optional[Union[int, str]] = None,
                     env: Optional[Mapping[str, str]] = None) -> ExecutionResult:
        """Executes code in it, after whatever runs there now."""
        flags = _program.to_flags({"timeout": timeout, "max_output": max_output, "env": env})
        done = _program.call(self.program,
                             ["session", "exec", "--json", "--wait", *flags, self.name, "-"],
                             code.encode("utf-8", "surrogatepass"))
        return ExecutionResult.from_dict(_program.parse(done))

    def checkpoint(self, point: Optional[str] = None) -> str:
        """Keeps the state, and tells how to come back to it: the name, or else a number."""
        made = self._ask("checkpoint", *([point] if point else []))["point"]
        return str(made["name"] or made["id"])

    def rollback(self, point: str) -> None:
        """Brings a state back."""
        self._ask("rollback", str(point))

    def undo(self) -> None:
        """Takes the last execution back; for sessions made with ``undo=…``."""
        self._ask("undo")

    def fork(self, name: str) -> Session:
        """A second session of the same state."""
        self._ask("fork", name)
        return Session(self.program, name)

    def interrupt(self) -> None:
        """From another thread: ends what runs in it, and the state stays."""
        self._ask("interrupt")

    def info(self) -> dict[str, Any]:
        """All about it."""
        return dict(self._ask("info"))

    def kill(self) -> None:
        """Ends it."""
        done = _program.call(self.program, ["session", "kill", self.name])
        if done.returncode != 0:
            raise HotcellError(_program.words(done))


def get_sandbox(type: Optional[str] = None, **settings: Any) -> Sandbox:
    """The sandbox that the configuration asks for: who isolates is said by ``type``, else by the
    variable ``SANDBOX_TYPE``, else by the settings files, else it is ``local``. One that there is
    not raises ValueError."""
    if type is not None:
        settings["provider"] = type
    sandbox = Sandbox(**settings)
    chosen = sandbox.settings.get("provider")
    flags = ["--provider", str(chosen)] if chosen is not None else []
    done = _program.call(sandbox.program, ["config", "show", "--json", *flags])
    if done.returncode != 0:
        raise ValueError(_program.words(done))
    return sandbox


def execute_code(code: str, language: str = "python", **settings: Any) -> ExecutionResult:
    """``get_sandbox().execute_code()`` for a single execution."""
    return Sandbox().execute_code(code, language, **settings)


def execute_file(path: Path, **settings: Any) -> ExecutionResult:
    """``get_sandbox().execute_file()`` for a single execution."""
    return Sandbox().execute_file(path, **settings)


def run_python_code(code: str, timeout: Optional[float] = None) -> str:
    """``get_sandbox().run_python_code()`` for a single execution."""
    return Sandbox().run_python_code(code, timeout)


def analyze_code(code: str, language: str = "python", **settings: Any) -> SecurityReport:
    """``get_sandbox().analyze_code()`` for a single question."""
    return Sandbox().analyze_code(code, language, **settings)
