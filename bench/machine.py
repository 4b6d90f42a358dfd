# SPDX-License-Identifier: Apache-2.0
"""What the numbers were made on."""
import os
import platform
import re

from stage import PYTHON, ask, hotcell

VERSIONS = {
    "hotcell": (hotcell(), "--version"),
    "python3": (PYTHON, "--version"),
    "node": ("node", "--version"),
    "go": ("go", "version"),
    "bwrap": ("bwrap", "--version"),
    "runc": ("runc", "--version"),
    "runsc": ("runsc", "--version"),
    "docker": ("docker", "version", "--format", "Docker {{.Server.Version}}"),
}


def cpu_model():
    with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
        found = re.search(r"^model name\s*: (.*)$", file.read(), re.MULTILINE)
    return found.group(1) if found else platform.machine()


def memory_kb():
    with open("/proc/meminfo", encoding="utf-8") as file:
        return int(file.readline().split()[1])


def facts():
    versions = {name: ask(*command, timeout=10) for name, command in VERSIONS.items()}
    return {
        "kernel": platform.release(),
        "cpu": cpu_model(),
        "cpus": len(os.sched_getaffinity(0)),
        "memory_kb": memory_kb(),
        "user": "root" if os.geteuid() == 0 else "ordinary",
        "load": os.getloadavg()[0],
        "versions": {name: text.splitlines()[0] for name, text in versions.items() if text},
    }


def line(told):
    versions = ", ".join(told["versions"].values())
    return (f"Linux {told['kernel']}, {told['cpus']} × {told['cpu']}, "
            f"{told['memory_kb'] / 2**20:.0f} GiB, as {'root' if told['user'] == 'root' else 'an ordinary user'}"
            f", load {told['load']:.1f}; {versions}")
