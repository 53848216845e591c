# SPDX-License-Identifier: MIT
"""`seep sql` and the SQLite database: the tables are those of docs/SQL.md, their numbers those of
the report and of the program itself.

Every query of docs/SQL.md is run by `seep sql` and by sqlite3 on the exported database.
"""
import csv
import io
import json
import os
import pty
import re
import shutil
import sqlite3
import subprocess

import pytest

from harness import DEADLINE, ROOT, SEEP, clean_environment

MANUAL = (ROOT / "docs" / "SQL.md").read_text()
QUERIES = re.findall(r"```sql\n(.*?)```", MANUAL, re.S)
STEPS = (
    "+red:50:100", "tag:loaded", "snapshot:one", "+green:20:1000", "-red:30", "+blue:1:5",
    "-blue:1", "snapshot:two", "-green:5",
)


def seep(*words, status=0, stdin=b"", cwd=None):
    done = subprocess.run(
        [SEEP, *map(str, words)],
        capture_output=True,
        env=clean_environment(),
        timeout=DEADLINE,
        input=stdin,
        cwd=cwd,
    )
    assert done.returncode == status, done.stderr
    return done


def ask(file, query, *options, **how):
    return json.loads(seep("sql", "--json", *options, file, query, **how).stdout)


def one(file, query):
    """The first value of the first row."""
    return list(ask(file, query)[0].values())[0]


def exported(file, *options):
    out = file.with_suffix(".sqlite")
    seep("export", "--to", "sqlite", "-f", "-o", out, *options, file)
    return out


@pytest.fixture
def run(steps, recorder):
    return recorder.record(steps, *STEPS)


@pytest.fixture
def file(run):
    return run.folder / "out.seep"


# ---- what is there ----

def documented(kind):
    """{name: columns} by the headings and tables of the manual."""
    part = re.search(rf"^## {kind}\n(.*?)(?=^## |\Z)", MANUAL, re.S | re.M).group(1)
    entries = re.split(r"^### ", part, flags=re.M)[1:]
    return {
        re.match(r"`(\w+)`", e).group(1): [
            c
            for line in e.splitlines()
            if line.startswith("| `")
            for c in re.findall(r"`(\w+)`", line.split("|")[1])
        ]
        for e in entries
    }


@pytest.mark.parametrize("kind, word", [("Tables", "table"), ("Views", "view")])
def test_every_table_and_view_is_documented_with_its_columns(file, kind, word):
    database = sqlite3.connect(exported(file))
    names = [
        r[0] for r in database.execute("SELECT name FROM sqlite_schema WHERE type = ?", (word,))
    ]
    there = {n: sorted(r[1] for r in database.execute(f"PRAGMA table_info({n})")) for n in names}
    assert there == {n: sorted(columns) for n, columns in documented(kind).items()}


def test_the_schema_lists_them(file):
    for words, stdin in (
        (("sql", "--schema", file), b""),
        (("sql", file), b""),
        (("sql", file, "-"), b" \n"),
    ):
        text = seep(*words, stdin=stdin).stdout.decode()
        if words[-1] == "-":
            assert text == ""  # nothing was asked
            continue
        assert all(len(line) <= 80 for line in text.splitlines())
        for kind in ("Tables", "Views"):
            for name, columns in documented(kind).items():
                entry = re.search(rf"^  {name} +((?:.*\n)(?: {{14}}.*\n)*)", text, re.M).group(1)
                assert set(re.findall(r"\w+", entry)) == set(columns), name


def test_a_terminal_without_a_query_gets_the_schema(file):
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(SEEP, [str(SEEP), "sql", "--no-pager", str(file)], clean_environment())
    text = b""
    try:
        while part := os.read(terminal, 65536):
            text += part
    except OSError:
        pass  # it has ended
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert b"tables:" in text and b"by_function" in text


def test_the_file_says_whose_it_is(file):
    path = exported(file)
    database = sqlite3.connect(path)
    assert database.execute("PRAGMA application_id").fetchone() == (0x73656570,)
    assert database.execute("PRAGMA user_version").fetchone() == (1,)
    assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert database.execute("PRAGMA foreign_key_check").fetchall() == []
    assert ask(file, "PRAGMA user_version") == [{"user_version": 1}]


# ---- numbers ----

