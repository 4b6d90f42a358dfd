# SPDX-License-Identifier: Apache-2.0
"""Values as MIME bundles: text for everything, and pictures, tables, HTML or JSON where a value
has them. Looking at a value runs the program's own code, so every look may fail and is bounded.

`load`, `send`, `flush` and `is_heard` come from core.py.
"""
import sys

TEXT_MAX = 256 << 10  # characters of text/plain
ITEMS_MAX = 2000  # items of containers in a pretty text
DEPTH_MAX = 24  # levels of application/json; a message may have 32
NODES_MAX = 100000
JSON_MAX = 4 << 20  # characters of text in it
ROWS_MAX = 1000
CELLS_MAX = 50000
WIDTH = 79
BUNDLE_MAX = (8 << 20) - (64 << 10)  # bytes of one message, with room for its frame

TABLE = "application/vnd.hotcell.table+json"
METHODS = (
    ("_repr_html_", "text/html"), ("_repr_markdown_", "text/markdown"),
    ("_repr_svg_", "image/svg+xml"), ("_repr_png_", "image/png"),
    ("_repr_jpeg_", "image/jpeg"), ("_repr_latex_", "text/latex"),
    ("_repr_json_", "application/json"),
)


# ---- JSON ----------------------------------------------------------------------------------------


class NotJson(Exception):
    pass


def quote_by_hand(text):
    parts = []
    for char in text:
        if char in '"\\':
            parts.append("\\" + char)
        elif char < " ":
            parts.append("\\u%04x" % ord(char))
        else:
            parts.append(char)
    return '"' + "".join(parts) + '"'


try:
    from _json import encode_basestring as quote
except ImportError:
    quote = quote_by_hand


class Writer:
    """Writes plain data as JSON and refuses what JSON cannot say or a reader would change."""

    def __init__(self):
        self.nodes = NODES_MAX
        self.room = JSON_MAX

    def write(self, value, depth=DEPTH_MAX):
        kind = type(value)
        self.nodes -= 1
        if self.nodes < 0 or depth < 0:
            raise NotJson
        if kind is str:
            self.room -= len(value)
            if self.room < 0:
                raise NotJson
            return quote(value)
        if value is None or kind is bool:
            return "null" if value is None else "true" if value else "false"
        if kind is int and -1 << 63 <= value < 1 << 63:
            return repr(value)
        if kind is float and value - value == 0:
            return repr(value)
        if kind is list or kind is tuple:
            return "[" + ",".join([self.write(item, depth - 1) for item in value]) + "]"
        if kind is dict:
            return "{" + ",".join([self.write_key(key) + ":" + self.write(item, depth - 1)
                                   for key, item in value.items()]) + "}"
        raise NotJson

    def write_key(self, key):
        if type(key) is not str:
            raise NotJson
        return quote(key)


def to_json(value):
    """None when it is no plain data."""
    try:
        return Writer().write(value)
    except (NotJson, RecursionError, RuntimeError):
        return None


# ---- text ----------------------------------------------------------------------------------------


def cut(text):
    if len(text) <= TEXT_MAX:
        return text
    return "%s… %d characters more" % (text[:TEXT_MAX], len(text) - TEXT_MAX)


class Pretty:
    """Nested data, one item a line where a line would be too long, and never all of it when it
    is endless."""

    BRACKETS = {list: "[]", tuple: "()", set: "{}", dict: "{}", frozenset: ("frozenset({", "})")}

    def __init__(self):
        self.items = ITEMS_MAX
        self.active = set()

    def text(self, value, indent=0):
        kind = type(value)
        if kind in (str, bytes) and len(value) > TEXT_MAX:
            return "%r… %d more" % (value[:TEXT_MAX], len(value) - TEXT_MAX)
        if kind not in self.BRACKETS or not value:
            return cut(repr(value))
        if id(value) in self.active or len(self.active) > 50:
            return self.BRACKETS[kind][0] + "..." + self.BRACKETS[kind][1]
        self.active.add(id(value))
        lines = self.lines(value, kind, indent)
        self.active.discard(id(value))
        return self.join(kind, lines, indent)

    def lines(self, value, kind, indent):
        lines = []
        for item in value.items() if kind is dict else value:
            if self.items <= 0:
                lines.append("… %d more" % (len(value) - len(lines)))
                break
            self.items -= 1
            if kind is dict:
                key = cut(repr(item[0])) + ": "
                lines.append(key + self.text(item[1], indent + 1 + len(key)))
            else:
                lines.append(self.text(item, indent + 1))
        return lines

    def join(self, kind, lines, indent):
        first, last = self.BRACKETS[kind]
        if kind is tuple and len(lines) == 1:
            last = ",)"
        whole = first + ", ".join(lines) + last
        if "\n" not in whole and len(whole) + indent <= WIDTH:
            return whole
        return first + (",\n" + " " * (indent + len(first))).join(lines) + last


def plain_text(value):
    if type(value) in Pretty.BRACKETS or type(value) in (str, bytes):
        return cut(Pretty().text(value))
    text = repr(value)
    return cut(text)


# ---- tables --------------------------------------------------------------------------------------


def cell(value):
    """A value of a table as JSON can have it."""
    kind = type(value)
    if value is None or kind in (bool, str):
        return value if kind is not str else value[:TEXT_MAX]
    if kind is int and -1 << 63 <= value < 1 << 63:
        return value
    if kind is float:
        return value if value - value == 0 else None if value != value else str(value)
    if hasattr(kind, "item") and kind.__module__ == "numpy":
        return cell(value.item()) if type(value.item()) is not kind else str(value)
    text = str(value)
    return None if text in ("NaT", "<NA>") else text[:TEXT_MAX]


