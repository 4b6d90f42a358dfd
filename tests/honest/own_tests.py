# SPDX-License-Identifier: Apache-2.0
"""What honest programs rely on and CPython's suite, as packaged, does not cover.

Like its modules these tests know nothing of cells: each must end alike in one and outside.
"""
import getpass
import multiprocessing
import os
import pwd
import shutil
import socket
import sqlite3
import subprocess
import tempfile
import threading
import unittest
from multiprocessing import shared_memory
from pathlib import Path


def add_rows(path, count):
    with sqlite3.connect(path, timeout=30) as db:
        for number in range(count):
            db.execute("insert into t values (?)", (number,))
            db.commit()


class Sqlite(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.dir)
        self.path = os.path.join(self.dir, "data.db")

    def fill(self, mode):
        db = sqlite3.connect(self.path)
        self.addCleanup(db.close)
        self.assertEqual(db.execute(f"pragma journal_mode={mode}").fetchone()[0], mode)
        db.execute("create table t (n integer)")
        db.commit()
        workers = [multiprocessing.Process(target=add_rows, args=(self.path, 20))
                   for _ in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        self.assertEqual(db.execute("select count(*), sum(n) from t").fetchone(), (80, 760))
        self.assertEqual(db.execute("pragma integrity_check").fetchone()[0], "ok")

    def test_processes_share_a_wal_database(self):
        self.fill("wal")

    def test_processes_share_a_rollback_database(self):
        self.fill("delete")

    def test_memory_mapped_reads(self):
        db = sqlite3.connect(self.path)
        db.execute("pragma mmap_size=16777216")
        db.execute("create table b (x blob)")
        db.executemany("insert into b values (zeroblob(?))", [(100000,)] * 30)
        db.commit()
        self.assertEqual(db.execute("select sum(length(x)) from b").fetchone()[0], 3000000)
        db.close()

    def test_full_text_search_and_backup(self):
        db, copy = sqlite3.connect(self.path), sqlite3.connect(":memory:")
        db.execute("create virtual table d using fts5(text)")
        db.execute("insert into d values ('the quick brown fox')")
        db.commit()
        db.backup(copy)
        found = copy.execute("select count(*) from d where d match 'fox'").fetchone()
        self.assertEqual(found, (1,))
        db.close()


class Identity(unittest.TestCase):
    def test_names(self):
        entry = pwd.getpwuid(os.getuid())
        self.assertEqual((entry.pw_name, entry.pw_dir), ("user", "/home/user"))
        self.assertEqual(getpass.getuser(), "user")
        self.assertEqual(Path.home(), Path("/home/user"))
        self.assertEqual(os.path.expanduser("~user/x"), "/home/user/x")

    def test_ids(self):
        self.assertGreater(os.getuid(), 0)
        self.assertEqual(len({os.getuid(), os.geteuid(), pwd.getpwnam("user").pw_uid}), 1)
        self.assertEqual(set(os.getgroups()) - {os.getgid()}, set())

    def test_home_is_ours(self):
        self.assertEqual(os.stat(".").st_uid, os.getuid())
        with tempfile.NamedTemporaryFile(dir=".") as file:
            self.assertEqual(os.stat(file.name).st_uid, os.getuid())

    def test_tools_know_us(self):
        for tool, want in ((["id", "-un"], "user"), (["whoami"], "user"), (["pwd"], "/home/user")):
            self.assertEqual(subprocess.check_output(tool, text=True).strip(), want)


class Proc(unittest.TestCase):
    def test_self(self):
        self.assertEqual(int(os.readlink("/proc/self")), os.getpid())
        self.assertEqual(os.path.realpath("/proc/self/cwd"), "/home/user")
        self.assertTrue(os.path.realpath("/proc/self/exe").startswith("/usr/bin/python3"))
        self.assertIn("/usr/bin/python3", Path("/proc/self/maps").read_text())
        self.assertIn("VmRSS", Path("/proc/self/status").read_text())

    def test_threads_are_listed(self):
        gate = threading.Event()
        threads = [threading.Thread(target=gate.wait) for _ in range(5)]
        for thread in threads:
            thread.start()
        self.assertEqual(len(os.listdir("/proc/self/task")), threading.active_count())
        gate.set()
        for thread in threads:
            thread.join()

    def test_children_are_seen(self):
        with subprocess.Popen(["sleep", "100"]) as child:
            status = Path(f"/proc/{child.pid}/status").read_text()
            self.assertIn(f"PPid:\t{os.getpid()}\n", status)
            child.kill()

    def test_descriptors_by_name(self):
        read_fd, write_fd = os.pipe()
        with open(f"/dev/fd/{write_fd}", "w") as end:
            end.write("through a name")
        os.close(write_fd)
        self.assertEqual(os.read(read_fd, 100), b"through a name")
        os.close(read_fd)


class Devices(unittest.TestCase):
    def test_null_zero_full_random(self):
        self.assertEqual(Path("/dev/null").read_bytes(), b"")
        with open("/dev/zero", "rb") as zero, open("/dev/urandom", "rb") as random:
            self.assertEqual(zero.read(100), bytes(100))
            self.assertNotEqual(random.read(100), random.read(100))
        with self.assertRaises(OSError), open("/dev/full", "wb", buffering=0) as full:
            full.write(b"x")

    def test_shared_memory_has_a_name(self):
        block = shared_memory.SharedMemory(create=True, size=100000)
        again = shared_memory.SharedMemory(name=block.name)
        block.buf[:5] = b"hello"
        self.assertEqual(bytes(again.buf[:5]), b"hello")
        again.close()
        block.close()
        block.unlink()


class Plumbing(unittest.TestCase):
    def test_shell_pipeline(self):
        script = "seq 20000 | sort -rn | awk '{ s += $1 } END { print s }' | tee copy; cat copy"
        done = subprocess.run(["sh", "-c", script], capture_output=True, text=True)
        self.assertEqual(done.stdout, "200010000\n" * 2)

    def test_program_of_our_own(self):
        path = Path("hello.sh")
        path.write_text("#!/bin/sh\necho hello from \"$0\"\n")
        path.chmod(0o755)
        self.assertEqual(subprocess.check_output(["./hello.sh"]), b"hello from ./hello.sh\n")
        path.unlink()

    def test_unix_socket_with_descriptor(self):
        ours, theirs = socket.socketpair()
        with tempfile.TemporaryFile() as file:
            file.write(b"passed on")
            file.flush()
            socket.send_fds(ours, [b"x"], [file.fileno()])
            _, fds, _, _ = socket.recv_fds(theirs, 1, 1)
            self.assertEqual(os.pread(fds[0], 100, 0), b"passed on")
            os.close(fds[0])
        ours.close()
        theirs.close()

    def test_pool(self):
        with multiprocessing.Pool(4) as pool:
            self.assertEqual(pool.map(abs, range(-50, 0)), list(range(50, 0, -1)))


if __name__ == "__main__":
    unittest.main()
