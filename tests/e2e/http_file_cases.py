# SPDX-License-Identifier: Apache-2.0
"""Files of a session over HTTP: in and out, parts of them, and whatever leads astray."""
import hashlib
import json
import os
import shutil
import subprocess
import time

from served import Served, error_of
from http_session_cases import FOREVER, Session, events, next_event
from suite import (HUNG_AFTER, Skip, check, claim, contains, equal, lacks, nothing_left, read,
                   wait_until)


class Files:
    """Those of one session."""

    def __init__(self, session):
        self.served, self.base = session.served, f"/v1/sessions/{session.name}/files"

    def ask(self, method, path="", body=None, **headers):
        """Status, headers and bytes."""
        connection = self.served.tcp()
        connection.request(method, self.base + path, body,
                           {name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()

    def put(self, path, data):
        status, _headers, text = self.ask("PUT", f"/{path}", data)
        equal(status, 200, f"status of putting {path}: {text}")
        return json.loads(text)

    def get(self, path, **headers):
        status, _headers, data = self.ask("GET", f"/{path}", **headers)
        return status, data

    def names(self):
        status, _headers, text = self.ask("GET")
        equal(status, 200, f"status of the list: {text}")
        return sorted(item["path"] for item in json.loads(text)["files"])


@claim("http files: what is put in is there, whole, and comes out as it is")
def round_trip(person):
    data = os.urandom(3 << 20)
    with Served(person) as served, Session(served) as session:
        files = Files(session)
        equal(files.put("in/deep/data.bin", data), {"path": "in/deep/data.bin", "size": len(data)},
              "the answer")
        found = session.exec("import hashlib, os\ns = os.stat('in/deep/data.bin')\n"
                             "print(hashlib.sha256(open('in/deep/data.bin', 'rb').read()).hexdigest(),"
                             " s.st_uid == os.getuid(), os.access('in/deep', os.W_OK))\n"
                             "open('out.txt', 'w').write('made inside')")
        equal(found["stdout"], hashlib.sha256(data).hexdigest() + " True True\n", "in the cell")
        equal(files.get("in/deep/data.bin"), (200, data), "out again")
        equal(files.get("out.txt"), (200, b"made inside"), "a file of the code's")
        equal(files.put("empty", b"")["size"], 0, "an empty one")
        equal(files.get("empty"), (200, b""), "and out")
        files.put("out.txt", b"replaced")
        equal(session.exec("print(open('out.txt').read())")["stdout"], "replaced\n", "replaced")
        chunks = (b"x" * 1000 for _ in range(1000))
        equal(files.ask("PUT", "/chunks", chunks)[0], 200, "status without a length")
        equal(len(files.get("chunks")[1]), 1000000, "its size")
        equal(files.names(), ["chunks", "empty", "in/", "in/deep/", "in/deep/data.bin", "out.txt"],
              "the list")
        equal(files.ask("DELETE", "/in/deep/data.bin")[0], 200, "status of removing a file")
        equal(files.ask("DELETE", "/in/deep")[0], 200, "status of removing an empty directory")
        equal(files.ask("DELETE", "/in/deep")[0], 404, "status of removing it again")
        equal(files.names(), ["chunks", "empty", "in/", "out.txt"], "the list then")
        status, headers, data = files.ask("HEAD", "/chunks")
        equal((status, headers["Content-Length"], data), (200, "1000000", b""), "HEAD")
    nothing_left(person)


@claim("http files: parts of a file by Range")
def ranges(person):
    with Served(person) as served, Session(served) as session:
        files = Files(session)
        files.put("ten", b"0123456789")
        cases = (("bytes=2-4", 206, b"234"), ("bytes=7-", 206, b"789"), ("bytes=-3", 206, b"789"),
                 ("bytes=0-0", 206, b"0"), ("bytes=5-100", 206, b"56789"), ("bytes=-100", 206, None),
                 ("bytes=10-", 416, None), ("bytes=-0", 416, None), ("bytes=4-2", 200, b"0123456789"),
                 ("bytes=1-2,4-5", 200, b"0123456789"), ("lines=1-2", 200, b"0123456789"),
                 ("bytes=99999999999999999999-", 416, None))
        for wanted, status, data in cases:
            found, headers, got = files.ask("GET", "/ten", Range=wanted)
            equal(found, status, f"status of {wanted}")
            if data is not None:
                equal(got, data, f"bytes of {wanted}")
            if status == 206:
                contains(headers["Content-Range"], "/10", f"range of {wanted}")
        tag = files.ask("GET", "/ten")[1]["ETag"]
        equal(files.get("ten", Range="bytes=0-1", If_Range=tag), (206, b"01"), "the same file")
        files.put("ten", b"abcdefghij")
        equal(files.get("ten", Range="bytes=0-1", If_Range=tag), (200, b"abcdefghij"), "another")
        headers = files.ask("GET", "/ten")[1]
        equal((headers["Content-Type"], headers["X-Content-Type-Options"]),
              ("application/octet-stream", "nosniff"), "never a page")


@claim("http files: no path leads out of /home/user, whatever the code puts there")
def astray(person):
    made = ("import os\nos.symlink('/etc/passwd', 'link')\nos.symlink('/', 'root')\nos.mkdir('dir')\n"
            "os.symlink('../..', 'dir/up')\nos.mkfifo('fifo')\nopen('plain', 'w').write('x')\n"
            "open('shut', 'w').write('x')\nos.symlink('plain', 'inner')\n"
            "import socket\ns = socket.socket(socket.AF_UNIX)\ns.bind('sock')")
    with Served(person) as served, Session(served) as session:
        files = Files(session)
        session.exec(made).is_ok()
        for path in ("link", "root/etc/passwd", "dir/up/etc/passwd", "fifo", "sock", "dir", "inner",
                     "../../etc/passwd", "..%2F..%2Fetc%2Fpasswd", "dir/../plain", "./plain",
                     "%2Fetc%2Fpasswd", "dir//x", "dir/", "a" * 300, "/".join("d" * 70), "plain/x"):
            status, data = files.get(path)
            equal(status, 400, f"status of GET {path}: {data[:100]}")
            lacks(data.decode(), "root:", f"GET {path}")
        for path in ("root/tmp/hotcell-outside", "dir/up/x", "../x", "dir", "plain/x", "x/../../y"):
            status, _headers, text = files.ask("PUT", f"/{path}", b"x")
            equal(status, 400, f"status of PUT {path}: {text}")
        check(not os.path.exists("/tmp/hotcell-outside"), "nothing is outside")
        for path in ("root/etc/passwd", "dir/up/home", "..", "dir"):
            equal(files.ask("DELETE", f"/{path}")[0], 400, f"status of DELETE {path}")
        files.put("link", b"over a link")  # which is replaced, not followed
        equal(session.exec("print(os.path.islink('link'), open('link').read())")["stdout"],
              "False over a link\n", "what was a link")
        equal(files.get("plain"), (200, b"x"), "an honest one")
        equal(files.ask("DELETE", "/inner")[0], 200, "a link itself")
        equal(files.get("plain")[0], 200, "what it led to")


@claim("http files: code that exchanges directories for links meanwhile leads nobody out")
def race(person):
    swap = ("import os, threading\nos.mkdir('a'); os.mkdir('b'); open('b/passwd', 'w').write('mine')\n"
            "def work():\n"
            "  while True:\n"
            "    try: os.rename('b', 'a/x'); os.symlink('/etc', 'b'); os.unlink('b'); "
            "os.rename('a/x', 'b')\n"
            "    except OSError: pass\n"
            "threading.Thread(target=work, daemon=True).start()")
    with Served(person) as served, Session(served) as session:
        files = Files(session)
        session.exec(swap).is_ok()
        seen = set()
        end = time.monotonic() + 2
        while time.monotonic() < end:
            status, data = files.get("b/passwd")
            lacks(data.decode(), "root:", "what was read")
            seen.add(status)
            status, _headers, text = files.ask("PUT", "/b/hotcell-test", b"x")
            check(status in (200, 400, 404), "status of PUT", status, text)
        check(not os.path.exists("/etc/hotcell-test"), "nothing is outside")
        check(seen & {200, 404, 400}, "answers", seen)


@claim("http files: a session's disk is the limit, and what does not fit leaves nothing")
def limits(person):
    with Served(person) as served, Session(served, disk="8M") as session:
        files = Files(session)
        status, _headers, text = files.ask("PUT", "/big", os.urandom(12 << 20))
        equal((status, error_of(text)["code"]), (413, "too_large"), "too big")
        equal(files.names(), [], "the files after it")
        status, _headers, text = files.ask("PUT", "/huge", b"", Content_Length=str(2 << 30))
        equal((status, error_of(text)["code"]), (413, "too_large"), "far too big, by its length")
        files.put("fits", os.urandom(4 << 20))
        connection = served.tcp()
        connection.putrequest("PUT", files.base + "/half")
        connection.putheader("Content-Length", "3000000")
        connection.endheaders(b"x" * 1000000)
        connection.close()
        files.put("more", os.urandom(3 << 20))  # for which half of another leaves no room
        equal(files.names(), ["fits", "more"], "the files in the end")
        equal(files.ask("PUT", "/x", b"x")[0], 200, "status of a small one")


@claim("http files: also while code runs, and those of each branch are its own")
def while_busy(person):
    with Served(person) as served, Session(served) as session:
        files = Files(session)
        found = events(session.begin("import os, time\nprint('ready', flush=True)\n"
                                     "while not os.path.exists('go'): time.sleep(0.01)\n"
                                     "print(open('go').read())").getresponse())
        next_event(found, "stdout")
        equal(files.names(), [], "the list while it runs")
        files.put("go", b"went")
        equal(next_event(found, "done")["data"]["stdout"], "ready\nwent\n", "what the code saw")
        wait_until(lambda: session.state() == "idle", "its end")
        equal(session.post("fork", name="branch")[0], 201, "a branch")
        branch = Session.__new__(Session)
        branch.served, branch.name = served, "branch"
        with branch:
            others = Files(branch)
            files.put("go", b"of the first")
            others.put("go", b"of the branch")
            for _ in range(3):
                equal(files.get("go"), (200, b"of the first"), "of the first")
                equal(others.get("go"), (200, b"of the branch"), "of the branch")
            others.put("only", b"1")
            equal((files.names(), others.names()), (["go"], ["go", "only"]), "the lists")
            equal(branch.exec("print(open('go').read())")["stdout"], "of the branch\n", "inside")
            found = events(branch.begin(FOREVER).getresponse())
            next_event(found, "stdout")
            waiting = served.tcp()
            waiting.request("GET", files.base + "/go")
            branch.ask("POST", "/interrupt")
            equal(waiting.getresponse().read(), b"of the first", "one that waited for a branch")


@claim("http: curl makes a session, streams it, uploads to it, and goes on with a download")
def with_curl(person):
    curl = shutil.which("curl")
    if not curl:
        raise Skip("curl is not installed")

    def ask(*args, data=b""):
        ran = subprocess.run([curl, "-sS", "-m", str(HUNG_AFTER), *args], input=data,
                             capture_output=True, check=False)
        equal((ran.returncode, ran.stderr), (0, b""), f"exit status and stderr of curl {args}")
        return ran.stdout

    content = os.urandom(1 << 20)
    with Served(person) as served:
        base = f"http://127.0.0.1:{served.port}/v1/sessions"
        equal(json.loads(ask(base, "-d", '{"name": "curl"}'))["name"], "curl", "a session")
        lines = ask("-N", "-H", "Accept: application/x-ndjson", f"{base}/curl/exec", "-d",
                    '{"code": "for i in range(3): print(i, flush=True)"}').splitlines()
        equal(json.loads(lines[-1])["data"]["stdout"], "0\n1\n2\n", "events")
        answer = ask("-T", "-", f"{base}/curl/files/data.bin", data=content)
        equal(json.loads(answer)["size"], len(content), "an upload of no known length")
        equal(ask(f"{base}/curl/files/data.bin"), content, "a download")
        part = person.path("part")
        with open(part, "wb") as file:
            file.write(content[:300000])
        ask("-C", "-", "-o", part, f"{base}/curl/files/data.bin")
        equal(read(part), content, "a download that was gone on with")
        ask("-X", "DELETE", f"{base}/curl")
    nothing_left(person)


@claim("http files: of a session that is not there, there are none")
def nobody(person):
    with Served(person) as served, Session(served) as session:
        for method, path in (("GET", ""), ("GET", "/x"), ("PUT", "/x"), ("DELETE", "/x")):
            status, text = served.ask(method, f"/v1/sessions/nobody/files{path}")
            equal((status, error_of(text)["code"]), (404, "missing"), f"{method} {path}")
        equal(Files(session).get("nothing")[0], 404, "a file that is not there")
