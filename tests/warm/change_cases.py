# SPDX-License-Identifier: Apache-2.0
"""What a cell that stood ready shows of the host is what the host has now, though its template has copies."""
import os
import shutil

from daemon import Daemon
from suite import Skip, claim, equal, nothing_left, wait_until

DEFINITION = """{"name": "teller", "title": "Teller", "program": "main.tell", "package": "coreutils",
    "argv": ["/usr/bin/cat", "{runtime}/word", "{file}"]}"""


class Place:
    """A language of the person's own and a small root, each of which tells what it finds in itself."""

    def __init__(self, person):
        self.person = person
        busybox = shutil.which("busybox")
        if not busybox:
            raise Skip("needs busybox (package busybox-static)")
        os.makedirs(person.path("runtimes/teller"))
        person.write(person.path("runtimes/teller/language.json"), DEFINITION)
        self.tell("first")
        root = person.path("root")
        os.makedirs(f"{root}/usr/bin")
        os.makedirs(f"{root}/etc/alternatives/more")
        shutil.copy(busybox, f"{root}/usr/bin/busybox")
        self.ways = {
            "a language's file": ("-l", "teller", "-c", "!"),
            "a root's directory": ("--rootfs", root, "--exec", "--", "/usr/bin/busybox", "ls",
                                   "/etc/alternatives/more"),
        }

    def tell(self, word):
        self.person.write(self.person.path("runtimes/teller/word"), word)

    def install(self, name):
        os.symlink("/usr/bin/busybox", self.person.path(f"root/etc/alternatives/more/{name}"))

    def ask(self, daemon, way):
        env = {"HOTCELL_SOCKET": daemon.path, "HOTCELL_RUNTIMES": self.person.path("runtimes")}
        result = self.person.json(*self.ways[way], env=env).is_ok()
        return result.stdout.split(), result.meta["warm"]


def pools(daemon, runtime):
    return [pool for pool in daemon.status()["keeper"]["pools"] if pool["runtime"] == runtime]


@claim("changes: cells that stood ready show what the host has now, and stand ready again")
def changes_are_seen(person):
    place = Place(person)
    with Daemon(person) as daemon:
        for way in place.ways:
            place.ask(daemon, way)
        daemon.settle()
        equal({way: place.ask(daemon, way) for way in place.ways},
              {"a language's file": (["first!"], True), "a root's directory": ([], True)}, "before any change")
        place.tell("second")
        place.install("one")
        wanted = {"a language's file": (["second!"], True), "a root's directory": (["one"], True)}
        for way, told in wanted.items():
            wait_until(lambda: place.ask(daemon, way) == told, f"the change of {way}")  # noqa: B023
        keeper = daemon.keeper_pid()
        place.install("two")
        wait_until(lambda: place.ask(daemon, "a root's directory") == (["one", "two"], True), "the next one")
        equal(daemon.keeper_pid(), keeper, "the keeper")
    nothing_left(person)


@claim("changes: a cell that is lent stays as it is, and so does what nobody changed")
def lent_cells_stay(person):
    place = Place(person)
    with Daemon(person) as daemon:
        place.ask(daemon, "a language's file")
        client = daemon.client()
        client.borrow()
        before = pools(daemon, None)[0]
        place.tell("second")
        wait_until(lambda: place.ask(daemon, "a language's file")[0] == ["second!"], "the change")
        wait_until(lambda: len(pools(daemon, "teller")) == 1, "the end of the old pool")
        equal([(pool["lent"], pool["served"]) for pool in pools(daemon, None)], [(1, before["served"])],
              "cells that are lent of what nobody changed")
        client.close()
    nothing_left(person)


@claim("changes: what is there no more is told once, and the daemon goes on")
def gone(person):
    place = Place(person)
    with Daemon(person) as daemon:
        for way in place.ways:
            place.ask(daemon, way)
        daemon.settle()
        shutil.rmtree(person.path("runtimes/teller"))
        daemon.wait_for_log("renew the cells that stand ready: open the runtime")
        wait_until(lambda: not pools(daemon, "teller"), "the end of its pool")
        place.install("one")
        wait_until(lambda: place.ask(daemon, "a root's directory") == (["one"], True), "another change")
        equal(daemon.words().count("renew the cells"), 1, "lines about it")
    nothing_left(person)
