# SPDX-License-Identifier: MIT
"""`seep export --to pprof`, read by the pprof of Go."""
import gzip
import re

import pytest

import readers
from exporter import COSTS, OF_PEAK, OF_TIME, Exporter

TYPES = dict(
    zip(
        (
            "alloc-count", "alloc-bytes", "live-count", "live-bytes", "peak-count", "peak-bytes",
            "leaked-count", "leaked-bytes", "temp-count",
        ),
        (
            "alloc_objects", "alloc_space", "inuse_objects", "inuse_space", "peak_objects",
            "peak_space", "leaked_objects", "leaked_space", "temp_objects",
        ),
    )
)


@pytest.fixture
def pprof(tmp_path):
    tool = readers.pprof()
    if not tool:
        pytest.skip("Go's pprof is not installed (golang-1.19-go)")

    def ask(*words, status=0):
        return readers.ask(
            [tool, *words],
            env={"PPROF_TMPDIR": str(tmp_path), "HOME": str(tmp_path)},
            status=status,
        )
    return ask


def everything(cost):
    unit = ["-unit=B"] if cost.endswith("bytes") else []
    return [
        f"-sample_index={TYPES[cost]}", "-nodefraction=0", "-edgefraction=0", "-nodecount=100000",
        *unit,
    ]


def total(text):
    return int(re.search(r"of (-?\d+)B? total", text).group(1))


def shown(text):
    """What is left of it by a filter of pprof."""
    return int(re.search(r"accounting for (-?\d+)B?,", text).group(1))


def functions(text):
    """Of -top: own and inclusive cost by name."""
    found = {}
    for line in text.split("cum%\n", 1)[1].splitlines():
        own, _, _, inclusive, _, name = line.split(None, 5)
        found[re.sub(r" \((partial-)?inline\)$", "", name)] = (
            int(own.rstrip("B")),
            int(inclusive.rstrip("B")),
        )
    return found


@pytest.mark.parametrize("cost", COSTS)
def test_the_total_of_every_type_is_that_of_the_report(export, pprof, cost):
    assert (
        total(pprof("-top", *everything(cost), export.file("pprof"))) == export.totals()[cost] > 0
    )


@pytest.mark.parametrize(
    "options",
    [
        ("--at", "hosted"),
        ("--range", "descended..hosted"),
        ("-i", "descend|host"),
        ("-x", "^descend"),
        ("--thread", "worker-.*"),
        ("--depth-merge", "2"),
        ("--at", "peak"),
    ],
)
def test_totals_of_selections(export, pprof, options):
    path, totals = export.file("pprof", *options), export.totals(*options)
    for cost in OF_PEAK if options == ("--at", "peak") else OF_TIME:
        assert total(pprof("-top", *everything(cost), path)) == totals[cost], cost


@pytest.mark.parametrize("cost", ["live-bytes", "alloc-count", "leaked-bytes", "temp-count"])
def test_functions_have_their_costs(export, pprof, cost):
    own = {}
    for stack, value in export.stacks(cost).items():
        own[stack[-1]] = own.get(stack[-1], 0) + value
    wanted = {name: (own.get(name, 0), value) for name, value in export.inclusive(cost).items()}
    found = functions(
        pprof("-top", "-cum", "-symbolize=none", *everything(cost), export.file("pprof"))
    )
    shorter = {short(k): v for k, v in wanted.items()}
    assert {short(k): v for k, v in found.items() if any(v)} == shorter


def short(name):
    """pprof leaves out template arguments and parameters of the names it thinks are C++."""
    while "<" in name.replace("operator<", ""):
        name, before = re.sub(r"<[^<>]*>", "", name), name
        if name == before:
            break
    return re.sub(r"\([^()]*\)", "", name).removesuffix(" const")


def test_inlined_functions_are_lines_of_one_location(export, pprof):
    traces = pprof("-traces", "-sample_index=inuse_space", "-unit=B", export.file("pprof"))
    trace = next(t for t in traces.split("-----------+") if "5000B" in t)
    names = [
        line.split("  ")[-1].strip()
        for line in trace.splitlines()
        if line.startswith("  ") and ":" not in line.replace("::", "")
    ]
    assert [n.split("(")[0].strip() for n in names] == [
        "inlined",
        "host",
        "main",
    ] and "(inline)" in names[0]
    lines = pprof("-traces", "-lines", "-sample_index=inuse_space", "-unit=B", export.file("pprof"))
    assert re.search(r"5000B\s+inlined \S*exports\.cpp:\d+ \(inline\)\n\s+host\S* "
                     r"\S*exports\.cpp:\d+\n\s+main \S*exports\.cpp:\d+", lines)


