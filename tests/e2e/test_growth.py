# SPDX-License-Identifier: MIT
"""What grows: judged to where the program ended, for any part of the run, and told when it was
freed at the end."""
import csv
import io
import json
import re

import pages
import pytest

from harness import SEEP, run

PHASE_MS, GAP_MS, RUNS = 1000, 250, 10


def largest_gap(file):
    """Between two moments that the observer saw."""
    query = (
        "SELECT max(gap) FROM (SELECT ms - lag(ms, 1, 0) OVER (ORDER BY ms) AS gap FROM timeline)"
    )
    return int(run([SEEP, "sql", "--csv", file, query], cwd=file.parent).stdout.split()[-1])


def record(compiler, folder, what):
    """On a machine that stands still for a while there is a run whose course was not seen, and
    nothing can be said about its growth."""
    for _ in range(RUNS):
        done = run(
            [
                SEEP, "record", "-q", "-f", "-o",
                folder / "run.seep",
                compiler.build("grows.c"),
                what,
                str(PHASE_MS),
            ],
            cwd=folder,
        )
        assert done.status == 0 and done.truth.facts["blocks"] > PHASE_MS, done.stderr
        if largest_gap(folder / "run.seep") < GAP_MS:
            break
    return folder / "run.seep"


@pytest.fixture(scope="module")
def kept(compiler, tmp_path_factory):
    return record(compiler, tmp_path_factory.mktemp("kept"), "keep")


@pytest.fixture(scope="module")
def freed(compiler, tmp_path_factory):
    return record(compiler, tmp_path_factory.mktemp("freed"), "free")


def growth(file, *options):
    done = run([SEEP, "report", "--csv", "--growth", *options, file], cwd=file.parent)
    assert done.status == 0, done.stderr
    rows = csv.DictReader(io.StringIO(done.stdout.decode(), newline=""))
    return {
        re.match(r"\w+", r["stack"]).group(): r["growth"]
        for r in rows
        if r["stack"].startswith("grow_")
    }


def test_the_run_ends_where_the_search_begins(kept):
    found = json.loads(run([SEEP, "leaks", "--json", kept], cwd=kept.parent).stdout)
    assert found["leaks"]["scan"]["when"] == "exit"
    assert found["duration_ms"] <= found["leaks"]["scan"]["ms"]
    course = (
        run([SEEP, "sql", "--csv", kept, "SELECT max(ms) FROM timeline"], cwd=kept.parent)
        .stdout.decode()
        .split()
    )
    assert int(course[-1]) == found["duration_ms"]


@pytest.mark.parametrize(
    "options,grows",
    [
        ((), "grow_second"),
        (("--at=half",), "grow_first"),
        (("--range=half..end",), "grow_second"),
        (("--range=start..half",), "grow_first"),
    ],
)
def test_each_part_of_a_run_has_its_own_growth(kept, options, grows):
    assert [name for name, word in growth(kept, *options).items() if word == "grows"] == [grows]
    text = run([SEEP, "report", "--growth", *options, kept], cwd=kept.parent).stdout.decode()
    assert "growth: 1 stack that grows " in text


def test_what_grew_and_was_freed_is_told(freed):
    text = run([SEEP, "report", "--summary", freed], cwd=freed.parent).stdout.decode()
    assert re.search(r"\n  grew \S+ \w+/s until \S+ \w+, freed at exit: grow_second ", text), text
    assert "seep report --growth" in text
    done = pages.answer("-o", "-", freed)
    [verdict] = [
        v
        for v in pages.data_of(done.stdout)["recordings"][0]["verdicts"]
        if "freed at exit" in v["text"]
    ]
    assert (
        verdict["level"] == "warn"
        and verdict["text"].startswith("grew ")
        and "grow_second" in verdict["text"]
    )


def test_what_is_kept_is_not_called_freed(kept):
    assert (
        "freed at exit"
        not in run([SEEP, "report", "--summary", kept], cwd=kept.parent).stdout.decode()
    )


def test_what_hangs_on_a_leak_that_grows_is_told(compiler, tmp_path):
    """Also where there is no room for how fast it grows: three quarters of what is lost are only
    told so."""
    file = record(compiler, tmp_path, "lose")
    text = run([SEEP, "report", "--summary", file], cwd=tmp_path).stdout.decode()
    assert max(len(line) for line in text.splitlines() if "lose_a_list" in line) <= 80
    [(lost, hanging)] = re.findall(
        r"^    1\. +([\d.]+ MiB) +[\d,]+ blocks +grows: lose_a_list grows\.c:\d+ \(\+([\d.]+ MiB)",
        text,
        re.M,
    )
    assert re.search(f"LEAKS: {re.escape(lost)} in [\\d,]+ blocks definitely lost, "
                     f"{re.escape(hanging)} indirectly lost", text), text
    assert float(hanging.split()[0]) == pytest.approx(3 * float(lost.split()[0]), rel=0.03)
