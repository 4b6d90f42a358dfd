# SPDX-License-Identifier: Apache-2.0
"""--ro and --rw: directories of the host in a cell."""
import os

from suite import ROOT, Skip, check, claim, contains, equal

OTHER_ID = 61999  # neither root nor the suite's ordinary user


def project(person, name="project", uid=None, mode=0o755):
    """A directory with a file and a nest, all of one owner."""
    os.makedirs(person.path(name + "/sub"))
    for path in (name + "/data.txt", name + "/sub/deep.txt"):
        person.write(person.path(path), "content of " + os.path.basename(path), 0o600)
    for path in (name, name + "/sub", name + "/data.txt", name + "/sub/deep.txt"):
        if uid is not None:
            os.chown(person.path(path), uid, uid)
        else:
            person.own(person.path(path))
    os.chmod(person.path(name), mode)
    return person.path(name)


READ = "print(open('{0}/data.txt').read(), open('{0}/sub/deep.txt').read())"
WRITE = ("import os\n"
         "open('{0}/new.txt', 'w').write('new')\n"
         "open('{0}/data.txt', 'a').write(' and more')\n"
         "os.mkdir('{0}/made'); open('{0}/made/x', 'w').close()\n"
         "os.remove('{0}/sub/deep.txt')")
CANNOT_WRITE = """
import os
def refused(what, *args):
    try: what(*args)
    except OSError as error: return error.errno == 30
    return False
d = '{0}'
print(refused(open, d + '/new', 'w'), refused(open, d + '/data.txt', 'a'),
      refused(os.mkdir, d + '/m'), refused(os.remove, d + '/data.txt'),
      refused(os.chmod, d + '/data.txt', 0o777), refused(os.rename, d + '/data.txt', d + '/z'),
      refused(os.utime, d + '/data.txt'))
"""
PLACES = ("/data", "/mnt/data", "/home/user/x", "/home/user/a/b/c", "/tmp/x", "/srv/deep/er")


def declare(place):
    @claim(f"--ro shows a directory at {place}, and it is really read-only")
    def read_only(person):
        project(person)
        ran = person.code(READ.format(place), "--ro", f"project:{place}").ok()
        equal(ran.out, "content of data.txt content of deep.txt\n", "stdout")
        ran = person.code(CANNOT_WRITE.format(place), "--ro", f"project:{place}").ok()
        equal(ran.out, " ".join(["True"] * 7) + "\n", "refused with EROFS")
        equal(sorted(os.listdir(person.path("project"))), ["data.txt", "sub"], "host directory")

    @claim(f"--rw lets a program change a directory at {place}")
    def read_write(person):
        path = project(person)
        person.code(WRITE.format(place), "--rw", f"project:{place}").ok()
        with open(path + "/data.txt", encoding="utf-8") as file:
            equal(file.read(), "content of data.txt and more", "changed file")
        check(os.path.exists(path + "/made/x"), "nothing was made")
        check(not os.path.exists(path + "/sub/deep.txt"), "nothing was removed")
        equal(os.stat(path + "/new.txt").st_uid, person.uid, "owner of a new file")


for mount_place in PLACES:
    declare(mount_place)


@claim("as root a 0700 directory of another user is readable through --ro", ROOT)
def other_owner_ro(person):
    project(person, uid=OTHER_ID, mode=0o700)
    ran = person.code(READ.format("/data"), "--ro", "project:/data").ok()
    equal(ran.out, "content of data.txt content of deep.txt\n", "stdout")


@claim("as root what --rw makes belongs to the directory's owner", ROOT)
def other_owner_rw(person):
    for place in ("/data", "/home/user/x"):
        name = "project" + place.replace("/", "-")
        path = project(person, name, uid=OTHER_ID, mode=0o700)
        person.code(WRITE.format(place), "--rw", f"{name}:{place}").ok()
        for made in ("new.txt", "made", "made/x"):
            status = os.stat(os.path.join(path, made))
            equal((status.st_uid, status.st_gid), (OTHER_ID, OTHER_ID), f"owner of {made}")


@claim("as root files of root in a user's directory stay closed", ROOT)
def foreign_file(person):
    path = project(person, uid=OTHER_ID)
    person.write(path + "/secret", "root's", 0o600)  # this person is root
    ran = person.code("print(open('/data/secret').read())", "--rw", "project:/data").exits(1)
    contains(ran.err, "Permission denied", "stderr")


@claim("set-user-id and devices in a mounted directory have no power", ROOT)
def no_suid(person):
    path = project(person)
    os.mknod(path + "/null", 0o666 | 0o020000, os.makedev(1, 3))
    os.chmod(path + "/null", 0o666)
    person.write(path + "/id", open("/usr/bin/id", "rb").read(), 0o4755)
    code = ("import os, subprocess\n"
            "out = subprocess.run(['/data/id', '-u'], capture_output=True, text=True).stdout\n"
            "print(out.strip() == str(os.getuid()))\n"
            "try: open('/data/null')\n"
            "except OSError as error: print(error.errno)")
    equal(person.code(code, "--ro", "project:/data").ok().out, "True\n13\n", "stdout")


