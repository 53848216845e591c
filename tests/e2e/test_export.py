# SPDX-License-Identifier: MIT
"""`seep export`: the command, and the forms that are text, read by their real readers:
collapsed, speedscope, gprof2dot, csv, json."""
import csv
import json
import os
import pty
import subprocess
import xml.etree.ElementTree as ElementTree
from collections import Counter
from contextlib import contextmanager

import pytest

from exporter import COSTS, OF_PEAK, OF_TIME, Exporter
from harness import DEADLINE, SEEP, clean_environment, run
from readers import FirefoxProfiler

SELECTIONS = [
    (),
    ("--at", "hosted"),
    ("--at", "peak"),
    ("--range", "descended..hosted"),
    ("-i", "descend|host"),
    ("-x", "^descend"),
    ("--thread", "worker-.*"),
    ("--depth-merge", "2"),
]


def folded(text):
    """Stacks of collapsed text."""
    found = Counter()
    for line in text.splitlines():
        stack, value = line.rsplit(" ", 1)
        found[tuple(stack.split(";"))] += int(value)
    return found


def chosen(options):
    """A cost that the selection knows."""
    return "live-bytes" if options and options[0] != "--range" else "alloc-bytes"


# ---- the command ----

def test_list_explains_every_form(export):
    out = export.seep("export", "--to", "list").stdout.decode()
    assert all(len(line) <= 80 for line in out.splitlines()), out
    words = [line[2:].split()[0] for line in out.splitlines()[1:] if "NAME" in line]
    assert "--range" in out.split("options that only some formats support")[1]
    wrong = export.seep("export", export.recording)
    assert wrong.returncode == 2 and wrong.stdout == b""
    assert all(word in wrong.stderr.decode() for word in words)
    assert {"pprof", "collapsed", "speedscope", "callgrind", "gprof2dot", "csv", "json"} <= set(
        words
    )
    helped = export.seep("export", "--help").stdout.decode()
    assert all(f" {word} " in helped for word in words)
    option = next(
        line.split("\t")
        for line in export.seep("help", "--table").stdout.decode().splitlines()
        if "\tto\tFORMAT\t" in line
    )
    assert set(option[4].split("|")) == {"list", *words, "..."}  # what completion offers


@pytest.mark.parametrize(
    "options,words",
    [
        (("--to", "colapsed"), "did you mean collapsed?"),
        (("--to", "xyzzy"), "--to list describes"),
        (("--to", "collapsed", "--cost", "nothing"), "unknown cost"),
        (
            ("--to", "collapsed", "--cost", "peak-bytes", "--at", "hosted"),
            "live, total and allocs only",
        ),
        (
            ("--to", "collapsed", "--cost", "leaked-bytes", "--at", "hosted"),
            "known for the whole run only",
        ),
        (
            ("--to", "pprof", "--cost", "leaked-bytes", "--range", "descended..hosted"),
            "known for the whole run only",
        ),
        (("--to", "collapsed", "--at", "nowhere"), "nowhere"),
        (("--to", "collapsed", "--at", "hosted", "--range", "descended..hosted"), "contradict"),
        (("--to", "collapsed", "-i", "("), "-i"),
        (("--to", "junit", "--depth-merge", "2"), "--depth-merge"),
        (("--to", "heaptrack", "--depth-merge", "2"), "--depth-merge"),
        (("--to", "collapsed", "-o", "/"), "it is a directory"),
    ],
)
def test_wrong_words(export, options, words):
    done = export.seep("export", *options, export.recording)
    assert done.returncode == 2 and done.stdout == b""
    assert words in done.stderr.decode() and all(
        line.startswith("seep: ") for line in done.stderr.decode().splitlines()
    )


def test_a_file_that_is_no_recording(export):
    other = export.folder / "other.seep"
    other.write_text("no recording")
    done = export.seep("export", "--to", "collapsed", other)
    assert done.returncode == 4 and "other.seep" in done.stderr.decode()


