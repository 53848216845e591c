# SPDX-License-Identifier: MIT
"""html --serve: the page and its data for who knows the address, whoever else knocks; views are
what `report` says; a process is shown live."""
import base64
import gzip
import http.client
import json
import os
import re
import resource
import signal
import socket
import subprocess
import time
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest

from harness import DEADLINE, SEEP, clean_environment, end_process, wait_until
from plain import Started

URL = re.compile(rb"http://127\.0\.0\.1:(\d+)/([0-9a-f]{32})/")


class Answer:
    def __init__(self, response):
        self.status, self.headers, self.body = response.status, response.headers, response.read()

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def data(self):
        return json.loads(gzip.decompress(self.body))


class Served:
    """A running `seep html --serve`."""

    def __init__(self, folder, *words):
        self.folder = Path(folder)
        self.files = [open(self.folder / f"serve-{name}", "w+b") for name in ("stdout", "stderr")]
        self.process = subprocess.Popen(
            [SEEP, "html", "--serve", *map(str, words)],
            env=clean_environment(),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=self.files[0],
            stderr=self.files[1],
        )
        found = wait_until(
            lambda: URL.search(self.said(0)), "it says where the page is", process=self.process
        )
        self.port, self.token = int(found[1]), found[2].decode()

    def said(self, which):
        return Path(self.files[which].name).read_bytes()

    def __enter__(self):
        return self

    def __exit__(self, *why):
        status = end_process(self.process, signal.SIGINT)
        for file in self.files:
            file.close()
        assert why[0] or status == 0

    def ask(self, path="", method="GET", token=None, host=None, headers=(), body=None):
        """PATH below the token; "/..." as it is."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE)
        try:
            connection.putrequest(
                method,
                path if path.startswith("/") else f"/{token or self.token}/{path}",
                skip_host=True,
            )
            connection.putheader("Host", host or f"127.0.0.1:{self.port}")
            for name, value in dict(headers).items():
                connection.putheader(name, value)
            connection.endheaders(body)
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def view(self, **words):
        return self.ask("data?" + urlencode(words))

    def connect(self, send=b"", receive_bytes=None):
        s = socket.socket()
        s.settimeout(DEADLINE)
        if receive_bytes:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        s.connect(("127.0.0.1", self.port))
        s.sendall(send)
        return s

    def head(self, path=""):
        return f"GET /{self.token}/{path} HTTP/1.1\r\nHost: localhost:{self.port}\r\n".encode()

    def desk(self):
        """The process that makes data."""
        found = (
            Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        )
        return int(found[0]) if found else None


def read_all(s):
    with s:
        parts = iter(lambda: s.recv(65536), b"")
        return b"".join(parts)


@pytest.fixture
def recording(recorder, steps):
    words = [
        "+red:10:100", "tag:one", "+green:5:1000", "snapshot:two", "-red:4", "+red:3:100",
        "tag:three", "+blue:2:50",
    ]
    return recorder.record(steps, *words).folder / "out.seep"


@pytest.fixture
def served(recording):
    with Served(recording.parent, recording) as s:
        yield s


# ---- the page ----

def test_the_page_has_the_data_and_says_where_newer_are(served):
    page, data = served.ask(), served.ask("data")
    assert (
        page.status == data.status == 200
        and page.headers["Content-Type"] == "text/html; charset=utf-8"
    )
    tag = re.search(
        rb'<script type="application/octet-stream" id="seep-data"([^>]*)>([^<]*)<', page.body
    )
    assert f'data-live="/{served.token}/data"'.encode() in tag[1]
    assert base64.b64decode(tag[2]) == data.body
    assert data.data["seep_page"] == 1 and data.data["live"] is False and data.data["view"] is None
    assert served.ask(host=f"localhost:{served.port}").body == page.body


def test_every_answer_is_for_this_page_only(served):
    for answer in (
        served.ask(), served.ask("data"), served.ask("data?at=nowhere"), served.ask("/"),
        served.ask("none"), served.ask(method="PUT"),
    ):
        assert (
            answer.headers["Cache-Control"] == "no-store"
            and answer.headers["X-Content-Type-Options"] == "nosniff"
        )
        assert (
            answer.headers["Referrer-Policy"] == "no-referrer"
            and answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
        )
        assert answer.headers["Access-Control-Allow-Origin"] is None


def test_the_address_is_told_once_and_on_stdout(served):
    assert served.said(0) == f"http://127.0.0.1:{served.port}/{served.token}/\n".encode()
    assert all(line.startswith(b"seep: ") for line in served.said(1).splitlines())


def test_it_listens_on_this_machine_only(served):
    lines = (
        Path("/proc/net/tcp").read_text().splitlines()
        + Path("/proc/net/tcp6").read_text().splitlines()
    )
    listening = [
        line.split()[1]
        for line in lines[1:]
        if f":{served.port:04X} " in line and line.split()[3] == "0A"
    ]
    assert listening == [f"0100007F:{served.port:04X}"]


# ---- who gets nothing ----

def test_without_the_token_there_is_nothing(served):
    wrong = ("0" if served.token[0] != "0" else "1") + served.token[1:]
    for path in (
        "/", "/data", f"/{wrong}/", f"/{wrong}/data", f"/{served.token}", f"/{served.token[:-1]}/",
        f"/{served.token}x/", f"//{served.token}/", f"/x/{served.token}/",
        f"/%{ord(served.token[0]):02x}{served.token[1:]}/", f"/{served.token.upper()}/../",
        "/favicon.ico",
    ):
        answer = served.ask(path)
        assert answer.status == 403 and len(answer.body) < 100, path


@pytest.mark.parametrize(
    "host",
    [
        "evil.example", "127.0.0.1", "localhost", "127.0.0.1:1", "127.0.0.1:{port}.evil.example",
        "evil.example:{port}", "127.0.0.2:{port}", "[::1]:{port}", "{port}",
        "localhost:{port}:{port}", "localhost.:{port}",
    ],
)
def test_other_names_of_this_machine_get_nothing(served, host):
    assert served.ask(host=host.format(port=served.port)).status == 403


def test_a_request_without_a_host_gets_nothing(served):
    said = read_all(served.connect(f"GET /{served.token}/ HTTP/1.0\r\n\r\n".encode()))
    assert said.startswith(b"HTTP/1.1 403 ")


@pytest.mark.parametrize(
    "method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "get", "X"]
)
def test_only_get_and_head(served, method):
    answer = served.ask(
        "data",
        method=method,
        body=b"x" if method == "POST" else None,
        headers={"Content-Length": "1"} if method == "POST" else {},
    )
    assert answer.status == 405 and answer.headers["Allow"] == "GET, HEAD"
    assert served.ask("data", method=method, token="0" * 32).status == 403


@pytest.mark.parametrize(
    "path",
    [
        "../../../../etc/passwd", "..", "%2e%2e/%2e%2e/etc/passwd", "/etc/passwd", "data/",
        "data/../data", "index.html", "source/etc/passwd", "data%00", "\\..\\x",
    ],
)
def test_there_are_no_other_files(served, path):
    assert served.ask(f"/{served.token}/{path}").status == 404


# ---- HTTP ----

def test_head_is_get_without_the_body(served):
    for path in ("", "data", "none"):
        head, get = served.ask(path, method="HEAD"), served.ask(path)
        assert (
            head.status == get.status
            and head.body == b""
            and head.headers["Content-Length"] == str(len(get.body))
        )


def test_what_the_client_has_is_not_sent_again(served):
    for path in ("", "data", "data?at=one"):
        first = served.ask(path)
        again = served.ask(path, headers={"If-None-Match": first.headers["ETag"]})
        assert (
            again.status == 304
            and again.body == b""
            and again.headers["ETag"] == first.headers["ETag"]
        )
        weak = served.ask(path, headers={"If-None-Match": "W/" + first.headers["ETag"]})
        assert weak.status == 304
        other = served.ask(path, headers={"If-None-Match": '"0000000000000000"'})
        assert other.status == 200 and other.body == first.body
    assert served.ask("data").headers["ETag"] != served.ask("data?at=one").headers["ETag"]


def test_requests_follow_each_other_on_one_connection(served):
    with served.connect() as s:
        connection = http.client.HTTPConnection("127.0.0.1", served.port)
        connection.sock = s
        for path in ("", "data", "data?include=red", "none", "data"):
            connection.request("GET", f"/{served.token}/{path}")
            answer = Answer(connection.getresponse())
            assert answer.body == served.ask(path).body
        assert connection.sock is s
    both = read_all(
        served.connect(
            served.head("none")
            + b"\r\n"
            + served.head("data?at=none")
            + b"Connection: close\r\n\r\n"
        )
    )
    assert re.findall(rb"^HTTP/1.1 (\d+)", both, re.M) == [b"404", b"400"]


@pytest.mark.parametrize(
    "garbage, status",
    [
        (b"\r\n\r\n", 400),
        (b"hello\n", 400),
        (b"GET\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n", 400),
        (b"GET / HTTP/9\r\n\r\n", 400),
        (b"GET http://127.0.0.1/ HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nbad\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (b"\0" * 100 + b"\n", 400),
        (b"GET /" + b"a" * 20000 + b" HTTP/1.1\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 500 + b"\r\n", 431),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_garbage_is_refused_and_the_connection_ends(served, garbage, status):
    said = read_all(served.connect(garbage))
    assert said.startswith(f"HTTP/1.1 {status} ".encode()) and b"Connection: close" in said
    assert served.ask("data").status == 200


def test_slow_clients_hold_nobody_up(served):
    # none of them ever ends its request
    slow = [served.connect(served.head()[:i % 40]) for i in range(100)]
    # nor do these take their answer
    readers = [served.connect(served.head() + b"\r\n", receive_bytes=2048) for _ in range(10)]
    try:
        page = served.ask()
        assert page.status == 200 and served.ask("data?at=one").status == 200
        for s in readers:
            s.sendall(b"")
        whole = http.client.HTTPResponse(readers[0])
        whole.begin()
        assert whole.read() == page.body
    finally:
        for s in slow + readers:
            s.close()


def test_without_descriptors_the_idlest_makes_room(recording, tmp_path):
    with Served(tmp_path, recording) as served:
        pid = served.process.pid
        limit = len(os.listdir(f"/proc/{pid}/fd")) + 3
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (limit, limit))
        idle = [
            socket.create_connection(("127.0.0.1", served.port), timeout=DEADLINE)
            for _ in range(14)
        ]
        start = time.monotonic()
        assert served.ask().status == 200
        # four times ten seconds
        assert time.monotonic() - start < 30, "it waited until the idle ones were too late"
        for connection in idle:
            connection.close()


def test_a_request_may_come_byte_by_byte(served):
    with served.connect() as s:
        for byte in served.head("data") + b"Connection: close\r\n\r\n":
            s.sendall(bytes([byte]))
        assert read_all(s).endswith(served.ask("data").body)


# ---- views ----

FIELDS = {
    "allocs": "allocations",
    "alloc_bytes": "bytes_allocated",
    "live_blocks": "live_blocks",
    "live_bytes": "live_bytes",
}
VIEWS = [
    {"at": "one"},
    {"at": "1"},
    {"at": "three"},
    {"at": "end"},
    {"at": "peak"},
    {"range": "one..three"},
    {"range": "..one"},
    {"range": "two.."},
    {"include": "red"},
    {"exclude": "^(red|blue)$"},
    {"include": "red", "at": "one"},
    {"module": "steps"},
    {"module": "nothing"},
    {"thread": "steps"},
    {"include": "green", "range": "one.."},
]


def sites_of(data):
    [recording] = data["recordings"]
    table = recording["sites"]
    return {
        table["id"][i]: {ours: table[name][i] for name, ours in FIELDS.items()}
        for i in range(table["count"])
        if table["id"][i]
    }


def reported(recording, view):
    # as the page sums up itself
    words = [w for name, value in view.items() for w in (f"--{name}", value)] + [
        "--cost=change"
    ] * ("range" in view)
    done = subprocess.run(
        [SEEP, "report", "--json", *words, recording],
        capture_output=True,
        env=clean_environment(),
        timeout=DEADLINE,
    )
    assert done.returncode == 0, done.stderr
    return {
        s["id"]: {ours: s[ours] for ours in FIELDS.values()}
        for s in json.loads(done.stdout)["sites"]
    }


def without(sites, names):
    return {
        site: {name: value for name, value in values.items() if name not in names}
        for site, values in sites.items()
    }


def with_something(sites):
    return {site: values for site, values in sites.items() if any(values.values())}


@pytest.mark.parametrize("view", VIEWS, ids=urlencode)
def test_a_view_is_what_report_says(served, recording, view):
    answer = served.view(**view)
    assert answer.status == 200, answer.body
    told = reported(recording, view)
    # calls until the peak: the page has all
    unknown = {name for values in told.values() for name, value in values.items() if value is None}
    assert with_something(without(sites_of(answer.data), unknown)) == with_something(
        without(told, unknown)
    )
    told = answer.data["view"]
    assert told["at"] == view.get("at") and told["range"] == view.get("range")
    assert answer.data["recordings"][0]["changes"]["count"] == 0 or not (
        "at" in view or "range" in view
    )
    words = [w for w in ("include", "exclude", "module", "thread") if w in view]
    assert all(view[w] in told["filter"] for w in words) if words else told["filter"] is None


@pytest.mark.parametrize(
    "query, word",
    [
        ("at=nowhere", "nowhere"),
        ("at=99", "99"),
        ("range=three..one", "three"),
        ("range=x", "x"),
        ("include=(", "regular"),
        ("exclude=*%5B", "regular"),
        ("colour=red", "colour"),
        ("at=%", "%"),
        ("at=%00", "%"),
        ("at=one&at=two", "at"),
        ("at=one&range=one..two", "at"),
        ("at=one&thread=steps", "thread"),
        ("at=" + quote("<script>alert(1)</script>"), "script"),
    ],
)
def test_a_wrong_query_is_told_as_json(served, query, word):
    answer = served.ask("data?" + query)
    assert answer.status == 400 and answer.headers["Content-Type"] == "application/json"
    assert word in answer.json["error"]


def test_source_text_comes_only_from_files_of_the_recording(served, steps):
    path = next(
        s for s in served.ask("data").data["recordings"][0]["strings"] if s.endswith("/steps.c")
    )
    answer = served.ask("source?recording=0&file=" + quote(path))
    assert answer.status == 200
    assert answer.json == {
        "file": path,
        "first_line": 1,
        "lines": Path(path).read_text().splitlines(),
    }
    for query in (
        "file=/etc/passwd",
        "file=" + quote(path.replace("/steps.c", "/../programs/steps.c")),
        "file=",
        "",
        "file=steps.c",
        "recording=1&file=" + quote(path),
        "recording=x&file=a",
        "file=" + quote(str(steps)),
    ):
        assert served.ask("source?" + query).status == 400, query


def test_two_recordings_are_served_compared(recorder, steps):
    one, two = (recorder.record(steps, f"+red:{n}:10").folder / "out.seep" for n in (2, 5))
    with Served(one.parent, one, two) as s:
        data = s.ask("data").data
        assert [sum(r["sites"]["allocs"]) for r in data["recordings"]] == [2, 5]
        assert s.view(at="end").status == 400


# ---- work ----

def test_work_that_takes_long_holds_nobody_up(served):
    before = served.view(at="one").body
    desk = served.desk()
    os.kill(desk, signal.SIGSTOP)
    waiting = [
        served.connect(served.head(f"data?include=red{i}") + b"Connection: close\r\n\r\n")
        for i in range(3)
    ]
    try:
        assert served.ask().status == 200 and served.ask("data").status == 200
        assert served.view(at="one").body == before  # known already
        waiting.pop().close()  # one loses patience
    finally:
        os.kill(desk, signal.SIGCONT)
    for s in waiting:
        assert read_all(s).startswith(b"HTTP/1.1 200 ")


def test_work_that_dies_fails_alone(served):
    served.view(at="one")
    desk = served.desk()
    os.kill(desk, signal.SIGSTOP)
    waiting = served.connect(served.head("data?include=red") + b"Connection: close\r\n\r\n")
    # clients are attended in turn: the one before has given its order now
    served.ask("data"), served.ask("data")
    os.kill(desk, signal.SIGKILL)
    assert read_all(waiting).startswith(b"HTTP/1.1 500 ")
    assert served.view(include="red").status == 200 and served.desk() != desk


# ---- a running process ----

@pytest.fixture
def running(recorder, steps):
    folder = recorder.folder()
    words = ["+red:10:100", "ready", "wait", "+green:5:1000", "ready", "wait", "exit:0"]
    with Started(
        folder, SEEP, "record", "-o", folder / "out.seep", "--", steps, *words, library=None
    ) as program:
        program.said(b"ready")
        yield program


def allocated(data):
    recording = data["recordings"][0]
    functions, frames, nodes, sites = (
        recording[name] for name in ("functions", "frames", "nodes", "sites")
    )
    sums = {}
    for i in range(sites["count"]):
        frame = nodes["frame"][sites["node"][i]]
        name = (
            recording["strings"][functions["short"][frames["function"][frame]]]
            if frame >= 0
            else "?"
        )
        sums[name] = sums.get(name, 0) + sites["alloc_bytes"][i]
    return sums


def test_a_process_is_shown_as_it_is_now_and_at_last_as_it_was(running):
    with Served(running.folder, running.pid) as s:
        first = s.ask("data").data
        assert first["live"] is True and first["recordings"][0]["meta"]["running"] is True
        assert allocated(first)["red"] == 1000 and "green" not in allocated(first)
        running.say()
        running.said(b"ready", 2)
        newer = wait_until(
            lambda: (d := s.ask("data").data) and "green" in allocated(d) and d, "newer data come"
        )
        assert newer["live"] is True and allocated(newer)["green"] == 5000
        view = s.view(include="green").data
        assert view["live"] is True and "red" not in {k for k, v in allocated(view).items() if v}
        running.say()
        running.process.wait(DEADLINE)
        last = wait_until(
            lambda: (d := s.ask("data").data) and not d["live"] and d, "the end is told"
        )
        assert allocated(last)["green"] == 5000 and allocated(last)["red"] == 1000
        assert (
            first["recordings"][0]["meta"]["end"] == "still running"
            and "last known state" in last["recordings"][0]["meta"]["end"]
        )
        assert s.ask().status == 200 and s.view(include="green").data["live"] is False
        tag = s.ask("data").headers["ETag"]
        assert s.ask("data", headers={"If-None-Match": tag}).status == 304


def test_a_process_is_looked_at_every_two_seconds_at_most(running):
    with Served(running.folder, running.pid) as s:
        begin, tags = time.monotonic(), set()
        for _ in range(100):
            tags.add(s.ask("data").headers["ETag"])
        assert len(tags) <= (time.monotonic() - begin) / 2 + 2


# ---- questions of the page ----

def test_sql_of_a_recording_is_answered_and_only_reads(served):
    rows = served.ask(
        "sql?" + urlencode({"query": "SELECT function, allocations, bytes_allocated FROM top"})
    ).json
    assert {
        row["function"].split("(")[0]: (row["allocations"], row["bytes_allocated"]) for row in rows
    }.items() >= {"red": (13, 1300), "green": (5, 5000), "blue": (2, 100)}.items()
    for query, words in (
        ("DELETE FROM meta", ""),
        ("SELECT * FROM nowhere", "nowhere"),
        ("-v", ""),
        ("", "missing"),
    ):
        refused = served.ask("sql?" + urlencode({"query": query}))
        assert refused.status == 400 and words in refused.json["error"], (query, refused.body)
    assert served.ask("sql?other=1").status == 400


def test_what_is_done_needs_a_post_and_a_process_that_runs(served):
    for word in ("search", "snapshot"):
        assert served.ask(word).status == 404
        assert served.ask(word, method="POST", token="0" * 32).status == 403
        refused = served.ask(word, method="POST")
        assert refused.status == 400 and "running" in refused.json["error"]
        assert (
            served.ask(word, method="POST", body=b"x", headers={"Content-Length": "1"}).status
            == 405
        )


def test_a_process_is_searched_asked_and_kept_from_its_page(running):
    def marks(data):
        recording = data["recordings"][0]
        return (
            [recording["strings"][label] for label in recording["marks"]["label"] if label >= 0]
            if recording["marks"]["count"]
            else []
        )

    with Served(running.folder, running.pid) as s:
        assert s.ask("data").data["recordings"][0]["leaks"]["scanned"] is False
        found = s.ask("search", method="POST").data["recordings"][0]
        assert found["leaks"]["scanned"] is True and found["owners"] is not None
        assert sum(found["sites"]["reachable_bytes"]) >= 1000
        assert (
            found["leaks"]["reachable"]["bytes"]
            + found["leaks"]["definite"]["bytes"]
            + found["leaks"]["indirect"]["bytes"]
            + found["leaks"]["possible"]["bytes"]
            == found["totals"]["live_bytes"]
        )
        why = s.ask("why?what=red")
        assert why.status == 200 and "red" in why.json["text"], why.body
        assert s.ask("why?what=no_such_function").status == 400
        kept = s.ask("snapshot?label=from%20the%20page", method="POST")
        assert (
            kept.status == 200 and kept.json["seq"] == 1 and kept.json["live_bytes"] >= 1000
        ), kept.body
        wait_until(
            lambda: "from the page" in marks(s.ask("data").data), "the snapshot is among the marks"
        )
        rows = s.ask(
            "sql?" + urlencode({"query": "SELECT live_bytes FROM top WHERE function LIKE 'red%'"})
        ).json
        assert [row["live_bytes"] for row in rows] == [1000]


def test_what_is_not_recorded_cannot_be_served(tmp_path):
    done = subprocess.run(
        [SEEP, "html", "--serve", str(os.getpid())],
        capture_output=True,
        env=clean_environment(),
        cwd=tmp_path,
        timeout=DEADLINE,
    )
    assert done.returncode == 3 and done.stdout == b"" and str(os.getpid()).encode() in done.stderr


@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_it_ends_when_told_and_leaves_nothing(recording, sig):
    with Served(recording.parent, recording) as s:
        s.view(at="one")
        desk = s.desk()
        with s.connect(s.head()):
            assert end_process(s.process, sig) == 0
        assert not Path(f"/proc/{desk}").exists()
    assert sorted(p.name for p in recording.parent.iterdir() if p.suffix == ".html") == []
