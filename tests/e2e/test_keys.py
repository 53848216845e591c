# SPDX-License-Identifier: MIT
"""Sort keys of --flat, shortened too; objects of frames in every text view (-L)."""
import re

import pytest

from harness import ask

# Of red: nine small blocks and a large one.  Of green: two of medium size, first of all; of blue:
# none is left.
STEPS = "+green:2:1000 tag:a spin:60 tag:b +red:9:10 +red:1:5000 +blue:1:90000 -blue:1".split()
OWN = ("-i", "^(red|green|blue)$")


def answer(*words):
    return ask(*words, status=None)


def report(file, *argv):
    done = answer("report", "-q", *argv, file)
    assert done.returncode == 0, done.stderr
    return done.stdout


def functions(text):
    """The innermost function of each entry, in order."""
    return [
        re.split(r"\n {8}(?=\w)", entry)[1].split()[0]
        for entry in re.split(r"(?m)^ *\d+\. ", text)[1:]
    ]


@pytest.fixture(scope="module")
def file(compiler, tmp_path_factory):
    out = tmp_path_factory.mktemp("keys") / "out.seep"
    done = answer("record", "-q", "-o", out, compiler.build("steps.c"), *STEPS)
    assert done.returncode == 0, done.stderr
    return out


@pytest.mark.parametrize(
    "key,order",
    [
        ("average", ["green", "red"]),
        ("largest", ["red", "green"]),
        ("last", ["red", "blue", "green"]),
        ("alloc-bytes", ["blue", "red", "green"]),
    ],
)
def test_keys_order_the_stacks(file, key, order):
    found = functions(report(file, "--flat", "--sort", key, *OWN))
    assert [name for i, name in enumerate(found) if name not in found[:i]] == order


def test_the_number_of_a_key_is_that_of_the_blocks_alive(file):
    assert re.search(
        r"1\. 1000 B +average size of blocks not freed, by malloc",
        report(file, "--flat", "-s", "average", *OWN),
    )
    assert re.search(
        r"1\. 4.9 KiB +largest block not freed, by malloc",
        report(file, "--flat", "-s", "largest", *OWN),
    )


@pytest.mark.parametrize(
    "short,key",
    [
        ("av", "average"),
        ("lar", "largest"),
        ("las", "last"),
        ("live-by", "live-bytes"),
        ("b", "bad-frees"),
        ("m", "mismatched"),
        ("ag", "age"),
        ("allocs", "allocs"),
        ("t", "temporary"),
    ],
)
def test_a_key_may_be_shortened_while_it_is_unique(file, short, key):
    assert report(file, "--flat", "--sort", short) == report(file, "--flat", "--sort", key)


@pytest.mark.parametrize(
    "short,meant",
    [
        ("la", "last or largest"),
        ("live", "live-bytes or live-blocks"),
        ("alloc", "alloc-bytes or allocs"),
    ],
)
def test_a_short_key_that_fits_several_is_refused_with_those(file, short, meant):
    done = answer("report", "--flat", "--sort", short, file)
    assert (
        done.returncode == 2
        and done.stdout == ""
        and f"--sort is {meant}, not '{short}'" in done.stderr
    )


def test_other_commands_take_short_keys_too(file):
    assert (
        answer("leaks", "-q", "--sort", "leaked-by", file).stdout
        == answer("leaks", "-q", "--sort", "leaked-bytes", file).stdout
    )
    assert (
        answer("diff", "-q", "--sort", "p", file, file).stdout
        == answer("diff", "-q", "--sort", "peak-bytes", file, file).stdout
    )


@pytest.mark.parametrize(
    "case,count,head",
    [
        ("twice", 1, r"1\. 1 +invalid frees, by malloc"),
        ("inside", 1, r"1\. 1 +invalid frees, by malloc"),
        ("unknown", 1, r"invalid frees:"),
    ],
)
def test_bad_frees_lists_every_release_of_what_is_no_block(compiler, recorder, case, count, head):
    seen = recorder.record(compiler.build("releases.cpp"), case)
    out = report(seen.folder / "out.seep", "--flat", "--sort", "bad-frees")
    assert len(re.findall(head, out)) == count, out
    assert ("to_free" in out) == (case == "unknown")
    assert "memory:" not in out.split("invalid frees")[0]


VIEWS = ["--tree", "--flat", "--growth", "--callers=red", "--blocks", "--errors", "--summary"]


@pytest.mark.parametrize("view", VIEWS)
def test_long_shows_the_object_of_every_frame(file, compiler, view):
    program = str(compiler.build("steps.c").resolve()) if view != "--summary" else "steps"
    long, short = report(file, view, "-L"), report(file, view)
    frames = [
        line for line in long.splitlines() if re.search(r"\b(red|green|main)\b.*steps\.c", line)
    ]
    assert frames or view == "--errors"
    assert all(f"({program})" in line for line in frames), frames
    assert f"({program})" not in short
    assert report(file, view, "--long") == long


@pytest.mark.parametrize("words", [["leaks", "--show=all"], ["diff", "FILE"]])
def test_leaks_and_diff_show_objects_too(file, compiler, words):
    out = answer(*[str(file) if w == "FILE" else w for w in words], "-q", "-L", file).stdout
    assert f"({compiler.build('steps.c').resolve()})" in out or "diff" in words
