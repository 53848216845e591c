# SPDX-License-Identifier: MIT
"""Functions of a program's own that only pass allocations on are learned: what is named is who
asked them, in all views, and the program told who that was."""
import collections
import re
import subprocess

import pytest

import pages
from harness import DEADLINE, SEEP, clean_environment

PASSING = {"pool_alloc", "raw_alloc"}
FLAGS = ("-O2", "-g", "-fno-optimize-sibling-calls")


@pytest.fixture
def program(compiler):
    return compiler.build("passed_through.c", flags=FLAGS)


def seep(*argv):
    done = subprocess.run(
        [SEEP, *argv], capture_output=True, text=True, timeout=DEADLINE, env=clean_environment()
    )
    assert done.returncode == 0, done
    return done.stdout


def told(seen):
    """Bytes by place, as the program says."""
    places = collections.Counter()
    for size, (name,) in seen.truth.stacks:
        places[name] += size
    return places


def test_who_asked_is_named(program, recorder):
    seen = recorder.record(program)
    truth, file = told(seen), seen.folder / "out.seep"
    text = seep("report", "--flat", "--cost", "live", "-n", "0", "--no-pager", file)
    assert not PASSING & set(re.findall(r"\w+", text))
    assert set(truth) <= set(re.findall(r"\w+", text))
    whole = seep("report", "--all-frames", "--flat", "--cost", "live", "--no-pager", file)
    assert PASSING <= set(re.findall(r"\w+", whole))
    largest = truth.most_common(1)[0][0]
    assert re.search(rf"of it: {largest} passed_through\.c:", seen.stderr.decode())
    page = pages.page_of(file).one
    named = {
        page.frame(site["place"])["function"]: site["live_bytes"]
        for site in page.sites()
        if site["live_bytes"] > 1000
    }
    assert named == {name: size for name, size in truth.items() if size > 1000 and name in named}
    assert {"read_pages", "read_index", "boot", "log_on"} <= set(named)


def test_one_run_that_teaches_is_enough_for_a_difference(program, recorder, tmp_path):
    """Alone, the short run would not tell; both show their stacks in one shape."""
    few, many = (recorder.record(program, *words) for words in (["few"], []))
    text = seep("diff", "--no-pager", few.folder / "out.seep", many.folder / "out.seep")
    names = set(re.findall(r"\w+", text))
    assert {"read_index", "sort_rows", "log_on"} <= names
    assert not (PASSING | {"read_pages", "boot"}) & names


def test_lists_for_later_runs_do_not_depend_on_what_was_learned(program, recorder, tmp_path):
    """A baseline that one run wrote holds for another, in which fewer functions allocate."""
    source = tmp_path / "leaks.c"
    source.write_text(
        "#include <stdlib.h>\n#include <string.h>\n"
        "__attribute__((noinline)) void *pool_alloc(size_t n) "
        "{ void *p = malloc(n); memset(p, 1, n); return p; }\n"
        "void *volatile gone;\n"
        + "".join(
            f"__attribute__((noinline)) void ask_{n}(void) {{ gone = pool_alloc({n}); }}\n"
            for n in (100, 200, 300)
        )
        + "int main(int c, char **v) { (void)v; ask_100(); if (c < 2) { ask_200(); ask_300(); }"
        " gone = NULL; return 0; }\n"
    )
    binary = tmp_path / "leaks"
    subprocess.run(["gcc", *FLAGS, source, "-o", binary], check=True, timeout=DEADLINE)
    baseline = tmp_path / "known.txt"
    seep("check", "--write-baseline", baseline, "--", binary)
    assert "pool_alloc" in baseline.read_text()
    seep("check", "--baseline", baseline, "--", binary)
    seep("check", "--baseline", baseline, "--", binary, "once")
    done = subprocess.run([SEEP, "check", "--", binary], capture_output=True, text=True,
                          timeout=DEADLINE, env=clean_environment())
    assert done.returncode == 1, done
