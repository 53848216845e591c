# SPDX-License-Identifier: MIT
"""Programs of the distribution say the same and end the same, bare and recorded."""
import os
import re
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from harness import (
    DEADLINE, GIT_ALONE, PROGRAMS, SEEP, Profile, clean_environment, end_process, free_port,
    wait_until,
)


def check_same(recorder, *argv, normal=lambda text: text, **how):
    """NORMAL takes out of the output what differs between any two runs, such as elapsed times."""
    bare, seen = recorder.bare(*argv, **how), recorder.record(*argv, options=["-q"], **how)
    assert seen.status == bare.status, seen.stderr.decode(errors="replace")[-3000:]
    assert normal(seen.stdout) == normal(bare.stdout)
    assert normal(seen.stderr) == normal(bare.stderr)
    assert seen.profile.totals["allocations"] > 0
    assert (seen.profile.totals["unknown_frees"], seen.profile.totals["double_frees"]) == (0, 0)
    return seen


def test_sqlite(recorder, need):
    need("sqlite3")
    script = b"""CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, value REAL);
    CREATE INDEX i ON t(name);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
INSERT INTO t SELECT i, printf('%05d', i * 7919 % 20011), i * 0.5 FROM n;
SELECT count(*), sum(value) FROM t; SELECT * FROM t ORDER BY name LIMIT 10;
DELETE FROM t WHERE id % 3 = 0;
SELECT substr(name, 1, 2) AS p, count(*) FROM t GROUP BY p ORDER BY 2 DESC, 1 LIMIT 5;
SELECT json_group_array(name) FROM (SELECT name FROM t ORDER BY id LIMIT 20); .schema
SELECT nonsense;
"""
    seen = check_same(recorder, "sqlite3", ":memory:", stdin=script)
    assert seen.status == 1


# The long ones wait more than they work: all start together and are awaited one by one.
PYTHON_TESTS = ["test_list", "test_dict", "test_json", "test_threading", "test_subprocess"]


@pytest.fixture(scope="module", autouse=True)
def python_suites(request, tmp_path_factory):
    started = {}
    chosen = {item.name for item in request.session.items}
    for module in PYTHON_TESTS:
        if f"test_python_passes_its_own_tests[{module}]" not in chosen:
            continue
        folder = tmp_path_factory.mktemp(module)
        argv = ["/usr/bin/python3", "-m", "test", "--tempdir", str(folder), module]
        found = subprocess.run(
            [argv[0], "-c", f"import test.{module}"], capture_output=True, env=clean_environment()
        )
        if found.returncode == 0:
            started[module] = (start_recorded(folder, *argv), folder, argv)
    yield started
    for process, _, _ in started.values():
        end_process(process)


def test_perl(recorder, need):
    need("perl")
    script = ('use strict; my %h; for my $i (1..30000) { push @{$h{$i % 101}}, "v$i"; } my $t = 0; '
              'for my $k (sort { $a <=> $b } keys %h) { $t += length join ",", @{$h{$k}}; } print '
              '"$t\\n"; my @w = map { scalar reverse $_ } sort map { $_ * 7919 % 10007 } 1..3000; '
              'print "@w[0..9]\\n"; exit 3')
    assert check_same(recorder, "perl", "-e", script).status == 3


GIT_COMMANDS = [
    ["log", "--stat", "-p"],
    ["log", "--graph", "--oneline"],
    ["gc", "-q"],
    ["blame", "main", "--", "file3.txt"],
]


@pytest.mark.parametrize("what", GIT_COMMANDS, ids=lambda w: w[0] + w[1])
def test_git(recorder, repository, what):
    check_same(recorder, "git", "--no-pager", "-C", repository, *what, env=GIT_ALONE)


@pytest.mark.parametrize(
    "cc,source", [("gcc", "stacks.c"), ("g++", "stress.cpp"), ("clang", "random_trace.c")]
)
def test_compilers_make_the_same_object(recorder, need, tmp_path, cc, source):
    need(cc)
    made = []
    for run in (recorder.bare, recorder.record):
        out = tmp_path / "object.o"
        done = run(cc, "-O2", "-g", "-Wall", "-c", PROGRAMS / source, "-o", out, timeout=120)
        assert done.status == 0, done.stderr.decode()
        made.append(out.read_bytes())
        out.unlink()
        last = done
    assert made[0] == made[1]
    compiled = [p for p in last.profiles() if p.totals["allocations"] > 10000]
    assert compiled, "the compiler proper was not recorded"


