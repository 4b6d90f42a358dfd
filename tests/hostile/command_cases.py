# SPDX-License-Identifier: Apache-2.0
"""Behaviour 100: in a cell of few programs (--commands), executing any other."""
import shutil

from harness import Case, Want, bash, python

LIST = ("--commands", "ls,find,grep,env,xargs,cat,cp,chmod,ln,mkdir")

# Each attempt tells `WHAT refused`, or with which status it came back.
TRY = """
try() { what=$1; shift; "$@" >out 2>err; r=$?
        case $r in 126|127) echo "$what refused";; *) echo "$what ran-with-$r";; esac; }
ld=/lib64/ld-linux-x86-64.so.2; [ -e $ld ] || ld=$(find /lib -name 'ld-linux*' | grep -m1 ld)
"""


def attempts(text):
    return bash(TRY + text)


# What a copy of a program in the cell's own directories is good for.
COPIES = attempts("""
cp mine /tmp/mine; cp mine /dev/shm/mine; cp /usr/bin/ls copy; chmod +x mine copy /tmp/mine /dev/shm/mine
ln -s mine link; mkdir -p bin; ln mine bin/git; printf '#!/bin/bash\\necho ran\\n' > script; chmod +x script
printf '#!/home/user/mine write\\n' > odd; chmod +x odd
try own ./mine write; try tmp /tmp/mine write; try shm /dev/shm/mine write
try copy ./copy; try link ./link write; try path env PATH=/home/user/bin git
try script ./script; try odd ./odd; try exec-a bash -c 'exec -a ls ./mine write'
try env env ./mine write; try find-exec bash -c 'find mine -exec ./mine write \\; | grep fine || exit 126'
try xargs bash -c 'echo write | xargs ./mine; r=$?; [ $r = 126 ] && exit 126; exit $r'
try loader $ld ./mine write; try loader-copy $ld ./copy; try loader-tmp $ld /tmp/mine
try proc-exe bash -c 'exec 5<mine; /proc/self/fd/5 write'; try dev-fd /dev/fd/5 write
try preload bash -c 'LD_PRELOAD=/home/user/mine ls; grep -q "cannot be preloaded" err && exit 126'
try dot-bash bash -c 'hash -p /home/user/mine git; git'
""")

COPY_NAMES = ("own", "tmp", "shm", "copy", "link", "path", "script", "odd", "exec-a", "env",
              "find-exec", "xargs", "loader", "loader-copy", "loader-tmp", "proc-exe", "dev-fd",
              "preload", "dot-bash")

# Programs of the host outside the covered directories: none starts, by itself or by the loader.
OTHERS = attempts("""
count=0; ran=0
while read -r file; do
    count=$((count + 1))
    for way in "" "$ld" /run/loader /run/programs/loader; do
        $way "$file" --version </dev/null >out 2>err
        case $? in 126|127) ;; *) ran=$((ran + 1)); echo "$way $file" >> list;; esac
    done
done < <(find /usr/lib /usr/libexec /usr/share /etc/alternatives/ /run -type f -perm -1 2>/dev/null |
         grep -v '\\.so' | grep -v -e '\\.py$' -e '\\.pl$' | grep -m 60 .)
echo "found $((count > 0))"; echo "ran $ran"; cat list 2>/dev/null
for name in git sh dash python3 perl busybox sudo mount cc vi; do
    for dir in /usr/bin /bin /usr/sbin /sbin /usr/local/bin; do try "$dir/$name" $dir/$name; done
done | grep -v refused
try loader-itself $ld; try real-loader /run/loader /usr/bin/ls; try stub /run/programs/loader /usr/bin/ls
try loader-named $ld /usr/bin/ls
""")

# An interpreter that was named can compute what it likes; it gets no new program either.
NAMED = python("""
import ctypes, errno, mmap, os, subprocess
libc = ctypes.CDLL(None, use_errno=True)
def told(what, call):
    try:
        call()
        print(what, "RAN")
    except OSError as problem:
        print(what, errno.errorcode[problem.errno])
def memfd():
    fd = os.memfd_create("x")
    os.write(fd, open("mine", "rb").read())
    os.execve(fd, ["x"], {})
def map_code():
    fd = os.open("mine", os.O_RDONLY)
    mmap.mmap(fd, 4096, prot=mmap.PROT_READ | mmap.PROT_EXEC, flags=mmap.MAP_PRIVATE)
def unlinked():
    fd = os.open("mine", os.O_RDONLY)
    os.execve(fd, ["x"], {})
os.chmod("mine", 0o755)
told("memfd", memfd)
told("map", map_code)
told("fexecve", unlinked)
told("spawn", lambda: subprocess.run(["/home/user/mine"]))
told("git", lambda: subprocess.run(["git"]))
told("loader", lambda: os.execv("/run/loader", ["/run/loader", "/usr/bin/ls"]))
told("write", lambda: open("/usr/bin/new", "w"))
told("cover", lambda: os.rename("/usr/bin/ls", "/usr/bin/git"))
""")


def with_own_program(what, want):
    def run(bench):
        options = (*LIST, "--file", f"{bench.path_of('honest')}:mine")
        return bench.expect(want, what, options)

    return run


def mounted_programs(bench):
    """A directory that was given to the cell holds programs: data, no commands."""
    path = bench.work / "tools"
    path.mkdir()
    shutil.copy(bench.path_of("honest"), path / "mine")
    text = "try mounted /mnt/t/mine write; try loader $ld /mnt/t/mine write"
    problems = []
    for flag in ("--ro", "--rw"):
        problems += bench.expect(Want(lines=dict.fromkeys(("mounted", "loader"), "refused")),
                                 attempts(text), (*LIST, flag, f"{path}:/mnt/t"),
                                 # as root each cell has the directories mapped to its user
                                 is_own=bench.mode == "root")
    return problems


CASES = [
    Case("100", "what a restricted cell wrote cannot be executed",
         with_own_program(COPIES, Want(lines=dict.fromkeys(COPY_NAMES, "refused")))),
    Case("100.others", "no program but the named ones starts, in whatever way", OTHERS,
         Want(lines={"found": "1", "ran": "0", "loader-itself": "refused",
                     "real-loader": "refused", "stub": "refused", "loader-named": "refused"}),
         LIST, bash("ls / >/dev/null && echo fine")),
    Case("100.named", "a named interpreter gets no new program into the cell",
         with_own_program(NAMED, Want(lines={
             "memfd": "ENOSYS", "map": "EPERM", "fexecve": "EACCES", "spawn": "EACCES",
             "git": "ENOENT", "loader": "EACCES", "write": "EROFS", "cover": ("EROFS", "EXDEV")}))),
    Case("100.mounts", "programs in a given directory stay data", mounted_programs),
]