def test_sums_are_those_of_the_report(run, file):
    report = run.profile.json
    meta = {r["key"]: r["value"] for r in ask(file, "SELECT * FROM meta")}
    assert {
        k: meta[k] for k in report["totals"] if k in meta and report["totals"][k] is not None
    } == {k: v for k, v in report["totals"].items() if k in meta and v is not None}
    for column in (
        "allocations", "frees", "bytes_allocated", "live_blocks", "live_bytes", "peak_bytes",
        "temporary",
    ):
        assert one(file, f"SELECT sum({column}) FROM site WHERE heap") == report["totals"][column]
        if column != "frees":
            assert one(file, f"SELECT sum({column}) FROM folded") == report["totals"][column]
    sites = {s["id"]: s for s in report["sites"]}
    for row in ask(file, "SELECT * FROM site"):
        site = sites.pop(row["id"])
        assert {k: row[k] for k in site if k in row and k not in ("stack",)} == {
            k: v for k, v in site.items() if k in row and k != "stack"
        }
        assert (row["definite_blocks"], row["reachable_bytes"]) == (
            site["leak"]["definite"]["blocks"],
            site["leak"]["reachable"]["bytes"],
        )
    assert not sites
    assert (
        json.loads(meta["args"]) == report["args"]
        and meta["pid"] == report["pid"]
        and meta["exit_code"] == 0
    )


def test_functions_have_what_the_program_says(run, file):
    rows = {r["function"]: r for r in ask(file, "SELECT * FROM by_function")}
    for name, truth in run.truth.sites.items():
        if truth["allocs"] == 0:
            continue
        found = rows[name]
        assert (found["allocations"], found["self_allocations"]) == (
            truth["allocs"],
            truth["allocs"],
        )
        assert (found["live_bytes"], found["bytes_allocated"]) == (
            truth["live_bytes"],
            truth["bytes"],
        )
    assert rows["main"]["allocations"] == sum(t["allocs"] for t in run.truth.sites.values())
    assert rows["main"]["self_allocations"] == 0


def test_stacks_are_those_of_the_report(run, file):
    profile = run.profile
    names = {}
    for row in ask(file, "SELECT site, function FROM call ORDER BY site, depth"):
        names.setdefault(row["site"], []).append(row["function"])
    for site in profile.heap_sites():
        whole = [profile.frame(i)["function"] for i in site["stack"]]
        if "main" in whole:
            whole = whole[:whole.index("main") + 1]  # what starts the program is left out
        assert [n for n in names[site["id"]]] == whole
    folded = {r["stack"] for r in ask(file, "SELECT stack FROM folded")}
    assert all(s.startswith("main;") for s in folded if "red" in s.split(";")) and any(
        s.endswith(";red") for s in folded
    )


def test_moments_are_those_of_the_report(run, file):
    report = run.profile.json
    wanted = [
        (s["seq"], s["label"], s["ms"], s["live_bytes"], s["live_blocks"])
        for s in report["snapshots"]
    ]
    found = ask(file, "SELECT seq, label, ms, live_bytes, live_blocks FROM snapshot")
    assert [tuple(r.values()) for r in found] == wanted and len(wanted) == 2
    assert [r["label"] for r in ask(file, "SELECT label FROM mark WHERE type = 'tag'")] == [
        "loaded"
    ]
    # the sites at a moment are the last change of each until then, and add up to the whole
    for moment in ask(file, "SELECT slice, live_bytes FROM snapshot"):
        assert one(file, f"""SELECT sum(c.live_bytes) FROM change c
                             JOIN site s ON s.id = c.site AND s.heap WHERE slice =
                             (SELECT max(slice) FROM change
                              WHERE site = c.site AND slice <= {moment['slice']})"""
                   ) == moment["live_bytes"]


def test_blocks_are_those_that_were_not_freed(run, file):
    rows = ask(file, "SELECT f.name, count(*) AS blocks, sum(b.size) AS bytes FROM block b JOIN "
                     "site s ON s.id = b.site JOIN frame f ON f.id = s.place GROUP BY 1")
    found = {r["name"]: (r["blocks"], r["bytes"]) for r in rows}
    for name, truth in run.truth.sites.items():
        assert found.get(name, (0, 0)) == (truth["live_blocks"], truth["live_bytes"])


