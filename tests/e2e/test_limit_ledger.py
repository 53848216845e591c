# SPDX-License-Identifier: MIT
"""record --limit-ledger: the recording takes no more memory than that, and says what it did
instead."""
import json
import math

import pytest

from harness import SEEP, run

MIB = 1 << 20
SLACK = 4 * MIB  # what other threads may write while one of them is about to begin a step
FIELDS = ("allocations", "bytes_allocated", "live_blocks", "live_bytes")


@pytest.fixture
def thinned(compiler):
    return compiler.build("thinned.c", flags=("-O1", "-g"))


def truth_of(seen):
    rows = [line.split() for line in seen.stdout.decode().splitlines()]
    return {name: dict(zip(FIELDS, map(int, numbers))) for name, *numbers in rows}


def later(got):
    return {
        field: got["later"][field] + got.get("grown", dict.fromkeys(FIELDS, 0))[field]
        for field in FIELDS
    }


def near(got, wanted, truth, mean):
    """Within six standard deviations of an estimate from a sample point in MEAN bytes."""
    points = truth["bytes_allocated"] / mean
    return abs(got - wanted) <= 6 * wanted / math.sqrt(points) + 1


def check_estimates(seen, mean):
    got, truth = seen.profile.by_function(), truth_of(seen)
    # to the byte, also what was freed afterwards
    assert got["first"] == got["first"] | truth["first"]
    for field in ("bytes_allocated", "live_bytes"):
        assert near(later(got)[field], truth["later"][field], truth["later"], mean), (
            field,
            later(got),
            truth["later"],
        )


def check_books(seen):
    totals = seen.profile.json["totals"]
    assert totals["allocations"] - totals["frees"] == totals["live_blocks"]
    assert sum(s["live_bytes"] for s in seen.profile.heap_sites()) == totals["live_bytes"]


@pytest.mark.parametrize("threads", [1, 4])
def test_what_was_recorded_before_is_exact_and_the_rest_near_the_truth(thinned, recorder, threads):
    seen = recorder.record(thinned, "small", str(threads), options=["--limit-ledger=32M"])
    totals = seen.profile.json["totals"]
    assert seen.status == 0
    assert totals["ledger_bytes"] <= 32 * MIB + SLACK
    # Who makes the step may be held up by the machine while the other threads record all of theirs.
    assert totals["thinned_events"] > 10 and totals["lost_events"] == 0
    check_estimates(seen, 4 * totals["thinned_bytes"])  # one or two steps more may have been needed
    check_books(seen)


def test_every_form_tells_since_when_numbers_are_estimates(thinned, recorder):
    seen = recorder.record(thinned, "small", options=["--limit-ledger=32M"])
    file = seen.folder / "out.seep"
    start = seen.profile.json["totals"]["thinned_ms"] / 1000
    assert 0 < start * 1000 < seen.profile.json["totals"]["peak_ms"] + 1
    word = (f"from {start:.3f} s on numbers are estimates: near --limit-ledger (32 MiB) about one "
            f"block per 512 KiB")
    assert word[:60] in " ".join(seen.stderr.decode().split())
    facts = json.loads(run([SEEP, "info", "--json", file], cwd=seen.folder).stdout)
    assert any(word in w for w in facts["warnings"])
    assert facts["ledger_bytes"] == seen.profile.json["totals"]["ledger_bytes"]
    assert any(word in w for w in seen.profile.json["unseen"])
    assert "--limit-ledger" in facts["leak_search"]["trouble"]
    check = run([SEEP, "check", "--max-leaks=0", file], cwd=seen.folder)
    assert check.status != 0 and b"--limit-ledger" in check.stdout + check.stderr


def test_below_the_limit_nothing_is_different(thinned, recorder):
    seen = recorder.record(thinned, "small", options=["--limit-ledger=1G"])
    got, truth = seen.profile.by_function(), truth_of(seen)
    assert got["first"] == got["first"] | truth["first"]
    assert later(got) == truth["later"]
    assert not seen.profile.json["unseen"]
    assert 8 * MIB < seen.profile.json["totals"]["ledger_bytes"] < 256 * MIB


def test_what_is_opened_and_not_used_is_no_reason_to_thin(thinned, recorder):
    """Each thread has places of its own in the ledger, of which it uses little; and the observer
    may not have looked yet."""
    seen = recorder.record(thinned, "crowd", options=["--limit-ledger=16M"])
    assert (
        seen.profile.by_function()["later"]
        == seen.profile.by_function()["later"] | truth_of(seen)["later"]
    )
    assert not seen.profile.json["unseen"]
    assert seen.profile.json["totals"]["ledger_bytes"] < 8 * MIB


def test_at_the_limit_recording_ends_and_the_program_goes_on(thinned, recorder):
    seen = recorder.record(thinned, "large", options=["--limit-ledger=8M"])
    totals = seen.profile.json["totals"]
    assert seen.status == 0
    assert totals["ledger_bytes"] <= 8 * MIB + SLACK
    assert totals["lost_events"] > 0
    assert any("then none" in w for w in seen.profile.json["unseen"])
    assert b"near --limit-ledger (8 MiB)" in seen.stderr
    wanted = truth_of(seen)["later"]["allocations"]
    assert abs(totals["allocations"] + totals["lost_events"] - wanted) < 0.5 * wanted


def test_what_needs_every_block_is_refused_beside_it(thinned, tmp_path):
    for option in ("--events", "--limit-heap=1G", "--quarantine=1M"):
        done = run(
            [SEEP, "record", "--limit-ledger=64M", option, "--", thinned, "small"], cwd=tmp_path
        )
        assert done.status == 2 and option.split("=")[0].encode() in done.stderr, done.stderr
    done = run([SEEP, "record", "--limit-ledger=1M", "--", thinned, "small"], cwd=tmp_path)
    assert done.status == 2 and b"8M" in done.stderr


def test_with_sampling_from_the_start_it_goes_on_from_there(thinned, recorder):
    seen = recorder.record(thinned, "large", options=["--limit-ledger=8M", "--sample=64K"])
    totals = seen.profile.json["totals"]
    assert seen.status == 0 and totals["thinned_bytes"] == 128 << 10
    check_books(seen)


def test_a_ledger_without_room_goes_on_with_what_it_has(compiler, recorder):
    """In little address space it holds some 8,000 stacks: later ones are counted, and what came
    before is followed to its end."""
    program = compiler.build(
        "stacks_many.c", flags=("-O1", "-g", "-fno-inline", "-fno-optimize-sibling-calls")
    )
    limited = ["sh", "-c", 'ulimit -v 500000 && exec "$@"', "sh"]
    folder = recorder.folder()
    done = run(
        [*limited, SEEP, "record", "-f", "-o", folder / "out.seep", "--", program, "15"], cwd=folder
    )
    assert (done.status, done.stdout) == (0, b"32768 stacks\n"), done.stderr
    report = json.loads(run([SEEP, "report", "--json", folder / "out.seep"], cwd=folder).stdout)
    sites = [s for s in report["sites"] if report["frames"][s["stack"][0]]["function"] == "first"]
    assert [(s["allocations"], s["live_blocks"]) for s in sites] == [(1000, 500)]
    assert report["totals"]["lost_events"] > 0
    assert any("recording of new blocks stopped early" in w for w in report["unseen"])
