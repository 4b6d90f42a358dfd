# SPDX-License-Identifier: Apache-2.0
"""What hotcell answers, as Python objects. Names are those of its JSON."""
from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, Mapping, Optional


def _known(kind: Any, data: Mapping[str, Any]) -> dict[str, Any]:
    """What the class has a place for: a newer hotcell may say more."""
    names = {item.name for item in fields(kind)}
    return {name: value for name, value in data.items() if name in names}


@dataclass(frozen=True)
class ExecutionError:
    """What went wrong. ``message`` is one of the four exact messages, or hotcell's own sentence."""

    kind: str  #: syntax, runtime, import, timeout, refused or setup
    message: str
    name: Optional[str] = None  #: such as ZeroDivisionError
    value: Optional[str] = None  #: such as division by zero
    traceback: list[dict[str, Any]] = field(default_factory=list)
    line: Optional[int] = None
    column: Optional[int] = None
    context: list[str] = field(default_factory=list)
    documentation: Optional[str] = None


@dataclass(frozen=True)
class ExecutionResult:
    """How one execution went."""

    id: str
    status: str  #: ok, error, signal, timeout, cpu_limit, oom, output_limit, refused, setup_error …
    stdout: str
    stderr: str
    exit_code: int
    signal: Optional[int] = None
    duration: float = 0.0  #: seconds
    outputs: list[dict[str, Any]] = field(default_factory=list)
    error: Optional[ExecutionError] = None
    hint: Optional[str] = None
    denials: list[dict[str, Any]] = field(default_factory=list)
    usage: dict[str, Any] = field(default_factory=dict)
    files: list[dict[str, Any]] = field(default_factory=list)
    meta: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ExecutionResult:
        """From the JSON that ``hotcell run --json`` prints."""
        known = _known(cls, data)
        if known.get("error") is not None:
            known["error"] = ExecutionError(**_known(ExecutionError, known["error"]))
        return cls(**known)

    @property
    def ok(self) -> bool:
        """Whether it ended by itself with exit status 0."""
        return self.status == "ok"

    @property
    def message(self) -> Optional[str]:
        """What went wrong, in one of the exact messages; None: nothing did."""
        return self.error.message if self.error else None

    @property
    def value(self) -> Optional[str]:
        """The value of the last expression as text; None: it had none."""
        for output in reversed(self.outputs):
            if output.get("type") == "result":
                text = output.get("data", {}).get("text/plain")
                return str(text) if text is not None else None
        return None


@dataclass(frozen=True)
class Finding:
    """One thing the guard noticed."""

    rule: str
    severity: str  #: info, warn or block
    reason: str
    line: Optional[int] = None
    column: Optional[int] = None
    module: Optional[str] = None


@dataclass(frozen=True)
class SecurityReport:
    """What the guard says about code that was not run."""

    language: str
    profile: str
    analysed: bool
    verdict: Optional[str]  #: allow, warn or block; None: the guard has no rules for it
    findings: list[Finding] = field(default_factory=list)
    imports: list[str] = field(default_factory=list)
    left_out: int = 0  #: findings there was no room for, none of them graver
    file: Optional[str] = None
    autorun: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> SecurityReport:
        """From the JSON that ``hotcell check --json`` prints."""
        known = _known(cls, data)
        known["findings"] = [Finding(**_known(Finding, item)) for item in data.get("findings", [])]
        return cls(**known)

    @property
    def is_blocked(self) -> bool:
        """Whether a run under the same settings would be refused."""
        return self.verdict == "block"

    @property
    def may_autorun(self) -> str:
        """May it run without asking a person: yes, ask or no. Why: ``autorun["reasons"]``."""
        return str(self.autorun.get("verdict", "ask"))
