# SPDX-License-Identifier: MIT
"""docs/FORMAT.md tells the truth: a reader written from it alone (format_reader.py) sees what the tool sees."""
import json
import os
import subprocess

import pytest

import format_reader
from harness import BUILD, DEADLINE, SEEP, clean_environment

MADE = BUILD / "tests" / "fuzz"  # by tests/fuzz/corpus.c: files, and what was in memory when they were written


def as_hex(value):
    return None if value is None else value.encode("utf-8", "surrogateescape").hex()


def texts_as_hex(record):
    """The dump writes texts as hex; build ids are hex already."""
    return {key: as_hex(value) if isinstance(value, str) and key != "build_id"
            else [as_hex(v) for v in value] if isinstance(value, list) else value
            for key, value in record.items()}


@pytest.mark.parametrize("name", ["least", "tiny", "small", "plain", "packed", "larger"])
def test_the_document_alone_gives_every_field_of_a_file(name):
    wanted = json.loads((MADE / f"{name}.json").read_text())
    found = format_reader.read(MADE / f"{name}.seep")
    assert texts_as_hex(found.meta) == wanted["meta"]
    assert found.totals == wanted["totals"]
    for array in format_reader.ARRAYS:
        assert [texts_as_hex(record) for record in found.arrays[array]] == wanted[array], array


def ask(*argv, status=0):
    done = subprocess.run([SEEP, *map(str, argv)], capture_output=True, env=clean_environment(), timeout=DEADLINE)
    assert done.returncode == status, done.stderr.decode()
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def recorded(compiler, tmp_path_factory):
    file = tmp_path_factory.mktemp("format") / "known.seep"
    done = subprocess.run([SEEP, "record", "-q", "-o", file, compiler.build("known.c")], capture_output=True,
                          env=clean_environment(), timeout=DEADLINE)
    assert done.returncode == 0, done.stderr.decode()
    return file


def test_info_says_what_the_document_says(recorded):
    info, found = ask("info", "--json", recorded), format_reader.read(recorded)
    assert info["whole"] is True
    assert info["bytes"] == recorded.stat().st_size
    sections = [{k: s[k] for k in ("type", "offset", "stored_bytes", "raw_bytes")} for s in info["sections"]]
    assert sections == found.sections
    assert info["args"] == found.meta["args"] and info["program"] == found.meta["program"]
    assert (info["pid"], info["duration_ms"]) == (found.meta["pid"], found.meta["duration_ms"])
    for name, fixed in (("sites", 1), ("nodes", 2), ("threads", 1), ("modules", 0), ("slices", 0), ("blocks", 0)):
        assert info["counts"][name] == found.counts[name] - fixed, name
    assert [(m["path"], int(m["bias"], 16)) for m in info["modules"]] == \
        [(m["path"], m["bias"]) for m in found.arrays["modules"]]


def test_report_says_what_the_document_says(recorded):
    report, found = ask("report", "--json", recorded), format_reader.read(recorded)
    for key in ("allocations", "frees", "bytes_allocated", "live_blocks", "live_bytes", "peak_bytes", "temporary"):
        assert report["totals"][key] == found.totals[key], key
    sites = found.arrays["sites"]
    names = {"allocations": "allocs", "frees": "frees", "bytes_allocated": "alloc_bytes", "live_blocks": "live_blocks",
             "live_bytes": "live_bytes", "peak_bytes": "peak_bytes", "temporary": "temporary"}
    assert report["sites"], "the program allocates"
    for site in report["sites"]:
        mine = sites[site["id"]]
        assert {k: site[k] for k in names} == {k: mine[v] for k, v in names.items()}
        real = [f for f in (report["frames"][i] for i in site["stack"]) if not f["inlined"]]
        assert len(real) == len(found.stack(mine["node"]))


def test_a_loop_program_makes_a_small_file(recorded):
    assert recorded.stat().st_size < 20000


def test_a_cut_file_is_shown_and_told(recorded, tmp_path):
    cut = tmp_path / "cut.seep"
    cut.write_bytes(recorded.read_bytes()[:-40])
    info = ask("info", "--json", cut, status=1)
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
        done = subprocess.run([SEEP, command, file], capture_output=True, text=True, env=clean_environment(),
                              timeout=DEADLINE)
        assert (done.returncode, done.stdout) == (4, "")
        assert word in done.stderr and all(line.startswith("seep: ") for line in done.stderr.splitlines())


def test_without_a_name_the_newest_recording_here_is_meant(recorded, tmp_path):
    data = recorded.read_bytes()
    for name in ("b.seep", "a.seep"):
        (tmp_path / name).write_bytes(data)
    os.utime(tmp_path / "b.seep", (1, 1))
    done = subprocess.run([SEEP, "info", "--json"], capture_output=True, cwd=tmp_path, env=clean_environment(),
                          timeout=DEADLINE)
    assert json.loads(done.stdout)["file"] == "a.seep"


def test_without_any_recording_here_that_is_said(tmp_path):
    done = subprocess.run([SEEP, "info"], capture_output=True, text=True, cwd=tmp_path, env=clean_environment(),
                          timeout=DEADLINE)
    assert done.returncode == 2 and "no *.seep file here" in done.stderr
