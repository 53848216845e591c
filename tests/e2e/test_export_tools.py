# SPDX-License-Identifier: MIT
"""`seep export` for memory tools, CI and the Firefox Profiler: their real readers tell the totals
of the report, and what the program says.

SQLite is in test_sql.py.
"""
import json
import os
import re
import shutil
import sqlite3
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from harness import BUILD, DEADLINE, SEEP, Profile, clean_environment, wait_until
from readers import ask
from test_check_reports import faults, multitool  # noqa: F401  (a fixture)

HERE = Path(__file__).parent
DH_VIEW = Path("/usr/libexec/valgrind/dh_view.js")
LOSSY = ("lose:3:10", "other:1:7", "group", "keep:50")
STEPS = (
    "+red:50:100", "tag:a#b", "+green:20:1000", "-red:30", "+blue:1:5", "-blue:1", "snapshot:two",
    "-green:5",
)


def export(form, file, *options, status=0, out=None):
    """Write FILE as FORM beside it; returns the path, or what was said when it has to fail."""
    out = out or file.with_suffix("." + form)
    done = subprocess.run(
        [SEEP, "export", "--to", form, "-f", "-o", out, *options, file],
        capture_output=True,
        text=True,
        errors="replace",
        env=clean_environment(),
        timeout=DEADLINE,
    )
    assert done.returncode == status, done.stderr
    return done.stderr if status else out


@pytest.fixture(params=["known", "steps", "realloc", "c++", "threads"])
def run(request, compiler, recorder, steps):
    """Programs of different kinds, recorded with an event log."""
    program = {
        "known": ("known.c",),
        "steps": ("steps.c", *STEPS),
        "realloc": ("realloc_forms.c",),
        "c++": ("operators.cpp",),
        "threads": ("named_threads.c",),
    }[request.param]
    made = recorder.record(compiler.build(program[0]), *program[1:], options=["--events"])
    assert made.status == 0, made.stderr
    made.file, made.kind = made.folder / "out.seep", request.param
    return made


@pytest.fixture
def known(compiler, recorder):
    made = recorder.record(compiler.build("known.c"), options=["--events"])
    return made.folder / "out.seep"


