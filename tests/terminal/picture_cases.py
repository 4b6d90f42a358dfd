# SPDX-License-Identifier: Apache-2.0
"""Pictures: how they are shown, that the terminal is asked politely, that hostile ones stay inside."""
import base64
import os
import re
import shutil
import struct
import zlib

from screen import display, frames, on_pty, on_screen
from suite import ROOT, Skip, check, claim, contains, equal, lacks

QUESTION = b"\033[c"
BLOCKS = re.compile("[\u2580-\u259f]")


def png(width, height):
    """A red square on blue, in as few lines as the format needs."""
    def chunk(kind, data):
        return (struct.pack(">I", len(data)) + kind + data +
                struct.pack(">I", zlib.crc32(kind + data)))
    rows = b"".join(
        b"\0" + b"".join(b"\xff\0\0" if width // 4 < x < width * 3 // 4 and
                         height // 4 < y < height * 3 // 4 else b"\0\0\xff"
                         for x in range(width))
        for y in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) +
            chunk(b"IEND", b""))


def picture(data=None, mime="image/png"):
    data = png(64, 48) if data is None else data
    return display({"text/plain": "<Figure>", mime: base64.b64encode(data).decode()})


def need_chafa():
    if not os.access("/usr/bin/chafa", os.X_OK):
        raise Skip("needs chafa")


@claim("a picture is drawn with symbols in tmux, within the screen")
def symbols(person):
    need_chafa()
    for size in ((80, 24), (200, 50)):
        lines, code = on_screen(person, frames(person, ["stdout", "before\n"], picture()),
                                size=size, env={"TMUX": "yes"})
        equal(code, 0, "exit status")
        equal(lines[0], "before", "the first line")
        check(BLOCKS.search("".join(lines)), "no symbols:", lines)
        check(len(lines) < size[1] - 1, "taller than the screen:", lines)


@claim("a terminal that says it can gets sixels")
def sixel(person):
    need_chafa()
    _code, shown = on_pty(person, frames(person, picture()), answers={QUESTION: b"\033[?62;4c"})
    contains(shown, "\033P", "the terminal")
    check(re.search("\033P[0-9;]*q[^\033]*\033\\\\", shown), "no whole sixel picture:", shown)


@claim("a terminal that speaks kitty's protocol gets pixels, and is not made to answer")
def kitty(person):
    need_chafa()
    _code, shown = on_pty(person, frames(person, picture()),
                          answers={QUESTION: b"\033_Gi=31;OK\033\\\033[?62;c"})
    picture_head = shown.partition("\033[c")[2][:60]
    contains(picture_head, "\033_Ga=T,q=2,f=", "the picture")
    lacks(picture_head, "t=", "the picture")


@claim("a terminal that does not answer gets symbols")
def silent(person):
    need_chafa()
    _code, shown = on_pty(person, frames(person, picture()))
    check(BLOCKS.search(shown), "no symbols:", shown)


@claim("the terminal is asked once, only for pictures, and not while somebody types")
def polite(person):
    need_chafa()
    said = frames(person, picture(), picture())
    _code, shown = on_pty(person, said, answers={QUESTION: b"\033[?1;2c"})
    equal(shown.count("\033[c"), 1, "number of questions")
    _code, shown = on_pty(person, said, typed=b"typed ahead\n")
    lacks(shown, "\033[c", "the terminal")
    _code, shown = on_pty(person, frames(person, display({"text/plain": "x"})))
    equal(shown, "x\n", "the terminal")


@claim("the environment decides where it tells")
def environment(person):
    need_chafa()
    said = frames(person, picture())
    for env, wanted in (({"TMUX": "x"}, None), ({"KITTY_WINDOW_ID": "1"}, "\033_Ga=T"),
                        ({"TERM": "foot"}, "\033P"), ({"HOTCELL_PICTURES": "sixel"}, "\033P")):
        _code, shown = on_pty(person, said, env=env)
        lacks(shown, "\033[c", f"the terminal with {env}")
        check(wanted in shown if wanted else BLOCKS.search(shown), "not shown with", env, shown)


@claim("without colours a line tells of the picture")
def told(person):
    for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}, {"HOTCELL_PICTURES": "none"}):
        _code, shown = on_pty(person, frames(person, picture()), env=env)
        contains(shown, "[image/png, 64×48 pixels, ", f"the terminal with {env}")
        contains(shown, "--json has it, --out saves a file]", f"the terminal with {env}")


@claim("without chafa the line names the package that shows pictures", ROOT)
def no_chafa(person):
    need_chafa()
    if not shutil.which("unshare"):
        raise Skip("needs unshare (package util-linux)")
    _code, shown = on_pty(person, frames(person, picture()), prefix=[
        "unshare", "-m", "sh", "-c",
        'mount --bind /dev/null /usr/bin/chafa && exec "$@"', "sh"])
    contains(shown, "64×48 pixels", "the terminal")
    contains(shown, "apt-get install chafa", "the terminal")


@claim("a picture that is none is told of, and nothing of it reaches the terminal")
def broken(person):
    need_chafa()
    for data in (b"", b"not a picture", png(64, 48)[:60], b"\x89PNG\r\n\x1a\n" + b"\xff" * 2000):
        _code, shown = on_pty(person, frames(person, picture(data)), env={"TMUX": "x"})
        contains(shown, "[image/png", "the terminal")
        check(not BLOCKS.search(shown), "symbols of a broken picture:", shown)


@claim("a drawing is shown, and cannot read files of the host")
def drawing(person):
    need_chafa()
    secret = person.write(person.path("secret.svg"), "<svg/>")
    svg = ('<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
           f'width="90" height="90"><image xlink:href="file://{secret}" width="9" height="9"/>'
           '<rect x="20" y="20" width="50" height="50" fill="red"/></svg>')
    _code, shown = on_pty(person, frames(person, display({"image/svg+xml": svg})),
                          env={"TMUX": "x"})
    check(BLOCKS.search(shown), "no symbols:", shown)


@claim("a picture too large to draw costs a line and no more")
def bomb(person):
    need_chafa()
    head = struct.pack(">IIBBBBB", 60000, 60000, 8, 2, 0, 0, 0)
    body = zlib.compress(b"\0" * (1 << 20), 9)
    data = b"\x89PNG\r\n\x1a\n"
    for kind, part in ((b"IHDR", head), (b"IDAT", body), (b"IEND", b"")):
        data += struct.pack(">I", len(part)) + kind + part + struct.pack(
            ">I", zlib.crc32(kind + part))
    code, shown = on_pty(person, frames(person, picture(data)), env={"TMUX": "x"})
    equal(code, 0, "exit status")
    contains(shown, "60000×60000 pixels", "the terminal")
