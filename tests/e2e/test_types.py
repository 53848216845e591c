# SPDX-License-Identifier: MIT
"""`seep report --types`: bytes and blocks by type are those that the programs say they made."""
import json
import os
import shutil
import subprocess
import time

import pytest

import pages
from harness import DEADLINE, PROGRAMS, SEEP, ask, clean_environment, rust

WAYS = {"vtable", "template", "function", "source", "variable", "holder", "alike"}


def types(file, *options):
    return json.loads(ask("report", "--types", "--json", *options, file).stdout)


def by_type(told):
    """{type: (bytes, blocks)}; the rows add up, and each says how it is known."""
    rows = told["types"]
    assert [r["bytes"] for r in rows] == sorted((r["bytes"] for r in rows), reverse=True)
    for what in ("bytes", "blocks"):
        assert sum(r[what] for r in rows) == told["total"][what]
        assert sum(r[what] for r in rows if r["type"]) == told["known"][what]
        assert all(sum(s[what] for s in r["sites"]) == r[what] for r in rows)
        assert all(
            sum(w[what] for w in r["known_by"].values()) == r[what] for r in rows if r["type"]
        )
    assert all(set(r["known_by"]) <= WAYS and bool(r["known_by"]) == bool(r["type"]) for r in rows)
    return {r["type"]: (r["bytes"], r["blocks"]) for r in rows if r["type"]}


def told_by(recording, moment):
    rows = [
        line.split("\t")
        for line in recording.stderr.decode().splitlines()
        if line.startswith(moment + "\t")
    ]
    return {name: (int(size), int(blocks)) for _, name, size, blocks in rows}


@pytest.mark.parametrize("cc", ["gcc", "clang"])
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_c(recorder, compiler, need, cc, level):
    need(cc)
    recording = recorder.record(
        compiler.build("types.c", cc=cc, flags=(level, "-g", "-fno-builtin")),
        options=("--keep-graph",),
    )
    file = recording.folder / "out.seep"
    for moment, options in (
        ("half", ("--at", "half")),
        ("peak", ("--at", "peak")),
        ("end", ("--at", "end")),
    ):
        told = types(file, *options)
        found, wanted = by_type(told), told_by(recording, moment)
        unknown = wanted.pop("unknown")
        assert {k: found.get(k) for k in wanted if wanted[k][0]} == {
            k: v for k, v in wanted.items() if v[0]
        }, moment
        assert ("struct gone" in found) == (moment == "peak")
        assert [(r["bytes"], r["blocks"]) for r in told["types"] if not r["type"]] == [unknown]
    ways = {r["type"]: set(r["known_by"]) for r in types(file, "--at", "end")["types"]}
    assert ways["struct held"] == {"holder"} and ways["char"] == {"function"}
    grown = by_type(types(file, "--range", "half..", "--cost", "change"))
    assert grown["struct node"] == (11 * 24, 11) and grown["char"] == (77, 11)


def test_the_page_has_them_of_the_end_and_the_peak(recorder, compiler):
    recording = recorder.record(
        compiler.build("types.c", flags=("-O0", "-g", "-fno-builtin")), options=("--keep-graph",)
    )
    page = pages.page_of(recording.folder / "out.seep").one
    for at, moment in ((-1, "end"), (-2, "peak")):
        rows = [r for r in page.rows("types") if r["at"] == at]
        wanted = told_by(recording, moment)
        found = {page.text(r["name"]): (r["bytes"], r["blocks"]) for r in rows}
        assert {k: found.get(k) for k in wanted if wanted[k][0] and k != "unknown"} == {
            k: v for k, v in wanted.items() if v[0] and k != "unknown"
        }
        assert found[None] == wanted["unknown"]
        (sums,) = [m for m in page.rows("type_moments") if m["at"] == at]
        assert sums["bytes"] == sum(r["bytes"] for r in rows) and sums["known_bytes"] == sum(
            r["bytes"] for r in rows if r["name"] != -1
        )
        assert sums["exact"] == (moment == "end")
        assert (
            all((page.text(r["by"]) in WAYS) == (r["name"] != -1) for r in rows)
            and set(page.data["type_ways"]) == WAYS
        )


