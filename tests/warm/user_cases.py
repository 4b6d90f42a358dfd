# SPDX-License-Identifier: Apache-2.0
"""Two files name the user of a cell. They are kept for the next one that has this user."""
import json

from daemon import Daemon
from suite import check, claim, equal, nothing_left

ROUNDS = 16

# Code of the cell. Each way to change a file is tried on one of its own, too.
LOOK = r"""
import errno, grp, json, os, pwd
user, group = pwd.getpwuid(os.getuid()), grp.getgrgid(os.getgid())
def append(path):
    with open(path, 'a') as file:
        file.write('me::0:0::/:\n')
ways = [append, os.remove, lambda path: os.rename(path, path + '.old'), lambda path: os.utime(path, (0, 0)),
        lambda path: os.chmod(path, 0o777), lambda path: os.truncate(path, 0)]
def outcome(way, path):
    try:
        way(path)
    except OSError as e:
        return errno.errorcode[e.errno]
    return 'done'
refused, allowed = set(), set()
for way in ways:
    open('own', 'w').write('x')
    allowed.add(outcome(way, 'own'))
    refused.update(outcome(way, path) for path in ('/etc/passwd', '/etc/group'))
refused.update('EROFS' if os.statvfs(path).f_flag & os.ST_RDONLY else 'writable' for path in ('/etc/passwd', '/etc/group'))
texts = [open(path).read() for path in ('/etc/passwd', '/etc/group')]
print(json.dumps([os.getuid(), user[:6], group[:3], texts, sorted(refused), sorted(allowed)]))
"""


def look(person, daemon, *options):
    daemon.settle()
    result = person.json(*options, "-c", LOOK, env={"HOTCELL_SOCKET": daemon.path}).is_ok()
    return json.loads(result.stdout)


@claim("users: the files of a cell's user name him, whoever had them before, and stay as they are")
def files_of_users(person):
    seen = {}
    with Daemon(person) as daemon:
        for number in range(ROUNDS):
            # one that is forked ready, and one that executes an interpreter
            options = ("--unique-layout",) if number % 4 == 3 else ()
            uid, user, group, texts, refused, allowed = look(person, daemon, *options)
            equal(user, ["user", "x", uid, user[3], "user", "/home/user"], "the user by his number")
            equal(group, ["user", "x", user[3]], "his group")
            equal([text.count("\nuser:") for text in texts], [1, 1], "lines that name a user")
            check(set(refused) <= {"EROFS", "EACCES", "EPERM"}, f"a cell changed its user's files: {refused}")
            equal(allowed, ["done"], "the same with a file of its own")
            equal(texts, seen.setdefault(uid, texts), "the files when the user came again")
    check(len(seen) < ROUNDS, "no user came twice")
    nothing_left(person)