def test_leaks_are_those_that_the_program_made(compiler, recorder):
    made = recorder.record(
        compiler.build("leak_classes.c"), "block", "list", "tree", "kept_list", "interior", "both"
    )
    file = made.folder / "out.seep"
    found = {}
    for row in ask(file, "SELECT function, class, sum(bytes) AS bytes, sum(blocks) AS blocks FROM "
                         "leaks GROUP BY 1, 2"):
        found.setdefault(row["function"], {})[row["class"]] = (row["bytes"], row["blocks"])
    for name, classes in made.truth.leaks.items():
        assert found.get(name, {}) == {c: n for c, n in classes.items() if c != "reachable"}, name
    blocks = ask(file, "SELECT class, count(*) AS blocks, sum(size) AS bytes FROM block WHERE NOT "
                       "suppressed GROUP BY class")
    for row in blocks:
        assert one(file, f"SELECT sum({row['class']}_bytes) FROM site") == row["bytes"]
    # what hangs on a lost block is reached from it by pointers
    assert one(file, """WITH RECURSIVE reach(head, block) AS
                        (SELECT id, id FROM block WHERE class = 'definite'
                        UNION SELECT head, to_block FROM reach JOIN ref ON from_block = block)
                        SELECT count(*) FROM block b WHERE b.class = 'indirect'
                        AND NOT EXISTS (SELECT 1 FROM reach WHERE head = b.head
                                        AND block = b.id)""") == 0
    assert one(file, "SELECT count(*) FROM ref") > 0
    assert any("held" in r["owner"] for r in ask(file, "SELECT owner FROM holders"))


def test_threads_and_resources(compiler, recorder):
    known = recorder.record(compiler.build("known.c"))
    rows = {
        r["name"]: r
        for r in ask(
            known.folder / "out.seep", "SELECT name, allocations, bytes_allocated FROM by_thread"
        )
    }
    assert (
        rows["seep-worker"]["allocations"] == 5
        and rows["seep-worker"]["bytes_allocated"] == 5 * 777
    )
    held = recorder.record(compiler.build("resources.c"))
    found = ask(
        held.folder / "out.seep",
        "SELECT r.type, h.handle, h.amount FROM handle h JOIN resource r ON r.id = h.resource",
    )
    assert sorted((r["type"], r["handle"], r["amount"]) for r in found) == sorted(
        (t, h - (h >> 63 << 64), a) for t, _, h, a in held.truth.held
    )


def test_filters_choose_the_stacks(compiler, recorder):
    file = recorder.record(compiler.build("known.c")).folder / "out.seep"
    database = sqlite3.connect(exported(file, "-i", "parse_big"))
    assert database.execute("SELECT function, live_bytes FROM top").fetchall() == [
        ("parse_big", 100000)
    ]
    assert database.execute("SELECT count(*), sum(size) FROM block").fetchone() == (10, 100000)
    assert database.execute("PRAGMA foreign_key_check").fetchall() == []
    database = sqlite3.connect(exported(file, "--thread", "seep-worker", "-i", "worker"))
    assert database.execute("SELECT allocations FROM top").fetchall() == [(5,)]
    seep("export", "--to", "sqlite", "--at", "peak", "-o", file.with_suffix(".db"), file, status=2)


def test_only_the_chosen_threads_have_shares(compiler, recorder):
    file = recorder.record(compiler.build("exports.cpp")).folder / "out.seep"
    # worker-2 has the same stacks
    database = sqlite3.connect(exported(file, "--thread", "worker-1"))
    assert database.execute("SELECT name FROM by_thread").fetchall() == [("worker-1",)]
    assert (
        database.execute("SELECT sum(bytes_allocated) FROM share").fetchone()
        == database.execute("SELECT sum(bytes_allocated) FROM site").fetchone()
    )


def test_a_table_that_is_asked_for_alone_is_whole(compiler, recorder):
    """`seep sql` makes the rows of those tables only that a query reads: each of them has the
    rows that all together have."""
    file = recorder.record(compiler.build("resources.c")).folder / "out.seep"
    database = sqlite3.connect(exported(file))
    filled = 0
    for name in (*documented("Tables"), *documented("Views")):
        rows = database.execute(f"SELECT * FROM {name}").fetchall()
        counted = [r for r in ask(file, f"SELECT * FROM {name}")]
        assert [tuple(r.values()) for r in counted] == rows, name
        filled += bool(rows)
    assert filled > 12


# ---- the documented queries ----

def table(text):
    """The answers in CSV, one after another."""
    return [row for row in csv.reader(io.StringIO(text)) if row]


@pytest.mark.parametrize("number", range(len(QUERIES)))
def test_documented_queries_give_the_same_in_sqlite3(compiler, recorder, need, steps, number):
    need("sqlite3")
    for made in (
        recorder.record(steps, *STEPS),
        recorder.record(
            compiler.build("leak_classes.c"), "block", "list", "tree", "kept_list", "interior",
            "both",
        ),
    ):
        file = made.folder / "out.seep"
        ours = [
            [re.sub("^'(?=[=+@-])", "", cell) for cell in row]
            for row in table(seep("sql", "--csv", file, QUERIES[number]).stdout.decode())
        ]
        theirs = subprocess.run(
            ["sqlite3", "-bail", "-csv", "-header", exported(file), QUERIES[number]],
            capture_output=True,
            text=True,
            env=clean_environment(),
            timeout=DEADLINE,
        )
        assert theirs.returncode == 0, theirs.stderr
        rows = table(theirs.stdout)
        assert [r for r in ours if r in rows] == rows and len(ours) >= len(rows)
        if len(rows) > 1:
            return
    raise AssertionError("neither recording has an answer")


