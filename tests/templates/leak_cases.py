# SPDX-License-Identifier: Apache-2.0
"""No byte of one program is in the memory of the next."""
import re

from suite import EVERYONE, ROOT, check, claim, equal
from template import Template

MARK = "kept-secret-4711"
# It must not have the mark in its own memory to search for it, so it searches backwards.
SEARCH = f"""
import sys
wanted = {MARK[::-1]!r}.encode()
found = 0
searched = 0
with open('/proc/self/maps') as maps, open('/proc/self/mem', 'rb', 0) as memory:
    for line in maps:
        place, rights = line.split()[:2]
        start, end = (int(part, 16) for part in place.split('-'))
        if rights[0] != 'r' or '[v' in line:
            continue
        while start < end:
            try:
                memory.seek(start)
                chunk = memory.read(min(end - start, 1 << 20))
            except OSError:
                break
            if not chunk:
                break
            found += chunk[::-1].count(wanted)
            searched += len(chunk)
            start += len(chunk)
print(searched > 5 << 20, found)
"""
# Everything a job brings, and what a program keeps, prints, writes and leaves.
SECRET = f"""
import sys, os, json
text = {MARK!r}
kept = [json.loads(json.dumps(text + str(i))) for i in range(1000)]
class Thing:
    name = text
sys.intern(text + 'x')
with open('/tmp/' + text, 'w') as file:
    file.write(text * 1000)
os.environ[text] = text
print(text, sys.argv, os.environ['SECRET'], sys.stdin.read())
"""


def run_secret(template, person, way):
    path = person.write(person.path("input"), MARK)
    result = template.ask(way, SECRET, args=[MARK], env=["SECRET=" + MARK], stdin=path).is_ok()
    check(result["stdout"].count(MARK) >= 4, "the program did not see its own:", result["stdout"])


@claim("a guest's memory has nothing of the program before", EVERYONE)
def memory(person):
    with Template(person, "json", "random", "re") as template:
        for way in ("guest", "parked"):
            run_secret(template, person, way)
            for next_way in ("guest", "parked"):
                found = template.ask(next_way, SEARCH, memory="512M").is_ok()["stdout"]
                equal(found, "True 0\n", "whether all was searched, and what was found")
            # the search finds what is there
            found = template.ask(way, SEARCH, args=[MARK]).is_ok()["stdout"]
            check(re.fullmatch(r"True [1-9]\d*\n", found), "the search found nothing:", found)


@claim("the template's own memory has nothing of any program", ROOT)
def template_memory(person):
    with Template(person, "json", "random", "re") as template:
        template.guest("pass").is_ok()
        before = pages_with(template.interpreter(), b"_hotcell")
        check(before > 0, "the search does not work")
        for way in ("guest", "parked"):
            run_secret(template, person, way)
        equal(pages_with(template.interpreter(), MARK.encode()), 0, "places in the template")


def pages_with(pid, text):
    found = 0
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as process:
        for line in maps:
            place, rights = line.split()[:2]
            if rights[0] != "r" or "[v" in line:
                continue
            start, end = (int(part, 16) for part in place.split("-"))
            process.seek(start)
            try:
                found += process.read(end - start).count(text)
            except OSError:
                pass
    return found


@claim("a guest inherits no descriptor, and nothing it writes is there for the next", EVERYONE)
def things(person):
    with Template(person) as template:
        template.guest("open('/tmp/left', 'w').write('x'); open('left', 'w').write('y')").is_ok()
        code = ("import os\nprint(sorted(os.listdir('/proc/self/fd'), key=int)[:-1], "
                "os.listdir('/tmp'), os.listdir('.'))")
        cold = template.cold(code).is_ok()["stdout"]
        for way in ("guest", "parked"):
            equal(template.ask(way, code).is_ok()["stdout"], cold, "descriptors and files")
