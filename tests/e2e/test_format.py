# SPDX-License-Identifier: MIT
"""docs/FORMAT.md tells the truth: a reader written from it alone (format_reader.py) sees what
the tool sees."""
import json
import os
import subprocess

import pytest

import format_reader
from harness import BUILD, DEADLINE, SEEP, ask, clean_environment, run

# by tests/fuzz/corpus.c: files, and what was in memory when they were written
MADE = BUILD / "tests" / "fuzz"


def as_hex(value):
    return None if value is None else value.encode("utf-8", "surrogateescape").hex()


def texts_as_hex(record):
    """The dump writes texts as hex; bytes are hex already."""
    return {key: as_hex(value) if isinstance(value, str) and key not in ("build_id", "data")
            else [as_hex(v) for v in value] if isinstance(value, list) else value
            for key, value in record.items()}


@pytest.mark.parametrize(
    "name", ["least", "tiny", "small", "plain", "packed", "larger", "graph", "leaky"]
)
def test_the_document_alone_gives_every_field_of_a_file(name):
    wanted = json.loads((MADE / f"{name}.json").read_text())
    found = format_reader.read(MADE / f"{name}.seep")
    assert texts_as_hex(found.meta) == wanted["meta"]
    assert found.totals == wanted["totals"]
    for array in format_reader.ARRAYS:
        assert [texts_as_hex(record) for record in found.arrays[array]] == wanted[array], array


def answer(*words, status=0):
    return json.loads(ask(*words, status=status).stdout)


@pytest.fixture(scope="module")
def recorded(compiler, tmp_path_factory):
    file = tmp_path_factory.mktemp("format") / "known.seep"
    ask("record", "-q", "-o", file, compiler.build("known.c"))
    return file


def test_info_says_what_the_document_says(recorded):
    info, found = answer("info", "--json", recorded), format_reader.read(recorded)
    assert info["whole"] is True
    assert info["bytes"] == recorded.stat().st_size
    sections = [
        {k: s[k] for k in ("type", "offset", "stored_bytes", "raw_bytes")} for s in info["sections"]
    ]
    assert sections == found.sections
    assert info["args"] == found.meta["args"] and info["program"] == found.meta["program"]
    assert (info["pid"], info["duration_ms"]) == (found.meta["pid"], found.meta["duration_ms"])
    for name, fixed in (
        ("sites", 1),
        ("nodes", 2),
        ("threads", 1),
        ("modules", 0),
        ("slices", 0),
        ("blocks", 0),
    ):
        assert info["counts"][name] == found.counts[name] - fixed, name
    assert [(m["path"], int(m["bias"], 16)) for m in info["modules"]] == \
        [(m["path"], m["bias"]) for m in found.arrays["modules"]]


def test_report_says_what_the_document_says(recorded):
    report, found = answer("report", "--json", recorded), format_reader.read(recorded)
    for key in (
        "allocations", "frees", "bytes_allocated", "live_blocks", "live_bytes", "peak_bytes",
        "temporary",
    ):
        assert report["totals"][key] == found.totals[key], key
    sites = found.arrays["sites"]
    names = {
        "allocations": "allocs",
        "frees": "frees",
        "bytes_allocated": "alloc_bytes",
        "live_blocks": "live_blocks",
        "live_bytes": "live_bytes",
        "peak_bytes": "peak_bytes",
        "temporary": "temporary",
    }
    assert report["sites"], "the program allocates"
    for site in report["sites"]:
        mine = sites[site["id"]]
        assert {k: site[k] for k in names} == {k: mine[v] for k, v in names.items()}
        real = [f for f in (report["frames"][i] for i in site["stack"]) if not f["inlined"]]
        assert len(real) == len(found.stack(mine["node"]))