def test_compilers_complain_the_same(recorder, tmp_path):
    bad = tmp_path / "bad.cpp"
    bad.write_text("#include <map>\nint main() { std::map<int, int> m; return m.nothing(); }\n")
    bare = recorder.bare("g++", "-c", bad, "-o", "/dev/null")
    seen = recorder.record("g++", "-c", bad, "-o", "/dev/null", options=["-q"])
    assert (seen.status, seen.stderr) == (bare.status, bare.stderr)
    assert seen.status == 1


def start_recorded(folder, *argv, options=()):
    """A server under the tool, its output in a file; the caller ends it."""
    log = open(folder / "log", "wb")
    return subprocess.Popen(
        [SEEP, "record", "-q", *options, "-o", folder / "out.seep", "--", *map(str, argv)],
        env=clean_environment(),
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        cwd=folder,
    )


def answers(path, question, wanted):
    def ask():
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(5)
            try:
                s.connect(str(path))
                s.sendall(question)
                return wanted in s.recv(4096)
            except OSError:
                return False
    return ask


def test_redis_serves_its_benchmark(recorder, need):
    need("redis-server", "redis-benchmark", "redis-cli")
    folder = recorder.folder()
    path = folder / "redis.sock"
    server = start_recorded(
        folder, "redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--appendonly",
        "no", "--dir", folder,
    )
    try:
        wait_until(answers(path, b"PING\r\n", b"PONG"), "redis answers", process=server)
        load = ["-n", "5000", "-c", "20", "-q", "-t", "set,get,lpush,lrange_100,mset"]
        done = subprocess.run(
            ["redis-benchmark", "-s", str(path), *load], capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0 and "requests per second" in done.stdout, (
            done.stdout + done.stderr
        )
        said = subprocess.run(
            ["redis-cli", "-s", str(path)],
            input="SET k v\nGET k\nDBSIZE\n",
            capture_output=True,
            text=True,
            timeout=DEADLINE,
        )
        assert said.stdout.startswith("OK\nv\n")
        subprocess.run(
            ["redis-cli", "-s", str(path), "SHUTDOWN", "NOSAVE"],
            capture_output=True,
            timeout=DEADLINE,
        )
        assert server.wait(DEADLINE) == 0
    finally:
        end_process(server)
    profile = Profile(folder / "out.seep")
    assert profile.totals["allocations"] > 10000
    assert (
        profile.totals["unknown_frees"],
        profile.totals["double_frees"],
        profile.totals["mismatched"],
    ) == (0, 0, 0)


def test_redis_answers_after_reports_on_demand(recorder, need):
    """It would die of the signal; here it waits in epoll_wait, gives a report and goes on."""
    need("redis-server", "redis-cli")
    folder = recorder.folder()
    path = folder / "redis.sock"
    server = start_recorded(
        folder, "redis-server", "--port", "0", "--unixsocket", path, "--save", "", "--appendonly",
        "no", "--dir", folder,
        options=["--signal=USR1"],
    )
    try:
        wait_until(answers(path, b"PING\r\n", b"PONG"), "redis answers", process=server)
        pid = int(
            (Path("/proc") / str(server.pid) / "task" / str(server.pid) / "children")
            .read_text()
            .split()[0]
        )
        for seq in (1, 2):
            os.kill(pid, signal.SIGUSR1)
            wait_until(
                lambda: list(folder.glob(f"redis-*-{pid}-{seq}.memlog")),
                f"report {seq}",
                process=server,
            )
            assert answers(path, b"PING\r\n", b"PONG")()
        subprocess.run(
            ["redis-cli", "-s", str(path), "SHUTDOWN", "NOSAVE"],
            capture_output=True,
            timeout=DEADLINE,
        )
        assert server.wait(DEADLINE) == 0
    finally:
        end_process(server)
    assert [s["seq"] for s in Profile(folder / "out.seep").json["snapshots"]][:2] == [1, 2]


NGINX = """{user} daemon off; master_process on; worker_processes 2; pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 128; }}
http {{ access_log {log}; client_body_temp_path {folder}/b; proxy_temp_path {folder}/p;
fastcgi_temp_path {folder}/f;
  uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  server {{ listen 127.0.0.1:{port} reuseport; root {folder}/www; gzip on; gzip_min_length 1;
  gzip_types text/plain; }} }}
"""


def fetches(port):
    def ask():
        try:
            with socket.create_connection(("127.0.0.1", port), 5) as s:
                s.sendall(b"GET /page.txt HTTP/1.0\r\n\r\n")
                return b"200 OK" in s.recv(4096)
        except OSError:
            return False
    return ask


def start_nginx(folder, port, log):
    os.chmod(folder, 0o755)
    (folder / "www").mkdir()
    (folder / "www" / "page.txt").write_text("word " * 1000)
    user = "user root;" if os.geteuid() == 0 else ""
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder, port=port, user=user, log=log))
    return start_recorded(folder, "nginx", "-p", folder, "-c", folder / "nginx.conf")


