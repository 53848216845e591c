# SPDX-License-Identifier: MIT
"""Programs of the distribution, searched at their end: what seep calls definitely lost is what
Memcheck calls so.

Memcheck knows which memory was never written and takes no pointer from there.  So new blocks are
filled (--fill): what is left in them from their last owner does not hold anything then.
"""
import json
import os
import re
import signal
import subprocess
from contextlib import contextmanager

import pytest

from harness import (
    BUILD, DEADLINE, GIT_ALONE, ROOT, SEEP, clean_environment, end_process, free_port, run,
    wait_until,
)
from leaks import MEMCHECK, function_name, leaks_json, memcheck_records
from test_real_programs import NGINX, answers, fetches

ONE_PROCESS = [*MEMCHECK, "--child-silent-after-fork=yes"]
STARTUP = {"below main", "libc_start_call_main", "libc_start_main_impl", "libc_start_main", "start"}


@pytest.fixture(autouse=True)
def memcheck_is_there(need):
    need("valgrind")


def plain(names):
    """The innermost three, as both tools write them: without prefixes of the C library, its
    start, and what has no name."""
    short = (re.sub(r"^_*(GI_+)?|@.*|[()]", "", name) for name in names)
    return tuple(name for name in short if name not in STARTUP and name != "?")[:3]


def add(sums, key, size, blocks):
    old = sums.get(key, (0, 0))
    sums[key] = (old[0] + size, old[1] + blocks)


def memcheck_lost(report):
    """{class: {innermost functions: (bytes, blocks)}} of what is lost."""
    lost = {"definite": {}, "indirect": {}}
    for kind, size, blocks, frames in memcheck_records(report):
        if kind in lost:
            add(lost[kind], plain([f for f, _ in frames][1:]), size, blocks)
    return lost


def seep_lost(file):
    told = leaks_json("--all-frames", file, show="definite,indirect")
    assert (
        told["leaks"]["scanned"] and told["complete"] and told["leaks"]["reachable"]["blocks"] > 0
    )
    lost = {"definite": {}, "indirect": {}}
    for site in told["sites"]:
        names = [function_name(told["frames"][i]["function"]) for i in site["stack"]]
        for kind in lost:
            if site["leak"][kind]["blocks"]:
                add(
                    lost[kind],
                    plain(names),
                    site["leak"][kind]["bytes"],
                    site["leak"][kind]["blocks"],
                )
    return lost


def check_same(recorder, *argv, env=None, **how):
    """Returns what is definitely lost."""
    folder = recorder.folder()
    bare = run(argv, folder=folder, env=env, **how)
    checked = run(
        [*ONE_PROCESS, f"--xml-file={folder}/memcheck.xml", *argv],
        folder=folder,
        env=env,
        timeout=240,
        **how,
    )
    seen = run(
        [SEEP, "record", "-q", "--fill", "-o", folder / "out.seep", "--", *argv],
        folder=folder,
        env=env,
        **how,
    )
    assert (seen.status, seen.stdout, seen.stderr) == (bare.status, bare.stdout, bare.stderr)
    assert (checked.status, checked.stdout) == (bare.status, bare.stdout)
    assert seep_lost(folder / "out.seep") == memcheck_lost(folder / "memcheck.xml")
    return seep_lost(folder / "out.seep")["definite"]


SQL = b"""CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, value REAL); CREATE INDEX i ON t(name);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
INSERT INTO t SELECT i, printf('%05d', i * 7919 % 20011), i * 0.5 FROM n;
SELECT count(*), sum(value) FROM t; SELECT * FROM t ORDER BY name LIMIT 10;
DELETE FROM t WHERE id % 3 = 0;
SELECT json_group_array(name) FROM (SELECT name FROM t ORDER BY id LIMIT 20); .schema
SELECT nonsense;
"""


def test_sqlite(recorder, need):
    need("sqlite3")
    check_same(recorder, "sqlite3", ":memory:", stdin=SQL)


PYTHON = """import collections, json, re, threading
table = {str(i): [i] * 3 for i in range(2000)}
text = json.dumps(table)
print(len(text), len(re.findall(r"\\d+", text)), sum(len(x) for x in json.loads(text).values()))
print(collections.Counter(text).most_common(3))
class Node: pass
a, b = Node(), Node()
a.other, b.other = b, a
t = threading.Thread(target=print, args=("a thread",)); t.start(); t.join()
raise SystemExit(3)
"""


@pytest.mark.parametrize("allocator", ["pymalloc", "malloc"])
def test_python(recorder, allocator):
    check_same(
        recorder, "/usr/bin/python3", "-c", PYTHON,
        env={"PYTHONMALLOC": allocator, "PYTHONHASHSEED": "0"},
    )


PERL = """use strict; my %h; for my $i (1..3000) { push @{$h{$i % 101}}, "v$i"; } my $t = 0;
for my $k (sort { $a <=> $b } keys %h) { $t += length join ",", @{$h{$k}}; } print "$t\\n";
my $loop = {}; $loop->{self} = $loop; my @w = map { s/1(.)/$1x/r } 1..300; print "@w[0..20]\\n";
exit 3
"""


def test_perl(recorder, need):
    need("perl")
    assert check_same(recorder, "perl", "-e", PERL, env={"PERL_HASH_SEED": "0"})


BASH = """f() { local -a a; for i in {1..50}; do a[i]=$((i*i)); done; echo "${a[@]:3:4}"; }
declare -A m; for w in a b c; do m[$w]=$(echo $w); done; f;
echo "${m[a]} ${m[b]}" | while read x y; do echo "$y$x"; done
shopt -s extglob; [[ abc == +([a-c]) ]] && printf '%q\\n' "it's";
case $x in *) eval 'z=${PATH//:/ }';; esac; unset m; exit 4
"""


