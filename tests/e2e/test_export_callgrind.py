# SPDX-License-Identifier: MIT
"""`seep export --to callgrind`, read by callgrind_annotate."""
import re
import subprocess

import pytest

from exporter import COSTS, OF_PEAK, OF_TIME, Exporter
from harness import DEADLINE, clean_environment
from readers import ask

EVENTS = {cost: "".join(word.capitalize() for word in cost.split("-")) for cost in COSTS}
SECOND = "'2"


@pytest.fixture(autouse=True)
def annotator(need):
    need("callgrind_annotate")


def annotate(path, cost, *options):
    """What callgrind_annotate says of one event: the total, and the numbers of the functions by
    file and name."""
    command = [
        "callgrind_annotate", "--threshold=100", f"--show={EVENTS[cost]}",
        f"--sort={EVENTS[cost]}", "--auto=no", *options, path,
    ]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd="/", env=clean_environment(), timeout=DEADLINE
    )
    # it warns of lines that it does not understand
    assert (done.returncode, done.stderr) == (0, "")
    text = done.stdout
    total = re.search(r"^\s*([\d,]+) .*PROGRAM TOTALS", text, re.MULTILINE)
    found = {}
    for line in text.split("file:function", 1)[1].splitlines():
        row = re.match(r"\s*([\d,]+) \([ \d.]+%\)\s+(\S*?|\?\?\?):(.*?)( \[\S*\])?$", line)
        if row:
            found[row.group(2), row.group(3)] = int(row.group(1).replace(",", ""))
    return int(total.group(1).replace(",", "")), found


def by_name(found):
    names = {}
    for (_, name), value in found.items():
        names[name] = names.get(name, 0) + value
    return names


@pytest.mark.parametrize("cost", COSTS)
def test_the_total_of_every_event_is_that_of_the_report(export, cost):
    total, _ = annotate(export.file("callgrind"), cost)
    assert total == export.totals()[cost] > 0


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
def test_totals_of_selections(export, options):
    path, totals = export.file("callgrind", *options), export.totals(*options)
    for cost in OF_PEAK if options == ("--at", "peak") else OF_TIME:
        assert annotate(path, cost)[0] == totals[cost], cost


def test_the_peak_has_no_numbers_of_another_moment(export):
    """Calls and leaks are those of the whole run."""
    head = export.text("callgrind", "--at", "peak").partition("\nsummary:")[0].splitlines()
    assert "desc: Time: peak" in head
    assert {line.split()[1] for line in head if line.startswith("event:")} == {
        "LiveBytes", "LiveCount", "PeakBytes", "PeakCount"}


@pytest.mark.parametrize("cost", ["live-bytes", "alloc-bytes", "leaked-bytes"])
def test_own_costs(export, cost):
    own = {}
    for stack, value in export.stacks(cost).items():
        own[stack[-1]] = own.get(stack[-1], 0) + value
    found = {}
    for name, value in by_name(annotate(export.file("callgrind"), cost)[1]).items():
        found[name.removesuffix(SECOND)] = found.get(name.removesuffix(SECOND), 0) + value
    assert {k: v for k, v in found.items() if v} == own


@pytest.mark.parametrize("cost", ["live-bytes", "alloc-count"])
def test_inclusive_costs_count_once_in_recursion(export, cost):
    """Also where functions call each other: even and odd."""
    found = by_name(annotate(export.file("callgrind"), cost, "--inclusive=yes")[1])
    assert {k: v for k, v in found.items() if not k.endswith(SECOND)} == dict(
        export.inclusive(cost)
    )
    assert {k for k in found if k.endswith(SECOND)} == {"even(int)'2", "odd(int)'2"}


def test_what_flows_in_flows_out(export):
    """For readers that sum up callees, as kcachegrind does."""
    own, calls, out, function = {}, {}, {}, None
    names = {}
    lines = iter(export.text("callgrind", "--cost", "live-bytes").splitlines())

    def name(text):
        number, _, given = text.partition(" ")
        return names.setdefault(number, given)

    for line in lines:
        if line.startswith("fn="):
            function = name(line[3:])
        elif line.startswith("cfn="):
            callee = name(line[4:])
        elif line.startswith("calls="):
            cost = int(next(lines).split()[1])
            calls[callee] = calls.get(callee, 0) + cost
            out[function] = out.get(function, 0) + cost
        elif re.match(r"\d", line) and function:
            own[function] = own.get(function, 0) + int(line.split()[1])
    inclusive = {f: own.get(f, 0) + out.get(f, 0) for f in {*own, *out}}
    assert {f: v for f, v in inclusive.items() if f in calls} == calls
    assert inclusive["main"] + inclusive["work(void*)"] == export.totals()["live-bytes"]


def test_one_event_when_one_cost_is_asked_for(export):
    text = export.text("callgrind", "--cost", "leaked-bytes")
    assert "\nevents: LeakedBytes\n" in text and "descend" not in text
    whole = export.text("callgrind")
    assert re.search(r"^events: PeakBytes AllocCount ", whole, re.MULTILINE)


def test_inlined_functions_are_in_their_files(compiler, recorder, tmp_path):
    done = recorder.record(
        compiler.build("lines.c", flags=("-O2", "-g", "-fno-builtin"), more=("lines_far.c",))
    )
    export = Exporter(done.folder / "out.seep", tmp_path)
    found = annotate(export.file("callgrind"), "alloc-bytes")[1]
    assert [value for (file, _), value in found.items() if file.endswith("/lines.h")] == [6001]


def test_lines_are_those_of_the_source(export):
    text = ask(
        ["callgrind_annotate", "--auto=yes", "--show=LiveBytes", export.file("callgrind")], cwd="/"
    )
    assert re.search(r"5,000 \([ \d.]+%\)\s+KEEP\(5000\);", text)
    assert re.search(r"3,000 \([ \d.]+%\)\s+void \*volatile block = malloc\(1000\);", text)