def test_a_file_is_replaced_only_when_asked(export):
    out = export.folder / "out.whatever"
    assert export.seep("export", "--to", "collapsed", "-o", out, export.recording).returncode == 0
    first = out.read_bytes()
    again = export.seep("export", "--to", "speedscope", "-o", out, export.recording)
    assert again.returncode == 2 and b"-f" in again.stderr and out.read_bytes() == first
    assert (
        export.seep("export", "--to", "speedscope", "-f", "-o", out, export.recording).returncode
        == 0
    )
    assert json.loads(out.read_text())["exporter"].startswith("seep@")


@pytest.mark.parametrize(
    "words",
    [("export", "--to", "collapsed"), ("report", "--flat"), ("html",), ("leaks",), ("sql",)],
)
def test_a_recording_is_never_replaced_by_what_is_told_of_it(export, words):
    copy = export.folder / "copy.seep"
    copy.write_bytes(export.recording.read_bytes())
    done = export.seep(*words, "-f", "-o", copy, copy)
    assert (
        done.returncode == 2 and done.stdout == b"" and b"copy.seep is a recording" in done.stderr
    )
    assert copy.read_bytes() == export.recording.read_bytes()


@contextmanager
def terminal():
    ours, theirs = pty.openpty()
    try:
        yield ours, theirs
    finally:
        os.close(ours)


def on_terminal(*words):
    """Run with stdout and stderr on a terminal: what it said, and its status."""
    with terminal() as (ours, theirs):
        process = subprocess.Popen(
            [SEEP, *map(str, words)],
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=theirs,
            env=clean_environment(),
        )
        os.close(theirs)
        said = b""
        try:
            while more := os.read(ours, 65536):
                said += more
        except OSError:  # the other end is closed
            pass
        return process.wait(DEADLINE), said.decode()


def test_a_terminal_gets_text_but_never_binary(export):
    status, said = on_terminal("export", "--to", "pprof", export.recording)
    assert status == 2 and "-o NAME.pb.gz" in said and "\x1f" not in said
    status, said = on_terminal("export", "--to", "collapsed", export.recording)
    assert status == 0 and folded(said.replace("\r\n", "\n")) == folded(export.text("collapsed"))


def test_the_newest_recording_is_meant_without_a_name(export, hard_stacks):
    done = subprocess.run(
        [SEEP, "export", "--to", "collapsed"],
        capture_output=True,
        env=clean_environment(),
        cwd=hard_stacks.folder,
        timeout=DEADLINE,
    )
    assert done.returncode == 0 and done.stdout.decode() == export.text("collapsed")


# ---- collapsed ----

@pytest.mark.parametrize("options", SELECTIONS)
def test_collapsed_stacks_are_those_of_the_report(export, options):
    cost = chosen(options)
    if "--depth-merge" in options:
        assert (
            sum(folded(export.text("collapsed", "--cost", cost, *options)).values())
            == export.totals(*options)[cost]
        )
    else:
        assert folded(export.text("collapsed", "--cost", cost, *options)) == export.stacks(
            cost, *options
        )


@pytest.mark.parametrize("cost", COSTS)
def test_every_cost_has_the_total_of_the_report(export, cost):
    assert (
        sum(folded(export.text("collapsed", "--cost", cost)).values()) == export.totals()[cost] > 0
    )


@pytest.mark.parametrize(
    "other,cost",
    [
        ("peak", "peak-bytes"),
        ("live", "live-bytes"),
        ("total", "alloc-bytes"),
        ("allocs", "alloc-count"),
        ("temporary", "temp-count"),
    ],
)
def test_words_of_the_report_mean_the_same(export, other, cost):
    assert export.text("collapsed", "--cost", other) == export.text("collapsed", "--cost", cost)


def test_without_a_cost_it_is_that_of_the_report(export):
    assert export.text("collapsed") == export.text("collapsed", "--cost", "peak-bytes")
    assert export.text("collapsed", "--at", "hosted") == export.text(
        "collapsed", "--at", "hosted", "--cost", "live-bytes"
    )