def test_callers_and_callees(export, pprof):
    text = pprof("-peek=^odd", "-sample_index=inuse_space", "-unit=B", export.file("pprof"))
    inclusive = export.inclusive("live-bytes")["odd(int)"]
    assert re.search(rf"^ +{inclusive}B +100% \| +even", text, re.MULTILINE)  # the only caller
    assert re.search(rf"^ +60B .* {inclusive}B .*\| +odd", text, re.MULTILINE)
    # a callee: all but the stack that ends in the first odd
    assert re.search(r"^ +60B 75.00% \| +even", text, re.MULTILINE)


@pytest.mark.parametrize("thread,count", [("worker-1", 1), ("worker-2", 2)])
def test_threads_are_labels(export, pprof, thread, count):
    path = export.file("pprof")
    told = pprof("-top", f"-tagfocus=thread={thread}$", *everything("live-bytes"), path)
    assert {short(name): own for name, (own, _) in functions(told).items()} == {
        "shared": 200 * count,
        "work": 0,
    }
    assert (
        shown(pprof("-top", *everything("live-bytes"), "-tagfocus=thread=.", path))
        == export.totals()["live-bytes"]
    )


def test_kinds_and_sizes_are_labels(export, pprof):
    tags = pprof("-tags", "-sample_index=inuse_objects", export.file("pprof"))
    assert re.search(r"kind:.*\n(.*\n)*?.*\bmalloc\b", tags) and re.search(r"thread:", tags)
    large = pprof("-top", "-tagfocus=5000b:5000b", *everything("live-bytes"), export.file("pprof"))
    assert shown(large) == 5000 and "inlined" in large and "descend" not in large


def test_two_moments_can_be_subtracted(export, pprof):
    old, new = export.file("pprof", "--at", "descended"), export.file("pprof")
    told = pprof("-top", f"-diff_base={old}", *everything("live-bytes"), new)
    changes = functions(told)
    before, after = export.inclusive("live-bytes", "--at", "descended"), export.inclusive(
        "live-bytes"
    )
    for name, (_, value) in changes.items():
        full = next(n for n in after if short(short(n)) == short(short(name)))
        assert value == after[full] - before[full], name
    assert not any(short(n) == "descend" and v[1] for n, v in changes.items())


def test_the_head_tells_the_program(export, pprof, compiler):
    text = pprof("-top", export.file("pprof"))
    assert "File: exports" in text and "Type: inuse_space" in text and "Time: " in text
    notes = readers.ask(["readelf", "-n", compiler.build("exports.cpp")])
    assert re.search(r"Build ID: \w+", notes).group() in text
    comments = pprof("-comments", export.file("pprof", "--at", "hosted"))
    assert "moment: tag hosted" in comments
    assert (
        "unknown, not zero: peak_objects, peak_space, leaked_objects, leaked_space, temp_objects"
        in comments
    )
    assert "not known" not in pprof("-comments", export.file("pprof"))


def test_the_cost_asked_for_is_shown_first(export, pprof):
    assert "Type: leaked_space" in pprof("-top", export.file("pprof", "--cost", "leaked-bytes"))


def test_raw_profile_is_sound(export, pprof):
    """pprof checks ids and indices itself when it reads; a broken one is refused."""
    path = export.file("pprof")
    assert "Mappings" in pprof("-raw", path)
    cut = export.folder / "cut.pb"
    cut.write_bytes(gzip.decompress(path.read_bytes())[:-9])
    readers.ask([readers.pprof(), "-raw", cut], status=2)


def test_stacks_without_names_and_no_stacks(compiler, recorder, pprof, tmp_path):
    stripped = compiler.build("exports.cpp", flags=("-O0", "-fno-builtin", "-s"), name="stripped")
    export = Exporter(recorder.record(stripped).folder / "out.seep", tmp_path)
    out = tmp_path / "stripped.pb.gz"
    assert export.seep("export", "-q", "--to", "pprof", "-o", out, export.recording).returncode == 0
    told = pprof("-top", *everything("live-bytes"), out)
    assert total(told) == export.totals()["live-bytes"] and "stripped+f_" in told
    none = Exporter(
        recorder.record(stripped, options=["--depth", "0"]).folder / "out.seep", tmp_path
    )
    assert "[no stack recorded]" in pprof("-top", none.file("pprof"))


def test_estimates_tell_their_distance(compiler, recorder, pprof, tmp_path):
    done = recorder.record(compiler.build("exports.cpp"), options=["--sample=64"])
    export = Exporter(done.folder / "out.seep", tmp_path)
    raw = pprof("-raw", export.file("pprof"))
    assert re.search(r"^Period: 64$", raw, re.MULTILINE)
    assert (
        total(pprof("-top", *everything("alloc-bytes"), export.file("pprof")))
        == export.totals()["alloc-bytes"]
    )
