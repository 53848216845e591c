# SPDX-License-Identifier: MIT
"""Functions of stripped code: told apart by the ranges of their unwind tables, and called the
same everywhere.  What nm says of the same program before it was stripped is the truth."""
import json
import re
import shutil
import subprocess

import pytest

from harness import DEADLINE, SEEP, clean_environment


def output(*argv):
    done = subprocess.run(
        [str(a) for a in argv],
        capture_output=True,
        text=True,
        env=clean_environment(),
        timeout=DEADLINE,
    )
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def nameless(compiler, tmp_path_factory):
    """The program without symbols, and what its functions are to be called."""
    folder = tmp_path_factory.mktemp("nameless")
    whole = compiler.build("nameless.c", flags=("-O0", "-fno-builtin", "-Wl,--build-id"))
    shutil.copy(whole, folder / "plain")
    starts = {
        name: int(address, 16)
        for address, name in re.findall(r"^(\w+) [tT] (\w+)$", output("nm", whole), flags=re.M)
    }
    subprocess.run(["strip", folder / "plain"], check=True, timeout=DEADLINE)
    for number, words in (1, []), (2, ["lose"]):
        output(
            SEEP, "record", "-q", "-o", folder / f"{number}.seep", "--", folder / "plain", *words
        )
    return folder, {f: f"plain+f_{starts[f]:x}" for f in ("first", "second", "shared", "main")}


OWN = {"first": 600, "second": 30, "shared": 1000 + 1001 + 2000 + 2001}
LOST = 50000 + 60000


def test_all_addresses_of_a_function_are_one(nameless):
    folder, names = nameless
    stacks = {}
    for line in output(
        SEEP, "export", "-q", "--to", "collapsed", "--cost", "live-bytes", folder / "1.seep"
    ).splitlines():
        stack, _, size = line.rpartition(" ")
        stacks[stack.split(";")[-1]] = stacks.get(stack.split(";")[-1], 0) + int(size)
        assert stack.split(";")[0] == names["main"]
    assert stacks == {names[f]: size for f, size in OWN.items()}
    whole = output(SEEP, "report", "-q", "--json", folder / "1.seep")
    frames = [
        f for f in json.loads(whole)["frames"] if f["module"].endswith("/plain") and not f["start"]
    ]
    assert {f["function"] for f in frames} == {None}
    assert {f"plain+f_{int(f['function_start'], 16):x}" for f in frames} == set(names.values())


def test_every_view_calls_it_the_same(nameless):
    folder, names = nameless
    for view in (
        ("--tree",),
        ("--tree", "--inverted"),
        ("--group-by", "function"),
        ("--callers", names["shared"]),
    ):
        text = output(
            SEEP, "report", "-q", *view, "--cost", "live-bytes", "--threshold", "0",
            folder / "1.seep",
        )
        assert names["shared"] in text and "plain+0x" not in text, view
    sums = dict(re.findall(r'"name": "([^"]*)",\s*"n": (\d+)', output(
        SEEP, "sql", "-q", "--json", folder / "1.seep",
        "SELECT f.name, count(DISTINCT f.address) AS n FROM frame f WHERE f.name LIKE 'plain+f_%' "
        "GROUP BY f.name")))
    # calls that return into each
    assert sums[names["first"]] == "4" and sums[names["shared"]] == "2"


def test_leaks_and_differences_go_by_the_function(nameless):
    folder, names = nameless
    lost = json.loads(output(SEEP, "leaks", "-q", "--json", folder / "2.seep"))["leaks"]["definite"]
    assert (lost["blocks"], lost["bytes"]) == (2, LOST)
    text = output(SEEP, "leaks", "-q", folder / "2.seep")
    assert names["second"] in text and "plain+0x" not in text
    grown = output(SEEP, "diff", "-q", folder / "1.seep", folder / "2.seep")
    assert names["second"] in grown and names["first"] not in grown
    rules = output(SEEP, "leaks", "-q", "--gen-suppressions", folder / "2.seep")
    assert (
        f"obj:{folder}/plain\n" in rules and "fun:plain" not in rules
    ), "Valgrind knows no such name"


def test_names_that_are_kept_stay_behind_those_that_are_found(nameless, compiler, tmp_path):
    """Stored in a recording the ranges go along with it; where the symbols are they are not
    used."""
    folder, names = nameless
    output(SEEP, "symbolize", "-q", "-o", tmp_path / "kept.seep", folder / "1.seep")
    moved = tmp_path / "away"
    shutil.move(folder / "plain", moved)
    try:
        env = clean_environment({"XDG_CACHE_HOME": str(tmp_path)})
        tree = [SEEP, "report", "-q", "--tree", "--threshold", "0"]
        done = subprocess.run(
            [*tree, tmp_path / "kept.seep"],
            capture_output=True,
            text=True,
            env=env,
            timeout=DEADLINE,
        )
        assert names["first"] in done.stdout and "plain+0x" not in done.stdout
        whole = compiler.build("nameless.c", flags=("-O0", "-fno-builtin", "-Wl,--build-id"))
        done = subprocess.run(
            [*tree, "--debug-path", whole.parent, tmp_path / "kept.seep"],
            capture_output=True,
            text=True,
            env=env,
            timeout=DEADLINE,
        )
        assert "first" in done.stdout and "+f_" not in done.stdout
    finally:
        shutil.move(moved, folder / "plain")


def test_missing_names_are_told_once(nameless, tmp_path):
    """The second command has its answers from the cache: the first one has said it."""
    folder, _ = nameless
    env = clean_environment({"XDG_CACHE_HOME": str(tmp_path)})
    told = [
        subprocess.run(
            [SEEP, "report", "--tree", folder / "1.seep"],
            capture_output=True,
            text=True,
            env=env,
            timeout=DEADLINE,
        ).stderr
        for _ in range(3)
    ]
    assert "functions have no name, in plain (build id " in told[0] and told[1:] == ["", ""]