def test_bash(recorder):
    check_same(recorder, "bash", "-c", BASH)


GIT_COMMANDS = [
    ["log", "--stat", "-n", "20"],
    ["blame", "main", "--", "file3.txt"],
    ["grep", "-n", "line 17", "main"],
    ["shortlog", "-s", "main"],
    ["diff", "main~3", "main"],
]


@pytest.mark.parametrize("what", GIT_COMMANDS, ids=lambda w: w[0])
def test_git(recorder, repository, what):
    check_same(recorder, "git", "--no-pager", "-C", repository, *what, env=GIT_ALONE)


OPENSSL_COMMANDS = [
    ["dgst", "-sha256", "-hmac", "key"],
    ["enc", "-aes-256-cbc", "-pbkdf2", "-S", "0123456789abcdef", "-pass", "pass:word"],
    ["asn1parse", "-genstr", "UTF8:word"],
    ["ciphers", "-v"],
    ["prime", "-hex", "1F"],
]


@pytest.mark.parametrize("what", OPENSSL_COMMANDS, ids=lambda w: w[0])
def test_openssl(recorder, need, what):
    need("openssl")
    check_same(recorder, "openssl", *what, stdin=b"some text\n" * 100)


@contextmanager
def served(folder, *command):
    """A server of which the end is awaited; its output in a file."""
    with open(folder / "log", "wb") as log:
        server = subprocess.Popen(
            list(map(str, command)),
            env=clean_environment(),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=folder,
        )
        try:
            yield server
            assert server.wait(DEADLINE) == 0
        finally:
            end_process(server)


def server_lost(recorder, work):
    """WORK(folder, prefix) lets the server do something and ends it.  Returns what seep and what
    Memcheck say."""
    memcheck, seep = recorder.folder(), recorder.folder()
    work(memcheck, [*ONE_PROCESS, f"--xml-file={memcheck}/memcheck.xml"])
    work(seep, [SEEP, "record", "-q", "--fill", "-o", seep / "out.seep", "--"])
    return seep_lost(seep / "out.seep"), memcheck_lost(memcheck / "memcheck.xml")


REDIS_WORK = ("".join(f"SET key{i} {'x' * i}\nLPUSH list {i}\nHSET hash f{i} {i}\nZADD sorted {i} "
                      f"m{i}\n" for i in range(1, 100)) + (
    "SORT list LIMIT 0 5\nEVAL \"return redis.call('GET', KEYS[1])\" 1 key7\nEXPIRE key1 100\nDEL "
    "key2 hash\nDBSIZE\nWRONG\n"))


def redis(folder, prefix, work=REDIS_WORK):
    path = folder / "redis.sock"
    options = [
        "--port", "0", "--unixsocket", path, "--save", "", "--appendonly", "no", "--dir", folder,
    ]
    with served(folder, *prefix, "redis-server", *options) as it:
        wait_until(answers(path, b"PING\r\n", b"PONG"), "redis answers", process=it)
        said = subprocess.run(
            ["redis-cli", "-s", str(path)],
            input=work,
            capture_output=True,
            text=True,
            timeout=DEADLINE,
        )
        assert said.stdout.startswith("OK\n1\n1\n1\nOK\n")
        subprocess.run(
            ["redis-cli", "-s", str(path), "SHUTDOWN", "NOSAVE"],
            capture_output=True,
            timeout=DEADLINE,
        )


def test_redis(recorder, need):
    need("redis-server", "redis-cli")
    found, wanted = server_lost(recorder, redis)
    assert found == wanted


def nginx(folder, prefix):
    port = free_port()
    os.chmod(folder, 0o755)
    (folder / "www").mkdir()
    (folder / "www" / "page.txt").write_text("word " * 1000)
    text = NGINX.format(folder=folder, port=port, user="", log="off")
    (folder / "nginx.conf").write_text(
        text.replace(
            "master_process on; worker_processes 2", "master_process off; worker_processes 1"
        )
    )
    with served(folder, *prefix, "nginx", "-p", folder, "-c", folder / "nginx.conf") as it:
        for _ in range(5):
            wait_until(fetches(port), "nginx answers", process=it)
        os.kill(int((folder / "nginx.pid").read_text()), signal.SIGQUIT)


def group_sums(lost):
    """Lost blocks by function, whichever of them counts as the head, and how many heads there
    are."""
    sums = {}
    for kind, functions in lost.items():
        for function, (size, blocks) in functions.items():
            add(sums, function, size, blocks)
    return sums, sum(blocks for _, blocks in lost["definite"].values())


def test_nginx(recorder, need):
    """Its connections and events point to each other: which of these blocks is the head is up to
    their addresses."""
    need("nginx")
    found, wanted = server_lost(recorder, nginx)
    assert group_sums(found) == group_sums(wanted)
    assert found["definite"]


def test_all_classes_of_short_runs(recorder, need):
    """Some of the runs of bench/memcheck, which compares all classes of many programs;
    docs/LEAKS.md has its table."""
    need("sort", "sqlite3", "xmllint", "git", "cc")
    out = recorder.folder() / "pairs.json"
    names = ["sqlite3", "sort", "xmllint", "git log"]
    done = subprocess.run(
        [ROOT / "bench" / "memcheck", "--build", BUILD, "--json", out, "--only", *names],
        capture_output=True,
        text=True,
        env=clean_environment(),
        timeout=2 * DEADLINE,
    )
    assert done.returncode == 0, done.stderr
    pairs = json.loads(out.read_text())
    assert len(pairs) == 6
    for pair in pairs:
        assert pair["apart"] <= sum(pair["memcheck"][0].values()) / 200, pair
