# SPDX-License-Identifier: Apache-2.0
"""What an analysis of the guard that is written in Python needs: the policy, and a way to report.

Descriptor 3 is the channel. The policy lies in it when we are started, unless it is the default.
"""
import json
import os

FINDINGS_MAX = 256
TEXT_MAX = 400
ORDER = ("block", "warn", "info")


class Report:
    def __init__(self, rules):
        self.rules = rules  # rule -> how grave in `standard` and in `strict`; None: not told
        self.policy = read_policy()
        self.is_strict = self.policy.get("profile") == "strict"
        self.findings = []
        self.imports = set()

    def say(self, rule, line, column, reason, module=None):
        severity = self.rules[rule][self.is_strict]
        if module is not None and module in self.policy.get("block", ()):
            severity = "block"
        elif module is not None and module in self.policy.get("allow", ()):
            return
        elif rule == "not-analysed" and (self.policy.get("block") or self.policy.get("block_imports")):
            severity = "block"  # where something may be refused, nothing passes unseen
        if severity is None:
            return
        made = {"rule": rule, "severity": severity, "line": line, "column": column,
                "reason": reason[:TEXT_MAX]}
        if module is not None and self.rules[rule][2:]:
            made["module"] = module[:TEXT_MAX]
        if made not in self.findings[-8:]:
            self.findings.append(made)

    def tell(self):
        findings = self.findings
        if len(findings) > FINDINGS_MAX:
            findings = sorted(findings, key=lambda item: ORDER.index(item["severity"]))
        data = json.dumps({
            "event": "report", "findings": findings[:FINDINGS_MAX],
            "imports": sorted(self.imports)[:FINDINGS_MAX],
            "left_out": max(len(findings) - FINDINGS_MAX, 0)}).encode()
        rest = len(data).to_bytes(4, "big") + data
        os.set_blocking(3, True)
        while rest:
            rest = rest[os.write(3, rest):]


def read_policy():
    os.set_blocking(3, False)
    data = b""
    try:
        while len(data) < 4 or len(data) < 4 + int.from_bytes(data[:4], "big"):
            more = os.read(3, 1 << 16)
            if not more:
                return {}
            data += more
    except BlockingIOError:
        return {}
    return json.loads(data[4:])["guard"]


def read_code(path):
    with open(path, encoding="utf-8", errors="replace", newline="") as file:
        return file.read()