# Each maker has a size of its own, by which its site is known without names.
SIZES = {"red": 10, "green": 200, "blue": 3000}
STEPS = """+red:50:10 +green:7:200 tag:first -red:20 +red:5:10 +green:30:200 -green:9 tag:second
    +blue:4:3000 -green:11 since:first
    -red:33 +red:8:10 tag:third -blue:1 -red:5 since:first since:second""".split()


def recording_of(argv, folder, *options):
    file = folder / "steps.seep"
    done = run([SEEP, "record", "-q", *options, "-o", file, *argv], cwd=folder)
    assert done.status == 0, done.stderr.decode()
    return format_reader.read(file), file, done.truth


def between(found, site, first, second):
    """Section 6, DEATHS: blocks and bytes made after one mark that live at another (None: at the
    end)."""
    marks, changes, slices = (found.arrays[name] for name in ("marks", "changes", "slices"))
    made = []
    for mark in (first, second):
        upto = slices[mark["slice"] if mark else -1]
        last = [
            c for c in changes[: upto["change_first"] + upto["change_count"]] if c["site"] == site
        ]
        made.append((last[-1]["allocs"], last[-1]["alloc_bytes"]) if last else (0, 0))
    end = second["era"] if second else marks[-1]["era"] + 1
    dead = [
        d
        for d in found.arrays["deaths"]
        if d["site"] == site and first["era"] <= d["birth"] < end and d["death"] < end
    ]
    return tuple(
        made[1][i] - made[0][i] - sum(d[key] for d in dead)
        for i, key in enumerate(("blocks", "bytes"))
    )


def test_what_lives_between_two_marks_follows_from_the_document(compiler, tmp_path):
    found, _, truth = recording_of([compiler.build("steps.c"), *STEPS], tmp_path)
    marks = {m["label"]: m for m in found.arrays["marks"]}
    assert [m["label"] for m in found.arrays["marks"]] == ["first", "second", "third"]
    sites = {
        name: next(
            i
            for i, s in enumerate(found.arrays["sites"])
            if s["allocs"] and s["alloc_bytes"] == size * s["allocs"]
        )
        for name, size in SIZES.items()
    }
    assert set(truth.since) == {("first", "second"), ("first", "third"), ("second", "third")}
    for (first, now), by_site in truth.since.items():
        if now == "third":  # told after the last step
            for name, wanted in by_site.items():
                assert between(found, sites[name], marks[first], None) == (
                    wanted["blocks"],
                    wanted["bytes"],
                ), (first, name)
    # At tag third, before the last two steps: by hand from STEPS.
    assert between(found, sites["red"], marks["first"], marks["third"]) == (10, 100)
    assert between(found, sites["green"], marks["first"], marks["second"]) == (28, 5600)
    assert between(found, sites["blue"], marks["first"], marks["second"]) == (0, 0)
    assert between(found, sites["blue"], marks["second"], marks["third"]) == (4, 12000)


def test_resources_are_in_the_file_as_the_program_held_them(compiler, tmp_path):
    found, file, truth = recording_of([compiler.build("resources.c"), "plain"], tmp_path)
    types = [t["name"] for t in found.arrays["types"]]
    held = sorted(
        (types[found.arrays["sites"][h["site"]]["kind"] - 32], h["handle"], h["amount"])
        for h in found.arrays["handles"]
    )
    assert held == sorted((kind, handle, amount) for kind, _, handle, amount in truth.held)
    assert found.totals["live_bytes"] == truth.total["live_bytes"]
    info = answer("info", "--json", file)
    assert info["types"] == types and info["counts"]["handles"] == len(held)


def test_histograms_count_every_allocation_and_release_once(compiler, tmp_path):
    found, _, truth = recording_of([compiler.build("steps.c"), *STEPS], tmp_path)
    sizes, lifetimes = found.totals["sizes"], found.totals["lifetimes"]
    assert sum(sizes) == truth.total["allocs"] == found.totals["allocations"]
    assert sum(lifetimes) == truth.total["frees"] == found.totals["frees"]
    assert (sizes[4], sizes[8], sizes[12]) == (63, 37, 4)  # 10, 200 and 3000 bytes


