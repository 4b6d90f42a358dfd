# SPDX-License-Identifier: Apache-2.0
"""What cells cost in memory, as the kernel counts it: their own pages, their share of others', and
what the kernel keeps for them."""
from pathlib import Path

PROC = Path("/proc")
KERNEL = ("Slab", "PageTables", "KernelStack", "Percpu")


def read_fields(path):
    """Lines of the form `Name:  123 kB`."""
    fields = {}
    for line in path.read_text().splitlines():
        name, colon, value = line.partition(":")
        if colon and value.split()[:1] and value.split()[0].isdigit():
            fields[name] = int(value.split()[0])
    return fields


def kernel_kb():
    fields = read_fields(PROC / "meminfo")
    return sum(fields.get(name, 0) for name in KERNEL)


def available_kb():
    return read_fields(PROC / "meminfo")["MemAvailable"]


def children_of_all():
    children = {}
    for path in PROC.glob("[0-9]*/stat"):
        try:
            parent = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue  # it is gone
        children.setdefault(parent, []).append(int(path.parent.name))
    return children


def descendants(pid, children):
    found = list(children.get(pid, []))
    for one in found:  # it grows while we walk along it
        found += children.get(one, [])
    return found


def is_init(pid):
    """Whether it is the first process of a pid namespace."""
    try:
        status = (PROC / str(pid) / "status").read_text()
    except OSError:
        return False
    inner = status.partition("NSpid:")[2].splitlines()[:1]
    return bool(inner) and len(inner[0].split()) > 1 and inner[0].split()[-1] == "1"


def cells_of(keeper):
    """The processes of each cell of a keeper: an init, and what it is not alone with."""
    children = children_of_all()
    inits = [pid for pid in descendants(keeper, children) if is_init(pid)]
    return [[pid, *descendants(pid, children)] for pid in inits if children.get(pid)]


def weigh(cell):
    """Private and proportional kilobytes of a cell's processes; None when they may not be read."""
    private = shared = 0
    for pid in cell:
        try:
            fields = read_fields(PROC / str(pid) / "smaps_rollup")
        except OSError:
            return None
        private += fields["Private_Clean"] + fields["Private_Dirty"]
        shared += fields["Pss"]
    return private, shared


def weigh_cells(keeper, most=100):
    """Means over the cells of a keeper; None when there is nothing to read."""
    weights = [weigh(cell) for cell in cells_of(keeper)[:most]]
    weights = [weight for weight in weights if weight]
    if not weights:
        return None
    return {"cells": len(weights),
            "private_kb": round(sum(weight[0] for weight in weights) / len(weights)),
            "pss_kb": round(sum(weight[1] for weight in weights) / len(weights))}