# ---- forms ----

VALUES = ("SELECT 1 AS one, NULL AS none, 2.5 AS real, 'a \"b\", c\n<d>' AS text, x'00ff' AS "
          "bytes, 9223372036854775807 AS large, 1e999 AS infinite")


def test_values_in_every_form(file):
    assert ask(file, VALUES) == [
        {
            "one": 1,
            "none": None,
            "real": 2.5,
            "text": 'a "b", c\n<d>',
            "bytes": "00ff",
            "large": 2**63 - 1,
            "infinite": None,
        }
    ]
    head, row = table(seep("sql", "--csv", file, VALUES).stdout.decode())
    assert head == ["one", "none", "real", "text", "bytes", "large", "infinite"] and row == [
        "1", "", "2.5", 'a "b", c\n<d>', "00ff", str(2**63 - 1), "inf",
    ]
    lines = (
        seep(
            "sql",
            file,
            "SELECT 'x' AS word, 5 AS number UNION ALL SELECT 'longer', 12345 ORDER BY 2",
        )
        .stdout.decode()
        .splitlines()
    )
    assert lines == ["word    number", "x            5", "longer   12345"]
    assert seep("sql", "--no-header", file, "SELECT 7, 'é', 'x'").stdout.decode() == "7  é  x\n"
    assert "\x1b" not in seep("sql", file, "SELECT char(27) || '[31m'").stdout.decode()


def test_several_statements_with_comments(file):
    query = "SELECT 1 AS a; -- first\n/* second */ SELECT 2 AS b;\n;"
    assert seep("sql", file, query).stdout.decode() == "a\n1\n\nb\n2\n"
    assert seep("sql", "--json", file, query).stdout.decode() == '[\n {"a": 1}]\n[\n {"b": 2}]\n'
    assert seep("sql", "--csv", "--no-header", file, query).stdout.decode().split() == ["1", "2"]
    assert seep("sql", "--json", file, "SELECT 1 WHERE 0").stdout.decode() == "[]\n"


ENDLESS = ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i, 'x' || i AS "
           "text FROM n")


@pytest.mark.parametrize("form", [(), ("--csv",), ("--json",)])
def test_a_query_without_an_end_ends_with_its_reader(file, form):
    with subprocess.Popen(
        [SEEP, "sql", *form, file, ENDLESS],
        stdout=subprocess.PIPE,
        env=clean_environment(),
        stdin=subprocess.DEVNULL,
    ) as process:
        assert b"x1" in process.stdout.read(100)
        process.stdout.close()
        assert process.wait(DEADLINE) == 0


def test_long_tables_are_whole(file):
    lines = seep("sql", file, ENDLESS + " LIMIT 600000").stdout.decode().splitlines()
    assert lines[0].split() == ["i", "text"] and [line.split() for line in lines[1:]] == [
        [str(i), f"x{i}"] for i in range(1, 600001)
    ]


def test_where_file_and_query_come_from(file):
    folder = file.parent
    for words, stdin in (
        (("SELECT 42 AS a",), b""),
        (("out.seep", "SELECT 42 AS a"), b""),
        (("SELECT 42 AS a", "out.seep"), b""),
        (("out.seep", "-"), b"SELECT 42 AS a"),
        (("-",), b"SELECT 42 AS a;\n"),
        (("out.seep",), b"SELECT 42 AS a"),
        ((), b"SELECT 42 AS a"),
    ):
        assert seep("sql", *words, stdin=stdin, cwd=folder).stdout.split() == [b"a", b"42"]


def test_the_result_goes_to_a_file_that_is_not_there(file):
    out = file.with_suffix(".csv")
    seep("sql", "--csv", "-o", out, file, "SELECT 1 AS a")
    assert out.read_text().split() == ["a", "1"]
    assert b"-f replaces it" in seep("sql", "-o", out, file, "SELECT 2 AS a", status=2).stderr
    seep("sql", "-f", "-o", out, file, "SELECT 2 AS a")
    assert out.read_text() == "a\n2\n"


# ---- mistakes ----

