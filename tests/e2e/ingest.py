# SPDX-License-Identifier: MIT
"""ingest.py -- a small server that takes pushed profiles as Pyroscope does, and a reader of what is
in them.

Written from the descriptions of multipart/form-data (RFC 7578) and of pprof's profile.proto, not
from what seep does.
"""
import gzip
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit


def fields(data):
    """(number, value) of each field of a protobuf message; values are numbers or bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag = varint()
        if tag & 7 == 0:
            yield tag >> 3, varint()
        else:
            assert tag & 7 == 2, f"wire type {tag & 7}"
            length = varint()
            assert at + length <= len(data)
            yield tag >> 3, data[at:at + length]
            at += length


def packed(data):
    return [
        value
        for _, value in fields(
            b"".join(bytes([8]) + part for part in re.findall(rb"[\x80-\xff]*[\x00-\x7f]", data))
        )
    ]


class Pprof:
    """A profile: `types` and `samples`, each with the function of its innermost frame."""

    def __init__(self, data):
        parts = {}
        for number, value in fields(gzip.decompress(data)):
            parts.setdefault(number, []).append(value)
        self.strings = [s.decode() for s in parts[6]]
        assert self.strings[0] == ""
        self.types = [self.strings[dict(fields(t))[1]] for t in parts[1]]
        self.units = [self.strings[dict(fields(t))[2]] for t in parts[1]]
        self.time_ns, self.duration_ns = parts[9][0], parts[10][0]
        functions = {
            f[1]: self.strings[f[2]] for f in map(lambda m: dict(fields(m)), parts.get(5, []))
        }
        locations = {}
        for message in parts.get(4, []):
            found = list(fields(message))
            lines = [dict(fields(value)) for number, value in found if number == 4]
            locations[dict(found)[1]] = functions[lines[0][1]] if lines else "?"
        self.samples = []
        for message in parts.get(2, []):
            sample = {number: value for number, value in fields(message) if number < 3}
            stack = [locations[i] for i in packed(sample[1])]
            self.samples.append((stack, dict(zip(self.types, packed(sample[2])))))

    def by_function(self):
        """The values summed by innermost function."""
        sums = {}
        for stack, values in self.samples:
            mine = sums.setdefault(stack[0], dict.fromkeys(self.types, 0))
            for name, value in values.items():
                mine[name] += value
        return sums


def parse_form(content_type, body):
    """{name: (file name, content)} of multipart/form-data."""
    boundary = re.fullmatch(r"multipart/form-data; boundary=([\w'()+,./:=?-]{1,70})", content_type)[
        1
    ].encode()
    begin, *parts, end = body.split(b"--" + boundary)
    assert begin == b"" and end == b"--\r\n"
    found = {}
    for part in parts:
        assert part.startswith(b"\r\n") and part.endswith(b"\r\n")
        head, _, content = part[2:-2].partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        name, file_name = re.fullmatch(
            r'form-data; name="(\w+)"; filename="([\w.]+)"', headers["Content-Disposition"]
        ).groups()
        found[name] = file_name, content
    return found


class Push:
    """One request."""

    def __init__(self, path, headers, body):
        url = urlsplit(path)
        self.path, self.headers = url.path, headers
        self.query = {
            key: values[0]
            for key, values in parse_qs(
                url.query, strict_parsing=True, keep_blank_values=True
            ).items()
        }
        self.form = parse_form(headers["Content-Type"], body)
        self.name, labels = re.fullmatch(r"([\w./-]+)\{([^{}]*)\}", self.query["name"]).groups()
        self.labels = dict(label.split("=") for label in labels.split(","))
        self.start, self.end = int(self.query["from"]), int(self.query["until"])
        self.pprof = Pprof(self.form["profile"][1])
        self.config = json.loads(self.form["sample_type_config"][1])


class Server:
    """Answers as ANSWERS says, one after another, (status, headers, text) each; when they are
    used up, 200.  `taken` has what was answered with 200, `tried` everything.  HANG: never
    answers."""

    def __init__(self, answers=(), hang=False, port=0):
        self.answers, self.hang = list(answers), threading.Event() if hang else None
        self.taken, self.tried, self.lock = [], [], threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                push = Push(self.path, self.headers, body)
                with outer.lock:
                    outer.tried.append(push)
                    status, headers, text = outer.answers.pop(0) if outer.answers else (200, {}, "")
                    if status == 200 and not outer.hang:
                        outer.taken.append(push)
                if outer.hang:
                    outer.hang.wait()
                    return
                self.send_response(status)
                for name, value in {**headers, "Content-Length": len(text)}.items():
                    self.send_header(name, str(value))
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *what):
                pass

        class Http(ThreadingHTTPServer):
            daemon_threads = True
            allow_reuse_port = True  # harness.free_port() keeps it

            def handle_error(self, request, address):
                """A client that went away in the middle is no error of the test; anything else
                shows in what is missing."""

        self.http = Http(("127.0.0.1", port), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        self.thread = threading.Thread(target=self.http.serve_forever, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *why):
        if self.hang:
            self.hang.set()
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()

    def of(self, pid=None):
        with self.lock:
            return [p for p in self.taken if pid in (None, int(p.labels["pid"]))]
