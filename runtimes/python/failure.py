# SPDX-License-Identifier: Apache-2.0
"""What went wrong, read from the exception itself: kind, place, and the frames of its trace.

`load`, `send`, `flush` and `is_heard` come from core.py.
"""
import itertools
import linecache

FRAMES_MAX = 64
FRAMES_FIRST = 16  # of a longer trace: these of the outermost, the rest of the innermost


def cut(text, size):
    """At most so many bytes."""
    return str(text).encode("utf-8", "replace")[:size].decode("utf-8", "ignore")


def safe_text(value):
    try:
        return str(value)
    except Exception:
        return "<exception str() failed>"


def position(trace):
    """Line and column of a frame, both from 1; the column counts characters."""
    line = trace.tb_lineno or 0
    positions = getattr(trace.tb_frame.f_code, "co_positions", None)
    if positions is None or trace.tb_lasti < 0:
        return line, 0
    start, _, column, _ = next(itertools.islice(positions(), trace.tb_lasti // 2, None),
                               (None,) * 4)
    if start != line or column is None:
        return line, 0
    text = linecache.getline(trace.tb_frame.f_code.co_filename, line).encode("utf-8", "replace")
    return line, len(text[:column].decode("utf-8", "replace")) + 1


def frame(file, line, column, function, source):
    return {"file": cut(file, 4096), "line": line, "column": column,
            "function": cut(function, 256) if function else None,
            "source": cut(source.rstrip(), 4096) if source else None}


def traces(failure):
    """From the outermost to the innermost."""
    found, trace = [], failure.__traceback__
    while trace is not None:
        found.append(trace)
        trace = trace.tb_next
    return found


def frames(found):
    if len(found) > FRAMES_MAX:
        found = found[:FRAMES_FIRST] + found[FRAMES_FIRST - FRAMES_MAX:]
    made = []
    for trace in found:
        code = trace.tb_frame.f_code
        line, column = position(trace)
        source = linecache.getline(code.co_filename, line, trace.tb_frame.f_globals)
        made.append(frame(code.co_filename, line, column, code.co_name, source))
    return made


def is_importing(found):
    """Whether the innermost frame was importing, so that a syntax error is that of a file."""
    import opcode
    if not found:
        return False
    code = found[-1].tb_frame.f_code
    if code.co_filename.startswith("<frozen importlib"):
        return True
    at = found[-1].tb_lasti
    return 0 <= at < len(code.co_code) and code.co_code[at] == opcode.opmap["IMPORT_NAME"]


def syntax_frame(error):
    line = error.lineno if isinstance(error.lineno, int) and error.lineno > 0 else 0
    column = error.offset if isinstance(error.offset, int) and error.offset > 0 else 0
    text = error.text if isinstance(error.text, str) else ""
    return frame(error.filename or "<unknown>", line, column, None, text)


def send_error(kind, failure, value, place, made):
    text = load("values").to_json({
        "event": "error", "kind": kind, "name": cut(type(failure).__name__, 256),
        "value": cut(value, 60000), "line": place[0], "column": place[1], "traceback": made})
    if text:
        send(text)


def tell_syntax(error, path):
    """The program's own file cannot be compiled."""
    last = syntax_frame(error)
    last["file"] = path
    send_error("syntax", error, error.msg or safe_text(error), (last["line"], last["column"]),
               [last])


def tell(failure, path):
    found = traces(failure)
    made = frames(found)
    kind = "import" if isinstance(failure, ImportError) else "runtime"
    place = (0, 0)
    for trace in reversed(found):
        if trace.tb_frame.f_code.co_filename == path:
            place = position(trace)
            break
    value = safe_text(failure)
    if isinstance(failure, SyntaxError) and is_importing(found):
        kind = "syntax"
        made = made[:FRAMES_MAX - 1] + [syntax_frame(failure)]
    send_error(kind, failure, value, place, made)