def test_info_tells_marks_as_they_are_in_the_file(compiler, tmp_path):
    found, file, _ = recording_of(
        [compiler.build("steps.c"), "tag:one", "+red:3:10", "snapshot:two words", "tag:three"],
        tmp_path,
    )
    marks = answer("info", "--json", file)["marks"]
    assert [(m["type"], m["number"], m["label"]) for m in marks] == \
        [("tag", 0, "one"), ("snapshot", 1, "two words"), ("tag", 0, "three")]
    for mine, other in zip(marks, found.arrays["marks"]):
        assert (mine["ms"], mine["live_bytes"]) == (
            other["ms"],
            found.arrays["slices"][other["slice"]]["live_bytes"],
        )
    text = subprocess.run(
        [SEEP, "info", file],
        capture_output=True,
        text=True,
        env=clean_environment(),
        timeout=DEADLINE,
    ).stdout
    assert "two words" in text and "#1" in text


def test_a_forked_process_has_its_own_marks_only(compiler, tmp_path):
    found, _, truth = recording_of(
        [
            compiler.build("steps.c"), "+red:5:10", "tag:before", "snapshot:too", "fork",
            "+red:3:10", "tag:in child",
        ],
        tmp_path,
        "--follow=all",
    )
    assert [m["label"] for m in found.arrays["marks"]] == ["before", "too"]
    [child] = tmp_path.glob(f"*.seep.d/steps.{truth.facts['child']}.seep")
    child = format_reader.read(child)
    assert [m["label"] for m in child.arrays["marks"]] == ["in child"]
    assert child.arrays["slices"][child.arrays["marks"][0]["slice"]]["live_bytes"] == 80


def test_a_loop_program_makes_a_small_file(recorded):
    assert recorded.stat().st_size < 20000


def test_a_cut_file_is_shown_and_told(recorded, tmp_path):
    cut = tmp_path / "cut.seep"
    cut.write_bytes(recorded.read_bytes()[:-40])
    info = answer("info", "--json", cut, status=1)
    assert info["whole"] is False and info["complete"] is False
    assert any("cut off" in warning for warning in info["warnings"])
    with pytest.raises(format_reader.Broken):
        format_reader.read(cut)


OTHERS = [(b"", "empty"), (b"\x1f\x8b\x08 not ours", "gzip"), (b"v 10300 3\n", "heaptrack"),
          (b"\x7fELF\x02\x01\x01", "ELF"), (b"desc: x\ncmd: y\n", "massif")]


@pytest.mark.parametrize("content, word", OTHERS)
def test_what_is_no_recording_is_named_and_gives_status_4(tmp_path, content, word):
    file = tmp_path / "other.seep"
    file.write_bytes(content)
    for command in ("info", "report"):
        done = subprocess.run(
            [SEEP, command, file],
            capture_output=True,
            text=True,
            env=clean_environment(),
            timeout=DEADLINE,
        )
        assert (done.returncode, done.stdout) == (4, "")
        assert word in done.stderr and all(
            line.startswith("seep: ") for line in done.stderr.splitlines()
        )


def test_without_a_name_the_newest_recording_here_is_meant(recorded, tmp_path):
    data = recorded.read_bytes()
    for name in ("b.seep", "a.seep"):
        (tmp_path / name).write_bytes(data)
    os.utime(tmp_path / "b.seep", (1, 1))
    done = subprocess.run(
        [SEEP, "info", "--json"],
        capture_output=True,
        cwd=tmp_path,
        env=clean_environment(),
        timeout=DEADLINE,
    )
    assert json.loads(done.stdout)["file"] == "a.seep"


def test_without_any_recording_here_that_is_said(tmp_path):
    done = subprocess.run(
        [SEEP, "info"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=clean_environment(),
        timeout=DEADLINE,
    )
    assert done.returncode == 2 and "no *.seep file here" in done.stderr
