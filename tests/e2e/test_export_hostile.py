# SPDX-License-Identifier: MIT
"""Names that were chosen to break forms: each form is still read as what it is, with every
number in its place."""
import csv
import io
import json
import re
import subprocess
import xml.etree.ElementTree as ElementTree
from collections import Counter

import pytest

import readers
from exporter import Exporter
from harness import BUILD, DEADLINE, clean_environment

FORGE = BUILD / "tests" / "unit" / "forge_hostile"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A recording, and the names in it with their bytes."""
    assert FORGE.exists(), f"{FORGE} is not built"
    folder = tmp_path_factory.mktemp("hostile")
    done = subprocess.run(
        [FORGE, folder / "out.seep"], capture_output=True, text=True, check=True, timeout=DEADLINE
    )
    rows = [line.split() for line in done.stdout.splitlines()]
    return Exporter(folder / "out.seep", folder), {
        bytes.fromhex(name): int(value) for name, value in rows
    }


def plain(name, forbidden=()):
    """One line of UTF-8; a byte that is no character counts alone."""
    text = name.decode(errors="surrogateescape")
    return "".join(
        ":"
        if c in forbidden
        else " "
        if c < " " or "\x7f" <= c < "\xa0" or c in "\u2028\u2029"
        else "\ufffd"
        if "\udc80" <= c <= "\udcff"
        else c
        for c in text
    )


def test_collapsed(hostile):
    export, names = hostile
    lines = export.bytes("collapsed").decode().split("\n")
    assert lines.pop() == ""
    assert Counter(tuple(line.rsplit(" ", 1)) for line in lines) == Counter(
        (f"main;{plain(n, ';')}", str(v)) for n, v in names.items()
    )


@pytest.mark.parametrize("form", ["speedscope", "gprof2dot", "json"])
def test_json(hostile, form):
    export, names = hostile
    data = json.loads(export.bytes(form).decode())
    found = {
        f.get("name") or f.get("function")
        for f in data.get("functions") or data.get("frames") or data["shared"]["frames"]
    }
    as_json = {n.decode(errors="surrogateescape") for n in names}
    assert found == {
        "main",
        *("".join("\ufffd" if "\udc80" <= c <= "\udcff" else c for c in n) for n in as_json),
    }


@pytest.mark.parametrize("form", ["dhat", "firefox", "sarif", "valgrind-xml", "junit", "svg"])
def test_others_are_well_formed(hostile, form):
    text = hostile[0].bytes(form).decode()
    ElementTree.fromstring(text) if form in ("valgrind-xml", "junit", "svg") else json.loads(text)


def cell(name):
    """Line breaks and tabs stay inside quotes; what a terminal obeys does not, and a spreadsheet
    computes nothing."""
    text = "".join(
        "?"
        if re.fullmatch(
            "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f"
            "\u2028-\u202e\u2066-\u2069\udc80-\udc9f]",
            c,
        )
        else c
        for c in name.decode(errors="surrogateescape")
    )
    return "'" + text if text[0] in "=+-@" else text


def test_csv(hostile):
    export, names = hostile
    text = export.bytes("csv").decode(errors="surrogateescape")
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert Counter(int(r["live_bytes"]) for r in rows) == Counter(names.values())
    by_bytes = {v: cell(n) for n, v in names.items()}
    assert all(
        r["stack"].startswith(by_bytes[int(r["live_bytes"])])
        and r["stack"].endswith("main [/src/m.c:1]")
        for r in rows
    )


def test_pprof(hostile, tmp_path):
    export, names = hostile
    tool = readers.pprof()
    if not tool:
        pytest.skip("Go's pprof is not installed (golang-1.19-go)")
    told = readers.ask(
        [tool, "-raw", export.file("pprof")],
        env={"PPROF_TMPDIR": str(tmp_path), "HOME": str(tmp_path)},
    )
    values = [
        int(v) for v in re.findall(r"^ +\d+ +(?:\d+ +){2}(\d+) .*: \d+ \d+ *$", told, re.MULTILINE)
    ]
    assert Counter(values) == Counter(names.values())
    located = told.split("Locations\n")[1]
    assert [n for n in names if plain(n) not in located] == []


def test_callgrind(hostile):
    export, names = hostile
    done = subprocess.run(
        [
            "callgrind_annotate", "--threshold=100", "--auto=no", "--show=LiveBytes",
            "--sort=LiveBytes", export.file("callgrind"),
        ],
        capture_output=True,
        env=clean_environment(),
        cwd="/",
        timeout=DEADLINE,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    text = done.stdout.decode()
    assert f"{sum(names.values()):,} (100.0%)  PROGRAM TOTALS" in text
    for name, value in names.items():
        assert re.search(
            rf"^\s*{value} \([ \d.]+%\)\s+.*: *{re.escape(plain(name).strip())} +\[",
            text,
            re.MULTILINE,
        ), name
