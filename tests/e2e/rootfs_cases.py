# SPDX-License-Identifier: Apache-2.0
"""--rootfs DIR: a cell that sees another system than the host's."""
import os
import shutil
import subprocess

from suite import Skip, check, claim, contains, equal, lacks

# A static program that is the whole system: it lists a directory and tells who it is.
PROGRAM = r"""
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	printf("uid %s, argc %d, %s\n", getuid() ? "user" : "root", argc, argv[argc - 1]);
	DIR *dir = opendir("/usr/bin");
	for (struct dirent *entry; dir && (entry = readdir(dir));)
		if (entry->d_name[0] != '.')
			printf("/usr/bin/%s\n", entry->d_name);
	printf("write to /usr: %d\n", open("/usr/x", O_CREAT | O_WRONLY, 0600));
	printf("write home: %d\n", open("/home/user/x", O_CREAT | O_WRONLY, 0600) >= 0);
	printf("secret: %d\n", access("/secret", F_OK));
	return 7;
}
"""


def small_root(person):
    """DIR/usr/bin/hello, static, and a file that no cell may see."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        raise Skip("needs a C compiler (package gcc)")
    os.makedirs(person.path("root/usr/bin"))
    person.write(person.path("hello.c"), PROGRAM)
    made = subprocess.run([compiler, "-static", "-O1", "-o", person.path("root/usr/bin/hello"),
                           person.path("hello.c")], capture_output=True, check=False)
    if made.returncode != 0:
        raise Skip("cannot link a static program (package libc6-dev)")
    person.write(person.path("root/secret"), "s")
    return person.path("root")


@claim("--rootfs runs a program of another root, and nothing else is there")
def runs(person):
    root = small_root(person)
    ran = person.run("--rootfs", root, "--exec", "--", "hello", "a", "last").exits(7)
    equal(ran.out.splitlines(), ["uid user, argc 3, last", "/usr/bin/hello", "write to /usr: -1",
                                 "write home: 1", "secret: -1"], "stdout")
    result = person.json("--rootfs", root, "--exec", "--", "/usr/bin/hello").has_status("error", 7)
    equal(result.meta["isolation"]["rootfs"], root[:63], "meta.isolation.rootfs")
    equal(sorted(os.listdir(root)), ["secret", "usr"], "the root afterwards")


@claim("the host's programs are not in another root")
def host_absent(person):
    root = small_root(person)
    ran = person.run("--rootfs", root, "--exec", "--", "ls").exits(125)
    contains(ran.err, "'ls'", "stderr")


@claim("an interpreter that is not in the root is told with its Debian package")
def missing_interpreter(person):
    root = small_root(person)
    for language, package in (("python", "python3"), ("javascript", "nodejs"), ("bash", "bash"),
                              ("sh", "dash")):
        ran = person.run("--rootfs", root, "-l", language, "-c", "1").exits(125)
        contains(ran.err, f"apt-get install {package}", f"stderr for {language}")
        contains(ran.err, root, f"stderr for {language}")
        equal(len(ran.err.splitlines()), 1, "lines on stderr")
        result = person.json("--rootfs", root, "-l", language, "-c", "1")
        result.has_status("setup_error", 125)


@claim("a root whose directories are links out of it shows nothing of the host")
def links_out(person):
    root = small_root(person)
    os.makedirs(person.path("outside/bin"))
    person.write(person.path("outside/bin/spy"), "#!/bin/sh\n", 0o755)
    os.makedirs(person.path("evil"))
    os.symlink(person.path("outside"), person.path("evil/usr"))
    os.symlink("/etc/shadow", person.path("evil/bin"))
    shutil.copytree(root + "/usr", person.path("evil/usr-real"))
    ran = person.run("--rootfs", person.path("evil"), "--exec", "--", "/usr/bin/spy").exits(125)
    lacks(ran.out, "spy", "stdout")


@claim("an empty root is told clearly")
def empty_root(person):
    os.makedirs(person.path("empty"))
    person.own(person.path("empty"))
    ran = person.run("--rootfs", person.path("empty"), "--exec", "--", "ls").exits(125)
    check(ran.err.startswith("hotcell: ") and len(ran.err.splitlines()) == 1, "stderr:", ran.err)


@claim("the host as a directory is the same as the host")
def host_as_directory(person):
    equal(person.code("print('ran')", "--rootfs", "/").ok().out, "ran\n", "stdout")


@claim("mounts and files go into another root as well")
def mounts_in_root(person):
    root = small_root(person)
    os.makedirs(person.path("d"))
    person.own(person.path("d"))
    shutil.copy(root + "/usr/bin/hello", person.path("d/copy"))
    os.chmod(person.path("d/copy"), 0o755)
    person.run("--rootfs", root, "--ro", "d:/data", "--exec", "--", "/data/copy").exits(7)
    person.run("--rootfs", root, "--file", "d/copy", "--exec", "--", "./copy").exits(7)