def test_functions_have_what_the_program_says(export, hard_stacks):
    live = Counter()
    for stack, value in folded(export.text("collapsed", "--cost", "live-bytes")).items():
        live[stack[-1].split("(")[0].split("::")[-1].split()[0]] += value
    for name in ("descend", "even", "odd", "inlined", "shared", "lose"):
        assert live[name] == hard_stacks.truth.sites[name]["live"], name
    lost = folded(export.text("collapsed", "--cost", "leaked-bytes"))
    assert lost == {("main", "lose()"): hard_stacks.truth.sites["lose"]["lost"]}


def test_firefox_profiler_reads_collapsed_stacks(export, npm, tmp_path):
    path = export.file("collapsed", "--cost", "live-bytes", name="live.folded")
    inclusive = export.inclusive("live-bytes")
    own = Counter()
    for stack, value in export.stacks("live-bytes").items():
        own[stack[-1]] += value
    with FirefoxProfiler(npm, tmp_path) as firefox:
        firefox.load(path)
        assert firefox.functions() == {
            name: (own[name], value) for name, value in inclusive.items()
        }


# ---- speedscope ----

VALIDATE = """
const Ajv = require("ajv"), fs = require("fs");
const [schema, ...files] = process.argv.slice(2).map((f) => JSON.parse(fs.readFileSync(f)));
const valid = new Ajv({ strict: false, allErrors: true }).compile(schema);
console.log(JSON.stringify(files.map((f) => (valid(f) ? null : valid.errors))));
"""


def by_speedscope(profile, frames):
    return Counter(
        {tuple(frames[i]["name"] for i in stack): 0 for stack in profile["samples"]}
    ) + sum(
        (
            Counter({tuple(frames[i]["name"] for i in stack): weight})
            for stack, weight in zip(profile["samples"], profile["weights"])
        ),
        Counter(),
    )


def test_speedscope_is_valid_by_its_schema(export, npm, tmp_path):
    schema = npm.modules / "speedscope" / "dist" / "release" / "file-format-schema.json"
    files = [
        export.file("speedscope", *options)
        for options in [*SELECTIONS, ("--cost", "temp-count"), ("-i", "nothing matches this", "-q")]
    ]
    broken = tmp_path / "broken.json"
    broken.write_text(files[0].read_text().replace('"sampled"', '"simple"', 1))
    answers = json.loads(npm.script(VALIDATE, schema, *files, broken, folder=tmp_path))
    assert answers[:-1] == [None] * len(files)
    assert answers[-1]


@pytest.mark.parametrize("options", SELECTIONS[:-1])
def test_speedscope_has_a_profile_for_each_known_cost(export, options):
    data = json.loads(export.text("speedscope", *options))
    known = {
        (): COSTS,
        "--at": OF_TIME,
        "--range": OF_TIME,
        "--thread": (*OF_TIME, "temp-count"),
    }.get(options[0] if options else (), COSTS)
    known = OF_PEAK if options == ("--at", "peak") else known
    assert len(data["profiles"]) == len(known)
    for cost, profile in zip([c for c in COSTS if c in known], data["profiles"]):
        assert profile["unit"] == ("bytes" if cost.endswith("bytes") else "none")
        assert profile["endValue"] == sum(profile["weights"]) == export.totals(*options)[cost]
        assert by_speedscope(profile, data["shared"]["frames"]) == export.stacks(cost, *options)


def test_speedscope_opens_with_the_chosen_cost(export):
    whole = json.loads(export.text("speedscope"))
    assert whole["profiles"][whole["activeProfileIndex"]]["name"] == "bytes at the peak"
    one = json.loads(export.text("speedscope", "--cost", "leaked-count"))
    assert [p["name"] for p in one["profiles"]] == ["leaked blocks"] and one[
        "activeProfileIndex"
    ] == 0