@claim("a relative source is found from where we are, and an absolute one needs no target")
def sources(person):
    project(person)
    ran = person.code(READ.format("/data"), "--ro", "./project/../project:/data").ok()
    equal(ran.out, "content of data.txt content of deep.txt\n", "stdout")
    if person.dir.startswith("/tmp/"):
        return  # its own path is one of the cell's
    person.code(READ.format(person.path("project")), "--ro", person.path("project")).ok()


@claim("a single file can be mounted")
def single_file(person):
    project(person)
    ran = person.code("print(open('/mnt/one').read())", "--ro", "project/data.txt:/mnt/one").ok()
    equal(ran.out, "content of data.txt\n", "stdout")
    person.code("open('/mnt/one', 'w').write('w')", "--rw", "project/data.txt:/mnt/one").ok()
    with open(person.path("project/data.txt"), encoding="utf-8") as file:
        equal(file.read(), "w", "the file on the host")


@claim("--ro and --rw work side by side")
def side_by_side(person):
    project(person, "a")
    project(person, "b")
    code = CANNOT_WRITE.format("/mnt/a") + WRITE.format("/mnt/b")
    ran = person.code(code, "--ro", "a:/mnt/a", "--rw", "b:/mnt/b").ok()
    equal(ran.out, " ".join(["True"] * 7) + "\n", "refused with EROFS")
    check(os.path.exists(person.path("b/made/x")), "nothing was made")


@claim("one directory can be read-only in one place and writable in another")
def two_faces(person):
    project(person)
    code = CANNOT_WRITE.format("/mnt/ro") + WRITE.format("/mnt/rw")
    ran = person.code(code, "--ro", "project:/mnt/ro", "--rw", "project:/mnt/rw").ok()
    equal(ran.out, " ".join(["True"] * 7) + "\n", "refused with EROFS")


@claim("a mount below another mount works or is refused by name")
def nested(person):
    project(person, "a")
    project(person, "b")
    ran = person.code("print(open('/mnt/a/sub/data.txt').read())", "--ro", "a:/mnt/a",
                      "--ro", "b:/mnt/a/sub")
    if ran.code == 0:
        equal(ran.out, "content of data.txt\n", "stdout")
    else:
        ran.exits(125)
        contains(ran.err, "--ro", "stderr")


@claim("a program cannot leave a mounted directory")
def no_escape(person):
    project(person)
    person.write(person.path("outside"), "secret")
    os.symlink("../outside", person.path("project/link"))
    os.symlink(person.path("outside"), person.path("project/abs"))
    code = ("for p in ('/data/link', '/data/abs', '/data/../outside'):\n"
            "    try: print(open(p).read())\n"
            "    except OSError as error: print(error.errno)")
    equal(person.code(code, "--rw", "project:/data").ok().out, "2\n2\n2\n", "stdout")


@claim("a mounted directory takes more in all than the disk limit of the cell")
def no_disk_limit(person):
    project(person)
    code = "for i in range(8): open(f'/data/f{i}', 'wb').write(b'x' * (50 << 10))"
    person.code(code, "--disk", "64K", "--rw", "project:/data").ok()
    equal(os.path.getsize(person.path("project/f7")), 50 << 10, "size on the host")


@claim("one file larger than the disk limit is refused also there, and explained")
def one_big_file(person):
    project(person)
    for args in (["-c", "open('/data/big', 'wb').write(b'x' * (2 << 20))"],
                 ["-l", "bash", "-c", "head -c 2M /dev/zero > /data/big"]):
        result = person.json("--disk", "64K", "--rw", "project:/data", *args)
        check(result.status != "ok", "status is ok")
        contains(result.denial("disk")["option"], "--disk", f"option for {args}")
        person.run("--disk", "4M", "--rw", "project:/data", *args).ok()


@claim("mounts leave no trace on the host when the run is over")
def no_trace(person):
    project(person)
    before = sorted(os.listdir(person.path("project")))
    person.code("1", "--rw", "project:/home/user/x/y").ok()
    equal(sorted(os.listdir(person.path("project"))), before, "host directory")


@claim("files of a mount in the home do not come out with --out")
def mount_and_out(person):
    project(person)
    result = person.json("--ro", "project:/home/user/p", "--out", "*:got", "-c",
                         "open('own', 'w').close()").is_ok()
    saved = [file["path"] for file in result["files"] if file["saved_to"]]
    equal(saved, ["own"], "files that came out")


@claim("a project in a home of mode 0700 is readable", ROOT)
def closed_home(person):
    if not os.path.isdir("/proc/self"):
        raise Skip("needs /proc")
    os.makedirs(person.path("home/project"))
    person.write(person.path("home/project/data.txt"), "at home", 0o600)
    for path in ("home", "home/project", "home/project/data.txt"):
        os.chown(person.path(path), OTHER_ID, OTHER_ID)
    os.chmod(person.path("home"), 0o700)
    ran = person.code("print(open('/data/data.txt').read())", "--ro", "home/project:/data").ok()
    equal(ran.out, "at home\n", "stdout")