def test_nginx_reopens_its_logs_at_the_signal_that_is_also_ours(recorder, need):
    need("nginx")
    folder, port = recorder.folder(), free_port()
    log, old = folder / "access.log", folder / "access.old"
    server = start_nginx(folder, port, log)
    try:
        wait_until(fetches(port), "nginx answers", process=server)
        master = int((folder / "nginx.pid").read_text())
        log.rename(old)
        os.kill(master, signal.SIGUSR1)
        wait_until(log.exists, "a new log", process=server)
        assert wait_until(
            lambda: fetches(port)() and log.read_text(), "a line in the new log", process=server
        )
        os.kill(master, signal.SIGQUIT)
        assert server.wait(DEADLINE) == 0
    finally:
        end_process(server)
    assert "GET /page.txt" in old.read_text() and list(folder.glob("*.memlog")) == []


def test_nginx_serves_its_benchmark(recorder, need):
    need("nginx", "ab")
    folder, port = recorder.folder(), free_port()
    server = start_nginx(folder, port, "off")
    try:
        wait_until(fetches(port), "nginx answers", process=server)
        done = subprocess.run(
            [
                "ab", "-q", "-n", "2000", "-c", "20", "-H", "Accept-Encoding: gzip",
                f"http://127.0.0.1:{port}/page.txt",
            ],
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert re.search(r"Complete requests:\s+2000\nFailed requests:\s+0\n", done.stdout), (
            done.stdout + done.stderr
        )
        master = int((folder / "nginx.pid").read_text())
        os.kill(master, signal.SIGQUIT)  # finish what was begun
        assert server.wait(DEADLINE) == 0
    finally:
        end_process(server)
    assert Profile(folder / "out.seep").totals["allocations"] > 100


@pytest.mark.parametrize("module", PYTHON_TESTS)
def test_python_passes_its_own_tests(python_suites, module):
    if module not in python_suites:
        pytest.skip(f"python's own {module} is not installed (libpython3-testsuite)")
    process, folder, argv = python_suites[module]
    status = process.wait(240)
    text = (folder / "log").read_text(errors="replace")
    if status:
        bare = subprocess.run(
            argv,
            env=clean_environment(),
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=240,
        )
        assert status == bare.returncode, text[-6000:]
        pytest.skip(f"{module} fails here without the tool too, with status {status}")
    assert "Tests result: SUCCESS" in text
    profile = Profile(folder / "out.seep")
    assert profile.totals["allocations"] > 1000
    assert (profile.totals["unknown_frees"], profile.totals["double_frees"]) == (0, 0)


@pytest.mark.parametrize("follow", ["exec", "all"])
def test_python_processes_work_together(recorder, follow):
    """The three of a pool wait for each other: one that the others leave no work is killed at
    the end, maybe before it ever ran."""
    script = ("import multiprocessing as m\n"
              "def begin(all): all.wait()\n"
              "def f(x): return sum(bytearray(x * 1000)) + x\n"
              "if __name__ == '__main__':\n"
              "    for how in ('fork', 'spawn'):\n"
              "        c = m.get_context(how)\n"
              "        with c.Pool(3, begin, (c.Barrier(3),)) as p: print(how, sum(p.map(f, "
              "range(40))))\n")
    program = recorder.folder() / "pool.py"
    program.write_text(script)
    seen = recorder.record("/usr/bin/python3", program, options=["-q", f"--follow={follow}"])
    assert (seen.status, seen.stdout, seen.stderr) == (0, b"fork 780\nspawn 780\n", b"")
    profiles = seen.profiles()
    assert len(profiles) >= (8 if follow == "all" else 5)
    assert all((p.totals["unknown_frees"], p.totals["double_frees"]) == (0, 0) for p in profiles)