def test_speedscope_knows_lines(export):
    frames = json.loads(export.text("speedscope"))["shared"]["frames"]
    known = {(f["function"], f["file"], f["line"]) for f in export.report()["frames"]}
    assert {(f["name"], f.get("file"), f.get("line")) for f in frames} <= known
    assert any(f["name"] == "inlined" and f["file"].endswith("exports.cpp") for f in frames)


# ---- gprof2dot ----

def by_gprof2dot(data):
    """As gprof2dot reads it: the call chain is innermost first, the first cost counts."""
    found = Counter()
    for event in data["events"]:
        found[tuple(data["functions"][i]["name"] for i in reversed(event["callchain"]))] += event[
            "cost"
        ][0]
    return found


@pytest.mark.parametrize("options", SELECTIONS[:-1])
def test_gprof2dot_has_the_shape_of_memtrail(export, options):
    cost = chosen(options)
    data = json.loads(export.text("gprof2dot", "--cost", cost, *options))
    assert (data["version"], [c["unit"] for c in data["costs"]]) == (0, ["bytes"])
    assert set(data) == {"version", "costs", "functions", "events"} and set(data["costs"][0]) == {
        "description",
        "unit",
    }
    assert all(
        set(f) <= {"name", "module"} and isinstance(f["name"], str) for f in data["functions"]
    )
    assert all(e["callchain"] and len(e["cost"]) == 1 for e in data["events"])
    assert by_gprof2dot(data) == export.stacks(cost, *options)
    if not options:
        assert {f["module"] for f in data["functions"]} == {
            "exports",
            "libc.so.6",
            "ld-linux-x86-64.so.2",
        }


# ---- csv, json ----

@pytest.mark.parametrize("options", SELECTIONS)
def test_csv_has_the_totals_of_the_report(export, options):
    rows = list(csv.DictReader(export.text("csv", *options).splitlines()))
    heap = [r for r in rows if r["kind"] not in ("mmap", "mremap")]
    totals = export.totals(*options)
    names = {
        "alloc-count": "allocs",
        "alloc-bytes": "alloc_bytes",
        "live-count": "live_blocks",
        "live-bytes": "live_bytes",
    }
    known = {c: n for c, n in names.items() if all(r[n] for r in heap)}
    assert {"live-count", "live-bytes"} <= set(known) and (len(known) == 2) == (
        options == ("--at", "peak")
    )
    assert {c: sum(int(r[n]) for r in heap) for c, n in known.items()} == {
        c: totals[c] for c in known
    }
    assert {int(r["site"]) for r in rows} == {s["id"] for s in export.report(*options)["sites"]}


@pytest.mark.parametrize("options", SELECTIONS)
def test_json_is_the_report(export, options):
    assert json.loads(export.text("json", *options)) == export.report(*options)


# ---- what programs call things ----

RUST = """
#[inline(never)]
fn keep<T: Default + 'static>() -> *mut T { Box::into_raw(Box::new(T::default())) }

fn main() {
    let closure = |n: usize| { let v: Vec<u8> = Vec::with_capacity(n); std::mem::forget(v); };
    println!("{:p} {:p}", keep::<[u64; 4]>(), keep::<(u8, [u32; 7])>());
    closure(77);
}
"""