@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM site", "UPDATE meta SET value = 1", "DROP TABLE site", "CREATE TABLE x(a)",
        "CREATE TEMP TABLE x(a)", "INSERT INTO meta VALUES(1, 2)", "ATTACH 'other.db' AS o",
        "DETACH main", "VACUUM INTO 'other.db'", "PRAGMA writable_schema = 1",
        "PRAGMA query_only = 0", "PRAGMA journal_mode = WAL", "PRAGMA user_version = 7",
        "PRAGMA temp_store_directory = 'x'", "SELECT load_extension('./x.so')", "BEGIN", "REINDEX",
        "ANALYZE",
    ],
)
def test_nothing_but_reading_is_allowed(file, statement):
    done = seep("sql", file, f"SELECT 1; {statement}", status=2, cwd=file.parent)
    assert b"read-only" in done.stderr and done.stdout == b""
    assert not (file.parent / "other.db").exists()


def test_wrong_sql_is_told_with_its_place(file):
    done = seep("sql", file, "SELECT 1;\nSELECT id\nFORM site", status=2)
    lines = done.stderr.decode().splitlines()
    assert lines[0].startswith("seep: SQL: ") and "site" in lines[0]
    assert lines[1:] == ["seep:   FORM site", "seep:        ^"] and done.stdout == b""
    done = seep("sql", file, "SELECT nonsense FROM site", status=2).stderr.decode()
    assert "nonsense" in done and "seep:          ^" in done.splitlines()
    assert (
        "did you mean 'site'" in seep("sql", file, "SELECT 1 FROM sites", status=2).stderr.decode()
    )
    assert "--schema" in seep("sql", file, "SELECT 1 FROM quite_another", status=2).stderr.decode()
    assert "parameters are not supported" in seep("sql", file, "SELECT ?", status=2).stderr.decode()
    assert (
        "overflow"
        in seep("sql", file, "SELECT abs(-9223372036854775807 - 1)", status=2).stderr.decode()
    )


def test_wrong_words(file, tmp_path):
    assert b"quotes" in seep("sql", file, "SELECT", "1", status=2).stderr
    assert b"one of them" in seep("sql", "--csv", "--json", file, "SELECT 1", status=2).stderr
    assert b"takes no query" in seep("sql", "--schema", file, "SELECT 1", status=2).stderr
    assert b"prints text" in seep("sql", "--schema", "--json", file, status=2).stderr
    assert (
        b"--no-header is for"
        in seep("sql", "--no-header", "--json", file, "SELECT 1", status=2).stderr
    )
    assert b"*.seep" in seep("sql", "SELECT 1", status=2, cwd=tmp_path).stderr
    (tmp_path / "text.seep").write_text("hello")
    seep("sql", tmp_path / "text.seep", "SELECT 1", status=4)
    seep("sql", tmp_path / "missing.seep", "SELECT 1", status=4)


def test_a_cut_file_gives_what_is_whole(file, tmp_path):
    data = file.read_bytes()
    for share in (0.3, 0.6, 0.9, 0.99):
        cut = tmp_path / "cut.seep"
        cut.write_bytes(data[:int(len(data) * share)])
        done = subprocess.run(
            [SEEP, "sql", "--json", cut, "SELECT count(*) AS n FROM site"],
            capture_output=True,
            env=clean_environment(),
            timeout=DEADLINE,
        )
        assert done.returncode in (0, 4), done.stderr
        if done.returncode == 0:
            assert json.loads(done.stdout)[0]["n"] >= 0


def test_names_of_any_bytes_are_text(steps, recorder):
    folder = recorder.folder()
    odd = os.fsencode(folder) + b"/a'b\"c;d\n\xff<e>"
    shutil.copy(steps, odd)
    subprocess.run(["strip", "-R", ".note.gnu.build-id", odd], check=True, timeout=DEADLINE)
    done = subprocess.run(
        [SEEP, "record", "-o", folder / "odd.seep", "--", odd, *STEPS],
        capture_output=True,
        env=clean_environment(),
        timeout=DEADLINE,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stderr
    names = {r["name"] for r in ask(folder / "odd.seep", "SELECT name FROM frame")}
    assert any(n.startswith("a'b\"c;d\\012\ufffd<e>+0x") for n in names)
    stacks = [r["stack"] for r in ask(folder / "odd.seep", "SELECT stack FROM folded")]
    assert all("c;d" not in s for s in stacks)  # a ';' ends a frame
    assert (
        seep("sql", folder / "odd.seep", "SELECT name FROM frame WHERE name LIKE '%b_c%'")
        .stdout.decode()
        .count("\n")
        > 1
    )
    database = sqlite3.connect(exported(folder / "odd.seep"))
    assert {r[0] for r in database.execute("SELECT name FROM frame")} == names