@pytest.fixture
def odd(compiler, recorder):
    """A recording of a program without names whose file, arguments and tags have every byte that
    some form gives a meaning to."""
    folder = recorder.folder()
    program = os.fsencode(folder) + b"/a'b\"c;d#e\\\xff<f>&%s[g],h"
    shutil.copy(compiler.build("steps.c"), program)
    subprocess.run(["strip", "-R", ".note.gnu.build-id", program], check=True, timeout=DEADLINE)
    done = subprocess.run(
        [
            SEEP, "record", "--events", "-o",
            folder / "odd.seep",
            "--",
            program,
            *STEPS,
            "tag:<x>#\"'\n\t\u00e9",
            "+red:3:10",
        ],
        capture_output=True,
        env=clean_environment(),
        timeout=DEADLINE,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stderr
    return folder / "odd.seep"


# ---- DHAT ----

def dhat(path, need):
    need("node")
    if not DH_VIEW.exists():
        pytest.skip(f"{DH_VIEW} is not installed")
    return json.loads(ask(["node", HERE / "dhat_reader.js", DH_VIEW, path]))


def test_dh_view_has_the_totals_of_the_report(run, need):
    found, totals = dhat(export("dhat", run.file), need), run.profile.totals
    assert [found[k] for k in ("tb", "tbk", "gb", "gbk", "eb", "ebk")] == [
        totals[k]
        for k in (
            "bytes_allocated", "allocations", "peak_bytes", "peak_blocks", "live_bytes",
            "live_blocks",
        )
    ]
    assert found["leaves"]


def test_dh_view_has_the_stacks(known, need):
    leaves = {
        tuple(re.sub(r"^0x[0-9A-F]+: ", "", f) for f in leaf["frames"]): leaf
        for leaf in dhat(export("dhat", known), need)["leaves"]
    }
    big = next(
        leaf for frames, leaf in leaves.items() if frames[1].startswith("parse_big (known.c:")
    )
    assert (big["tb"], big["tbk"], big["mb"]) == (100000, 10, 100000)
    assert all(
        frames[0] == "[root]"
        and frames[-1].startswith(("main (known.c:", "worker (known.c:", "_dl", "call_init"))
        or "libc" in frames[-1]
        for frames in leaves
        if "parse_big" in frames[1]
    )


def test_dhat_follows_filters(known, need):
    found = dhat(export("dhat", known, "-i", "parse_big"), need)
    assert (found["tb"], found["tbk"], found["eb"]) == (100000, 10, 100000)
    found = dhat(export("dhat", known, "--thread", "seep-worker", "-i", "worker"), need)
    assert (found["tb"], found["tbk"]) == (5 * 777, 5)  # what threads held at the peak is not known


def test_dhat_of_odd_names(odd, need):
    found = dhat(export("dhat", odd), need)
    assert found["tb"] == Profile(odd).totals["bytes_allocated"]
    assert any("a'b\"c;d#e\\" in f for leaf in found["leaves"] for f in leaf["frames"])


# ---- Massif ----

class Massif:
    """What ms_print makes of a file."""

    def __init__(self, path):
        text = ask(["ms_print", "--threshold=0", path])
        self.snapshots = [
            tuple(int(x.replace(",", "")) for x in row)
            for row in re.findall(
                r"^ *(\d+) +([\d,]+) +([\d,]+) +([\d,]+) +([\d,]+) +0$", text, re.M
            )
        ]
        detailed = re.search(r"Detailed snapshots: \[(.*)\]", text).group(1)
        self.detailed = [int(re.match(r"\d+", w).group()) for w in detailed.split(", ")]
        self.peaks = [int(n) for n in re.findall(r"(\d+) \(peak\)", detailed)]
        self.trees = {}  # by snapshot: {line: bytes}
        for number, tree in re.findall(
            r"^ *(\d+) +[\d,]+ +[\d,]+ +[\d,]+ +[\d,]+ +0\n(100.*?)(?=^----|\Z)", text, re.M | re.S
        ):
            self.trees[int(number)] = {
                line: int(size.replace(",", ""))
                for size, line in re.findall(r"\(([\d,]+)B\) (.*)", tree)
            }


def test_ms_print_has_the_peak_and_the_end(run, need):
    need("ms_print")
    found, totals = Massif(export("massif", run.file)), run.profile.totals
    assert len(found.peaks) == 1
    assert found.snapshots[found.peaks[0]][2] == totals["peak_bytes"]
    assert found.snapshots[-1][2] == totals["live_bytes"]
    assert [s[0] for s in found.snapshots] == list(range(len(found.snapshots)))
    times = [s[1] for s in found.snapshots]
    assert times == sorted(times) and times[0] == 0


def test_ms_print_has_the_stacks_of_the_peak(known, need):
    need("ms_print")
    found = Massif(export("massif", known))
    tree = {
        re.sub(r"^0x[0-9A-F]+: | \(.*", "", line): size
        for line, size in found.trees[found.peaks[0]].items()
    }
    assert tree["peak_holder"] == 2000000 and tree["parse_big"] == 100000
    assert tree["main"] in (2000000, 2101000, 100000, 1000)  # one of the stacks that reach it


def test_massif_has_marks_with_their_trees(steps, recorder, need):
    need("ms_print")
    made = recorder.record(steps, *STEPS)
    found = Massif(export("massif", made.folder / "out.seep"))
    for mark in (*made.profile.json["snapshots"], *made.profile.json["tags"]):
        assert any(
            s[2] == mark["live_bytes"] and s[0] in found.detailed for s in found.snapshots
        ), mark


def test_massif_follows_filters(known, need):
    need("ms_print")
    assert Massif(export("massif", known, "-i", "parse_big")).snapshots[-1][2] == 100000
    assert "--thread" in export("massif", known, "--thread", "seep-worker", status=2)


def test_massif_of_odd_names(odd, need):
    need("ms_print")
    path = export("massif", odd)
    assert Massif(path).snapshots[-1][2] == Profile(odd).totals["live_bytes"]
    assert all(
        "#" not in line
        for line in path.read_text().splitlines()
        if not line.startswith("#-----------")
    )


# ---- heaptrack ----

def heaptrack(path, cost, folder):
    """The sum over all stacks that heaptrack_print has for a cost, and {innermost function:
    cost}."""
    folded = folder / "folded"
    ask(["heaptrack_print", "-f", path, "-F", folded, "--flamegraph-cost-type", cost])
    rows = [line.rsplit(" ", 1) for line in folded.read_text(errors="replace").splitlines()]
    by_function = {}
    for stack, value in rows:
        name = re.sub(r" \(.*", "", stack.rstrip(";").split(";")[-1])
        by_function[name] = by_function.get(name, 0) + int(value)
    return sum(int(v) for _, v in rows), by_function


def test_heaptrack_print_has_the_totals_of_the_report(run, need, tmp_path):
    need("heaptrack_print")
    path, totals = export("heaptrack", run.file), run.profile.totals
    failed = 2 if run.kind == "realloc" else 0  # a realloc that fails is one more to heaptrack
    assert heaptrack(path, "leaked", tmp_path)[0] == totals["live_bytes"]
    assert (
        0
        <= heaptrack(path, "peak", tmp_path)[0] - totals["peak_bytes"]
        <= totals["peak_error_bytes"]
    )
    assert 0 <= heaptrack(path, "allocations", tmp_path)[0] - totals["allocations"] <= failed
    if run.kind != "threads":  # there the last allocation of one thread is not the last of all
        assert 0 <= heaptrack(path, "temporary", tmp_path)[0] - totals["temporary"] <= failed


def test_heaptrack_print_has_what_functions_did(known, need, tmp_path):
    need("heaptrack_print")
    path = export("heaptrack", known)
    calls, temporary, leaked = (
        heaptrack(path, cost, tmp_path)[1] for cost in ("allocations", "temporary", "leaked")
    )
    assert (calls["churn"], temporary["churn"], leaked.get("churn", 0)) == (1000, 1000, 0)
    assert (calls["parse_small"], leaked["parse_small"]) == (100, 1000)
    assert (calls["worker"], leaked["worker"]) == (5, 5 * 777)
    text = ask(["heaptrack_print", "-f", path])
    assert (
        re.search(r"known\.c:\d+", text)
        and f"Debuggee command was: {Profile(known).json['args'][0]}" in text
    )


def test_heaptrack_follows_filters(known, need, tmp_path):
    need("heaptrack_print")
    assert heaptrack(export("heaptrack", known, "-i", "parse_big"), "leaked", tmp_path) == (
        100000,
        {"parse_big": 100000},
    )
    assert (
        heaptrack(
            export("heaptrack", known, "--thread", "seep-worker", "-i", "worker"),
            "leaked",
            tmp_path,
        )[0]
        == 5 * 777
    )


def test_heaptrack_of_odd_names(odd, need, tmp_path):
    need("heaptrack_print")
    assert (
        heaptrack(export("heaptrack", odd), "leaked", tmp_path)[0]
        == Profile(odd).totals["live_bytes"]
    )


def test_without_an_event_log_the_command_is_told_and_nothing_written(steps, recorder):
    file = recorder.record(steps, *STEPS).folder / "out.seep"
    assert "seep record --events" in export("heaptrack", file, status=2)
    assert not file.with_suffix(".heaptrack").exists()


def test_long_logs_take_no_more_memory_than_short_ones(steps, recorder):
    most = []
    for rounds in (1000, 300000):
        file = (
            recorder.record(steps, "+red:10:10", f"churn:{rounds}", options=["--events"]).folder
            / "out.seep"
        )
        process = subprocess.Popen(
            [SEEP, "export", "--to", "heaptrack", file],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=clean_environment(),
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0
        most.append((Profile(file).totals["allocations"], usage.ru_maxrss))
    assert most[1][0] > 200 * most[0][0]
    assert most[1][1] < most[0][1] + 4096


def test_a_reader_that_goes_away_ends_the_export(steps, recorder):
    file = recorder.record(steps, "spin:300", options=["--events"]).folder / "out.seep"
    process = subprocess.Popen(
        [SEEP, "export", "--to", "heaptrack", file],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=clean_environment(),
    )
    process.stdout.read(10)
    process.stdout.close()
    assert process.stderr.read() == b"" and process.wait(DEADLINE) == 0


# ---- Firefox Profiler ----

class Profiler:
    """A session of the profiler's command line, ended with the test."""

    def __init__(self, npm, folder):
        self.command = [npm.node24, npm.program("profiler-cli")]
        self.env = {
            **clean_environment(),
            "PROFILER_CLI_SESSION_DIR": str(folder),
            "HOME": str(folder),
            "PROFILER_CLI_NO_SYMBOLICATE": "1",
        }

    def __call__(self, *words):
        done = subprocess.run(
            [*map(str, self.command), *map(str, words)],
            capture_output=True,
            text=True,
            env=self.env,
            timeout=DEADLINE,
        )
        return done.stdout if done.returncode == 0 else None

    def load(self, path):
        self("load", path)  # it waits half a second for its daemon; we wait as long as it takes
        wait_until(lambda: self("status") is not None, "the profiler is ready")

    def total(self, strategy):
        assert self("strategy", strategy) is not None
        found = json.loads(self("thread", "samples", "--json"))
        return found["categoryBreakdown"]["totalSamples"], {
            f["name"].split("!")[-1]: f["totalSamples"] for f in found["topFunctionsByTotal"]
        }


@pytest.fixture
def profiler(npm, tmp_path):
    folder = tmp_path / "profiler"
    folder.mkdir()
    session = Profiler(npm, folder)
    yield session
    session("stop", "--all")


@pytest.mark.parametrize("options", [["--events"], []], ids=["of the log", "of moments"])
def test_the_firefox_profiler_has_the_totals_of_the_report(compiler, recorder, profiler, options):
    made = recorder.record(compiler.build("known.c"), "60", options=options)
    file, totals = made.folder / "out.seep", made.profile.totals
    profiler.load(export("firefox", file))
    retained, functions = profiler.total("native-retained-allocations")
    assert (
        retained == totals["live_bytes"]
        and functions["parse_big"] == 100000
        and functions["worker"] == 5 * 777
    )
    allocated, functions = profiler.total("native-allocations")
    assert (
        allocated == totals["bytes_allocated"]
        and functions["churn"] == 500000
        and functions["peak_holder"] == 2000000
    )
    assert (
        profiler.total("native-deallocations-memory")[0]
        == totals["bytes_allocated"] - totals["live_bytes"]
    )
    counter = json.loads(profiler("counter", "list", "--json"))["counters"][0]
    assert 0 <= counter["stats"][0]["value"] - totals["peak_bytes"] <= totals["peak_error_bytes"]


def rows_of(path):
    return json.loads(path.read_text())["threads"][0]["nativeAllocations"]


def test_firefox_follows_filters(known):
    rows = rows_of(export("firefox", known, "-i", "parse_big"))
    assert sum(rows["weight"]) == 100000 and rows["length"] == 10
    rows = rows_of(export("firefox", known, "--thread", "seep-worker", "-i", "worker"))
    assert (sum(rows["weight"]), rows["length"]) == (5 * 777, 5)


def test_firefox_rows_are_in_order_and_balanced(run):
    rows = rows_of(export("firefox", run.file))
    assert rows["time"] == sorted(rows["time"])
    assert {len(v) for k, v in rows.items() if isinstance(v, list)} == {rows["length"]}
    live = {}
    for weight, address in zip(rows["weight"], rows["memoryAddress"]):
        assert (address in live) == (weight < 0 or (weight == 0 and address in live))
        if weight < 0 or (weight == 0 and address in live):
            assert live.pop(address) == -weight
        else:
            live[address] = weight
    assert (
        sum(live.values()) == run.profile.totals["live_bytes"]
        and len(live) == run.profile.totals["live_blocks"]
    )


def test_firefox_of_odd_names(odd, profiler):
    profiler.load(export("firefox", odd))
    assert profiler.total("native-retained-allocations")[0] == Profile(odd).totals["live_bytes"]
    thread = json.loads(export("firefox", odd).read_text())["threads"][0]
    assert any("a'b\"c;d#e\\" in s for s in thread["stringArray"])
    assert [thread["stringArray"][n] for n in thread["markers"]["name"]][:2] == [
        "tag a#b",
        "snapshot two",
    ]


def test_firefox_by_thread_needs_the_log(compiler, recorder):
    file = recorder.record(compiler.build("known.c")).folder / "out.seep"
    assert "seep record --events" in export("firefox", file, "--thread", "seep-worker", status=2)


# ---- CI ----

@pytest.fixture
def lossy(compiler, recorder):
    return recorder.record(compiler.build("budgets.c"), *LOSSY).folder / "out.seep"


@pytest.mark.parametrize("form", ["sarif", "junit", "valgrind-xml"])
def test_findings_are_those_of_check(lossy, form, tmp_path):
    by_check = tmp_path / "by_check"
    done = subprocess.run(
        [SEEP, "check", "-q", f"--{form}", by_check, lossy],
        capture_output=True,
        env=clean_environment(),
        timeout=DEADLINE,
        cwd=lossy.parent,
    )
    assert done.returncode == 1, done.stderr
    out = tmp_path / "by_export"
    subprocess.run(
        [SEEP, "export", "--to", form, "-o", out, lossy],
        check=True,
        env=clean_environment(),
        timeout=DEADLINE,
        cwd=lossy.parent,
    )
    assert out.read_text() == by_check.read_text()
    assert "cannot be filtered" in export(form, lossy, "-i", "lose", status=2)


def test_findings_have_their_readers(lossy, odd, need, multitool):  # noqa: F811
    need("xmllint")
    for file in (lossy, odd):
        ask(
            [
                "xmllint", "--noout", "--schema", HERE / "junit.xsd",
                export("junit", file, out=file.with_suffix(".junit.xml")),
            ]
        )
        ask(["xmllint", "--noout", export("valgrind-xml", file)])
        assert not {f for f in faults(multitool, export("sarif", file)) if f[1] == "error"}
    leaks = ElementTree.parse(lossy.with_suffix(".valgrind-xml")).getroot().findall("error")
    lost = Profile(lossy).json["leaks"]
    sums = {
        k: (sum(int(e.findtext("xwhat/leakedblocks")) for e in leaks if e.findtext("kind") == k))
        for k in ("Leak_DefinitelyLost", "Leak_IndirectlyLost")
    }
    assert sums == {
        "Leak_DefinitelyLost": lost["definite"]["blocks"],
        "Leak_IndirectlyLost": lost["indirect"]["blocks"],
    }


# ---- names that were chosen to break forms ----

@pytest.fixture(scope="module")
def forged(tmp_path_factory):
    """A recording, and what its functions hold."""
    forge, file = (
        BUILD / "tests" / "unit" / "forge_hostile",
        tmp_path_factory.mktemp("hostile") / "out.seep",
    )
    assert forge.exists(), f"{forge} is not built"
    done = subprocess.run(
        [forge, file], capture_output=True, text=True, check=True, timeout=DEADLINE
    )
    rows = [line.split() for line in done.stdout.splitlines()]
    return file, {bytes.fromhex(name): int(value) for name, value in rows}


def test_hostile_names_in_dhat_and_massif(forged, need):
    need("ms_print")
    file, names = forged
    found = dhat(export("dhat", file), need)
    assert found["eb"] == sum(names.values())
    values = sorted(int(leaf["mb"]) for leaf in found["leaves"])
    assert len(found["leaves"]) == len(names) and values == sorted(names.values())
    assert Massif(export("massif", file)).snapshots[-1][2] == sum(names.values())


def test_hostile_names_in_firefox_and_sqlite(forged, profiler):
    file, names = forged
    path = export("firefox", file)
    readable = {
        "".join(
            "\ufffd" if "\udc80" <= c <= "\udcff" else c for c in n.decode(errors="surrogateescape")
        )
        for n in names
    }
    assert readable <= set(json.loads(path.read_text())["threads"][0]["stringArray"])
    profiler.load(path)
    assert profiler.total("native-retained-allocations")[0] == sum(names.values())
    database = sqlite3.connect(export("sqlite", file))
    assert {r[0] for r in database.execute("SELECT function FROM top")} == readable
    assert database.execute("SELECT sum(live_bytes) FROM folded").fetchone() == (
        sum(names.values()),
    )


# ---- all ----

@pytest.mark.parametrize(
    "form", ["dhat", "massif", "heaptrack", "firefox", "sqlite", "sarif", "junit", "valgrind-xml"]
)
def test_cut_files_give_what_is_whole_or_a_reason(known, form, tmp_path):
    data, cut = known.read_bytes(), tmp_path / "cut.seep"
    for share in (0.2, 0.5, 0.8, 0.97):
        cut.write_bytes(data[:int(len(data) * share)])
        done = subprocess.run(
            [SEEP, "export", "--to", form, cut],
            capture_output=True,
            env=clean_environment(),
            timeout=DEADLINE,
        )
        assert done.returncode in (0, 2, 4), done.stderr
        assert (done.returncode == 0) == (done.stdout != b"") and (
            done.returncode == 0 or done.stderr.startswith(b"seep: ")
        )


@pytest.mark.parametrize(
    "form", ["dhat", "massif", "heaptrack", "firefox", "sqlite", "sarif", "junit", "valgrind-xml"]
)
def test_nothing_at_all_can_be_exported(compiler, recorder, form):
    file = (
        recorder.record(compiler.build("steps.c"), "exit:0", options=["--events"]).folder
        / "out.seep"
    )
    filters = () if form in ("sarif", "junit", "valgrind-xml") else ("-x", ".")
    assert export(form, file, *filters).stat().st_size > 0