def test_names_of_rust(recorder, need, tmp_path):
    need("rustc")
    (tmp_path / "r.rs").write_text(RUST)
    known = {k: v for k, v in os.environ.items() if k in ("RUSTUP_HOME", "CARGO_HOME")}
    made = subprocess.run(
        ["rustc", "-g", "-Csymbol-mangling-version=v0", "r.rs"],
        cwd=tmp_path,
        env=clean_environment({"HOME": os.environ.get("HOME", "/"), **known}),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert made.returncode == 0, made.stderr
    done = recorder.record(tmp_path / "r")
    export = Exporter(done.folder / "out.seep", tmp_path)
    stacks = export.stacks("live-bytes")
    assert any(
        ";" in name for stack in stacks for name in stack
    ), "the program has no name with a semicolon"
    tame = Counter()
    for stack, value in stacks.items():
        tame[tuple(name.replace(";", ":") for name in stack)] += value
    assert folded(export.text("collapsed", "--cost", "live-bytes")) == tame
    data = json.loads(export.text("speedscope", "--cost", "live-bytes"))
    assert by_speedscope(data["profiles"][0], data["shared"]["frames"]) == stacks


def test_stacks_without_names(compiler, recorder, tmp_path):
    stripped = compiler.build("exports.cpp", flags=("-O0", "-fno-builtin", "-s"), name="stripped")
    export = Exporter(recorder.record(stripped).folder / "out.seep", tmp_path)
    stacks = folded(
        subprocess.run(
            [SEEP, "export", "-q", "--to", "collapsed", "--cost", "live-bytes", export.recording],
            capture_output=True,
            text=True,
            env=clean_environment(),
            timeout=DEADLINE,
        ).stdout
    )
    assert sum(stacks.values()) == export.totals()["live-bytes"]
    assert any(name.startswith("stripped+f_") for stack in stacks for name in stack)


def test_recordings_without_stacks(compiler, recorder, tmp_path):
    done = recorder.record(compiler.build("exports.cpp"), options=["--depth", "0"])
    export = Exporter(done.folder / "out.seep", tmp_path)
    assert folded(export.text("collapsed", "--cost", "live-bytes")) == {
        ("[no stack recorded]",): export.totals()["live-bytes"]
    }


LEFT_OUT = (
    "seep: this format has no negative numbers: 1 stack with less memory than before is left out\n"
)


def test_what_became_less_is_said_to_be_left_out(steps, recorder, tmp_path):
    folder = recorder.folder()
    run(
        [
            SEEP,
            "record",
            "-o",
            folder / "out.seep",
            "--", steps, "+red:1:1000", "tag:full", "-red:1", "+green:1:10", "tag:empty",
        ],
        folder=folder,
    )
    export = Exporter(folder / "out.seep", tmp_path)
    words = "--range", "full..empty", "--cost", "change"
    assert sorted(s["live_bytes"] for s in export.sites(*words) if s["live_bytes"]) == [-1000, 10]
    for form in "collapsed", "speedscope", "gprof2dot", "callgrind":
        done = export.seep("export", "--to", form, *words, export.recording)
        assert (done.returncode, done.stderr.decode()) == (0, LEFT_OUT), form
        assert "-1000" not in done.stdout.decode()


def test_svg_is_the_tree_of_the_stacks_with_the_heaviest_at_the_left(export):
    for words in ((), ("--all-frames",)):
        picture = ElementTree.fromstring(
            export.seep("export", "--to", "svg", "--cost", "total", *words, export.recording).stdout
        )
        boxes = [(int(g.get("data-d")), int(g.get("data-x")), int(g.get("data-w")), g.get("data-n"))
                 for g in picture.iter("{http://www.w3.org/2000/svg}g")]
        whole = boxes[0]
        assert whole[:3] == (0, 0, 1000000)
        for depth, left, width, name in boxes[1:]:  # each lies within one that called it
            assert any(
                d == depth - 1 and x - 2 <= left and left + width <= x + w + 2
                for d, x, w, _ in boxes
            ), name
        level = sorted(box[1:3] for box in boxes if box[0] == 1)
        assert sum(width for _, width in level) == pytest.approx(1000000, abs=2000)
        assert [width for _, width in level] == sorted((width for _, width in level), reverse=True)
    stacks = folded(export.text("collapsed", "--cost", "total"))
    share = sum(value for stack, value in stacks.items() if "host" in stack) / sum(stacks.values())
    assert sum(width for _, _, width, name in boxes if name == "host") == pytest.approx(
        1e6 * share, abs=2000
    )
