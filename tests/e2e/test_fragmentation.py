# SPDX-License-Identifier: MIT
"""`seep report --fragmentation`: the holes of the heap are where the program made them, and the
sums are those of mallinfo2()."""
import json
import subprocess

import pages
from harness import DEADLINE, SEEP, ask, clean_environment
from plain import child_of, start_recorded, wait_until

PAGE = 4096


def fragmentation(target, *options):
    return ask("report", "--fragmentation", *options, target).stdout


def check(told, stderr):
    """TOLD is what the program said on STDERR."""
    lines = [line.split() for line in stderr.splitlines()]
    holes = {
        int(a, 16): (int(size), int(above))
        for word, a, size, above in (l for l in lines if l[:1] == ["hole"])
    }
    arena, used, free, top = next(map(int, l[1:]) for l in lines if l[:1] == ["info"])
    last = next(l[1] for l in lines if l[:1] == ["last"])
    assert len(holes) == 51
    found = {int(h["address"], 16): (h["bytes"], h["blocks_above"]) for h in told["holes"]}
    assert {a: found.get(a) for a in holes} == holes
    assert told["holes"][0]["block"]["address"] == last and told["holes"][0]["block"]["bytes"] == 40
    total = told["total"]
    main = [h for h in told["heaps"] if h["arena"] == "main"]
    assert len(main) == 1 and main[0]["bytes"] == arena
    # What mallinfo2() calls used includes the caches of threads, of which a few small blocks may be
    # free.
    assert abs(main[0]["hole_bytes"] + main[0]["top_bytes"] - free) < PAGE
    assert (
        abs(main[0]["live_bytes"] + main[0]["overhead_bytes"] + main[0]["own_bytes"] - used) < PAGE
    )
    assert abs(main[0]["top_bytes"] - top) < PAGE
    for heap in told["heaps"]:
        assert heap["bytes"] == sum(
            heap[k]
            for k in ("live_bytes", "overhead_bytes", "own_bytes", "hole_bytes", "top_bytes")
        )
    assert (
        sum(h["bytes"] for h in told["holes"])
        == total["hole_bytes"]
        == sum(s["hole_bytes"] for s in told["sizes"])
    )
    assert (
        sum(s["blocks"] for s in told["sites"])
        == total["blocks"]
        == sum(s["blocks"] for s in told["sizes"])
    )
    by_function = {s["function"]: s for s in told["sites"]}
    assert (
        by_function["fill_low"]["blocks"] == 50
        and by_function["fill_low"]["live_bytes"] == 50 * 3000
    )
    assert by_function["fill_many"]["blocks"] == by_function["pin"]["blocks"] == 1
    # Each second block of 3,000 bytes is free: the others lie on nearly all pages, which cannot go
    # back.
    freed = sum(size for size, above in holes.values() if above > 2)
    assert by_function["fill_low"]["pinned_bytes"] > freed / 2
    assert told["sites"][0]["function"] == "fill_low"
    largest = max(size for size, _ in holes.values())
    assert largest - 2 * PAGE <= total["whole_page_bytes"] <= total["hole_bytes"]


def test_of_a_recording(recorder, compiler):
    recording = recorder.record(compiler.build("holes.c"))
    file = recording.folder / "out.seep"
    told = json.loads(fragmentation(file, "--json"))
    assert told["exact"] is True
    check(told, recording.stderr.decode())
    text = fragmentation(file)
    assert "one block keeps 1.9 MiB from going back to the system" in text
    assert f"seep why FILE {told['holes'][0]['block']['address']}" in text
    assert all(len(line) <= 100 for line in text.splitlines() if " #" not in line)
    page = pages.page_of(file).one
    drawn = page.data["fragmentation"]
    assert {
        k: drawn["total"][k] for k in ("bytes", "blocks", "live_bytes", "hole_bytes", "top_bytes")
    } == {k: told["total"][k] for k in ("bytes", "blocks", "live_bytes", "hole_bytes", "top_bytes")}
    assert [page.text(a) for a in drawn["holes"]["address"]] == [
        h["address"] for h in told["holes"]
    ][:50]
    (cells,) = drawn["cells"]
    each = -(-told["total"]["bytes"] // 512)
    # A part of the heap inside of the largest hole is free, and nearly all that is free has no cell
    # with a block.
    assert len(cells) == 512 and sum(c == 0 for c in cells) >= told["holes"][0]["bytes"] // each - 1
    assert sum(cells) >= 100 * told["total"]["live_bytes"] // each


def test_of_a_running_process(recorder, compiler):
    with start_recorded(recorder.folder(), compiler.build("holes.c"), "wait") as it:
        wait_until(
            lambda: b"\nlast " in it.stderr() and it.stderr().endswith(b"\n"),
            "its holes",
            process=it.process,
        )
        told = json.loads(fragmentation(child_of(it), "--json"))
        assert told["exact"] is False
        check(told, it.stderr().decode())


def test_what_it_cannot_tell_of(recorder, compiler):
    recording = recorder.record(compiler.build("holes.c"), options=("--no-leak-scan",))
    done = subprocess.run(
        [SEEP, "report", "--fragmentation", recording.folder / "out.seep"],
        capture_output=True,
        text=True,
        env=clean_environment(),
        timeout=DEADLINE,
    )
    assert done.returncode == 3 and "--no-leak-scan" in done.stderr


def test_large_blocks_are_counted_without_what_lies_beside_them(recorder, compiler):
    """Two blocks of 1 MiB, and 32 MiB that the program mapped itself: the kernel merges their
    mappings."""
    recording = recorder.record(compiler.build("beside.c"))
    told = json.loads(fragmentation(recording.folder / "out.seep", "--json"))
    assert 2 << 20 <= told["mapped_bytes"] <= (2 << 20) + 2 * PAGE