def table(columns, rows, total):
    names = [str(name) for name in columns]
    return {"columns": names, "rows": [[cell(item) for item in row] for row in rows],
            "total_rows": int(total)}


def rows_for(width):
    return max(1, min(ROWS_MAX, CELLS_MAX // max(1, width)))


def is_plain_index(index):
    return type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1


def pandas_table(value):
    frame = value if type(value).__name__ == "DataFrame" else value.to_frame()
    head = frame.head(rows_for(frame.shape[1] + 1))
    if not is_plain_index(frame.index):
        names = [name if name is not None else "index" if frame.index.nlevels == 1
                 else "level_%d" % i for i, name in enumerate(frame.index.names)]
        index = [item if frame.index.nlevels > 1 else (item,) for item in head.index]
        rows = [tuple(label) + tuple(row)
                for label, row in zip(index, head.itertuples(index=False, name=None))]
        return table(names + list(frame.columns), rows, len(frame))
    return table(frame.columns, head.itertuples(index=False, name=None), len(frame))


def polars_table(value):
    frame = value if type(value).__name__ == "DataFrame" else value.to_frame()
    return table(frame.columns, frame.head(rows_for(frame.width)).rows(), frame.height)


TABLES = (("pandas.", pandas_table), ("polars.", polars_table))


def add_table(data, value):
    kind = type(value)
    if kind.__name__ not in ("DataFrame", "Series"):
        return
    for module, make in TABLES:
        if (kind.__module__ + ".").startswith(module):
            text = to_json(make(value))
            if text:
                data[TABLE] = text
            if "text/html" not in data and kind.__name__ == "Series" and module == "pandas.":
                data["text/html"] = quote(value.to_frame()._repr_html_())


# ---- bundles -------------------------------------------------------------------------------------


def encode(mime, content):
    """The JSON text of one entry; None when there is nothing to send."""
    if content is None:
        return None
    if isinstance(content, (bytes, bytearray, memoryview)):
        import binascii
        return '"' + binascii.b2a_base64(bytes(content), newline=False).decode() + '"'
    if isinstance(content, str):
        if not mime.endswith("json"):
            return quote(str(content))
        try:  # JSON as text is meant as what it says
            import json
            content = json.loads(content)
        except ValueError:
            pass
    return to_json(content)


def is_mime(name):
    first, slash, second = name.partition("/") if isinstance(name, str) else ("", "", "")
    letters = (first + second).translate({ord(c): None for c in "!#$&-^_.+"})
    return bool(first and second and len(name) < 128 and letters.isalnum() and letters.isascii())


class Bundle:
    """MIME types with their content as JSON text."""

    def __init__(self):
        self.data = {}
        self.metadata = {}

    def add(self, mime, content):
        if isinstance(content, tuple) and len(content) == 2:
            content, metadata = content
            if isinstance(metadata, dict):
                self.metadata[mime] = metadata
        text = encode(mime, content)
        if text is not None and is_mime(mime) and len(self.data) < 16:
            self.data[mime] = text

    def add_all(self, bundle):
        if isinstance(bundle, tuple) and len(bundle) == 2:
            bundle, metadata = bundle
            self.metadata.update(metadata or {})
        for mime, content in (bundle or {}).items():
            self.add(mime, content)

    def text(self, event):
        data = ",".join(quote(mime) + ":" + text for mime, text in self.data.items())
        return '{"event":"%s","data":{%s},"metadata":%s}' % (
            event, data, to_json(self.metadata) or "{}")

    def send(self, event):
        """In whole, or what fits with a word about what does not."""
        sizes = {mime: len(text.encode("utf-8", "replace")) for mime, text in self.data.items()}
        if sum(sizes.values()) > BUNDLE_MAX:
            large = ", ".join("%s of %d bytes" % pair for pair in sizes.items()
                              if pair[0] != "text/plain")
            text = self.data.get("text/plain", '""')
            if len(text.encode("utf-8", "replace")) > BUNDLE_MAX // 2:
                text = '""'
            note = quote("\n(left out, too large: %s)" % large)
            self.data = {"text/plain": text[:-1] + note[1:]}
            self.metadata = {}
        flush()
        send(self.text(event))


def attempt(look, *args):
    try:
        return look(*args)
    except Exception:
        return None


def make_bundle(value):
    bundle = Bundle()
    kind = type(value)
    # looked up at the type: a class has no value to show, and a mock has every attribute
    if not isinstance(value, type):
        if hasattr(kind, "_repr_mimebundle_"):
            attempt(bundle.add_all, attempt(value._repr_mimebundle_))
        for name, mime in METHODS:
            if mime not in bundle.data and hasattr(kind, name):
                attempt(bundle.add, mime, attempt(getattr(value, name)))
        if kind.__name__ == "Figure" and "matplotlib.figure" in sys.modules:
            if isinstance(value, sys.modules["matplotlib.figure"].Figure):
                attempt(bundle.add, "image/png", load("figures").picture(value))
        attempt(add_table, bundle.data, value)
    if "text/plain" not in bundle.data:
        text = attempt(plain_text, value)
        bundle.add("text/plain", "<%s>" % kind.__name__ if text is None else text)
    if kind in (dict, list) and "application/json" not in bundle.data:
        text = to_json(value)
        if text is not None:
            bundle.data["application/json"] = text
    return bundle


def tell_result(value):
    make_bundle(value).send("result")


def display(values, options):
    for value in values:
        if not is_heard():
            print(plain_text(value))
            continue
        if options.get("raw") and isinstance(value, dict):
            bundle = Bundle()
            bundle.add_all(value)
        else:
            bundle = make_bundle(value)
        if isinstance(options.get("metadata"), dict):
            bundle.metadata.update(options["metadata"])
        bundle.send("display")