def test_two_moments_are_compared(recorder, compiler):
    recording = recorder.record(
        compiler.build("types.c", flags=("-O0", "-g", "-fno-builtin")), options=("--keep-graph",)
    )
    done = subprocess.run(
        [SEEP, "diff", "--types", "--json", "out.seep@half", "out.seep"],
        cwd=recording.folder,
        capture_output=True,
        text=True,
        env=clean_environment(),
        timeout=DEADLINE,
        check=True,
    )
    before, after = told_by(recording, "half"), told_by(recording, "end")
    told = {
        r["type"] or "unknown": (r["bytes"], r["blocks"]) for r in json.loads(done.stdout)["types"]
    }
    names = {
        name for name in {**before, **after} if before.get(name, (0, 0)) != after.get(name, (0, 0))
    }
    assert names and {n: told.get(n) for n in names} == {
        n: tuple(b - a for a, b in zip(before.get(n, (0, 0)), after.get(n, (0, 0)))) for n in names
    }
    text = subprocess.run(
        [SEEP, "diff", "--types", "out.seep", "out.seep"],
        cwd=recording.folder,
        capture_output=True,
        text=True,
        env=clean_environment(),
        timeout=DEADLINE,
        check=True,
    ).stdout
    assert text.splitlines()[2].split()[:2] == ["0", "B"] and "all types" in text.splitlines()[2]


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_cpp(recorder, compiler, level):
    recording = recorder.record(compiler.build("types.cpp", flags=(level, "-g")))
    told = types(recording.folder / "out.seep", "--at", "end")
    found = by_type(told)
    wanted = [
        line.split("\t") for line in recording.stderr.decode().splitlines() if line.count("\t") == 3
    ]
    assert len(wanted) == 8
    for name, size, blocks, way in wanted:
        assert found.get(name) == (int(size), int(blocks)), name
        assert way in next(r["known_by"] for r in told["types"] if r["type"] == name), name
    assert found["app::Session (make_shared)"][1] == 1


RUST = """
struct Node { _a: u64, _b: [u32; 10] }
fn main() {
    let v: Vec<Box<Node>> = (0..100)
        .map(|i| Box::new(Node { _a: i, _b: [i as u32; 10] })).collect();
    let mut w: Vec<f64> = Vec::with_capacity(1000);
    w.push(std::env::args().count() as f64);
    eprintln!("{} {:p}", v.len(), w.as_ptr());
    std::process::exit(0);
}
"""


def test_sql(recorder, compiler):
    recording = recorder.record(compiler.build("types.c", flags=("-g", "-fno-builtin")))
    file = recording.folder / "out.seep"
    for view, moment in (("types", "end"), ("types_peak", "peak")):
        done = subprocess.run(
            [SEEP, "sql", "--json", file, f"SELECT * FROM {view}"],
            capture_output=True,
            text=True,
            env=clean_environment(),
            timeout=DEADLINE,
        )
        assert done.returncode == 0, done.stderr
        found = {r["type"] or "unknown": (r["bytes"], r["blocks"]) for r in json.loads(done.stdout)}
        assert found == {k: v for k, v in told_by(recording, moment).items() if v[0]}


@pytest.mark.parametrize("level", ["0", "2"])
def test_rust(recorder, need, tmp_path, level):
    need("rustc")
    program = rust(tmp_path, RUST, f"-Copt-level={level}")
    found = by_type(types(recorder.record(program).folder / "out.seep", "--at", "end"))
    assert found["r::Node"] == (100 * 48, 100)
    assert found["f64"] == (8000, 1)


def test_a_source_file_that_changed_later_is_not_believed(recorder, tmp_path):
    source = tmp_path / "later.c"
    shutil.copy(PROGRAMS / "types.c", source)
    include = PROGRAMS.parent.parent / "include"
    subprocess.run(
        ["gcc", "-g", "-fno-builtin", f"-I{include}", "-o", tmp_path / "later", source],
        check=True,
        timeout=120,
    )
    file = recorder.record(tmp_path / "later").folder / "out.seep"
    before = types(file, "--at", "peak")
    assert any("source" in r["known_by"] for r in before["types"])
    os.utime(source, (time.time() + 1000, time.time() + 1000))
    after = by_type(types(file, "--at", "peak"))
    assert not any("source" in r["known_by"] for r in types(file, "--at", "peak")["types"])
    assert after["struct node"] == (100 * 24, 100)  # declared in the line of its malloc


def test_text_for_people(recorder, compiler):
    recording = recorder.record(compiler.build("types.c", flags=("-g", "-fno-builtin")))
    say = lambda *words: subprocess.run(
        [SEEP, "report", *words, recording.folder / "out.seep"],
        capture_output=True,
        text=True,
        env=clean_environment(),
        timeout=DEADLINE,
    )
    lines = say("--types").stdout.splitlines()
    assert "% of the bytes is known" in lines[0] and "struct gone" in lines[2]
    assert any("--types='struct gone'" in line for line in lines)
    sites = say("--types=struct item").stdout
    assert "struct item (24 B each" in sites and "make_items" in sites
    assert say("--types=no such type").returncode == 2
    assert say("--types", "--thread", "x").returncode == 2
