# SPDX-License-Identifier: MIT
"""Totals agree with Valgrind's on the same program."""
import re

import plain
import pytest

VALGRIND = [
    "valgrind", "--run-libc-freeres=no", "--run-cxx-freeres=no", "--leak-check=no",
    "--fair-sched=yes",
]


def valgrind_totals(text):
    def number(pattern):
        found = re.search(pattern, text)
        assert found, text
        return [int(n.replace(",", "")) for n in found.groups()]
    live = number(r"in use at exit: ([\d,]+) bytes in ([\d,]+) blocks")
    used = number(r"total heap usage: ([\d,]+) allocs, ([\d,]+) frees, ([\d,]+) bytes allocated")
    return {"live_bytes": live[0], "live_blocks": live[1], "allocations": used[0], "frees": used[1],
            "bytes_allocated": used[2]}


def check_agreement(recorder, *argv, **how):
    checked = recorder.bare(*VALGRIND, *argv, timeout=180, **how)
    seen = recorder.record(*argv, **how)
    assert (seen.stdout, seen.status) == (checked.stdout, checked.status)
    wanted = valgrind_totals(checked.stderr.decode())
    assert {key: seen.profile.totals[key] for key in wanted} == wanted
    assert wanted["allocations"] > 0


@pytest.fixture(autouse=True)
def valgrind_is_there(need):
    need("valgrind")


@pytest.mark.parametrize("seed", [11, 12, 13])
def test_random_traces_agree(compiler, recorder, seed):
    check_agreement(recorder, compiler.build("random_trace.c"), seed, 1, 20000)


def test_random_paths_agree(compiler, recorder):
    check_agreement(recorder, compiler.build("depth8.c"), 20000)


def test_constructors_threads_and_destructors_agree(compiler, recorder):
    check_agreement(recorder, compiler.build("lifecycle.cpp"))


def test_operators_agree(compiler, recorder):
    check_agreement(recorder, compiler.build("operators.cpp"))


def test_coroutines_agree(compiler, recorder):
    check_agreement(recorder, compiler.build("coroutines.c"))


def test_temporaries_and_threads_agree(compiler, recorder):
    check_agreement(recorder, compiler.build("temporaries.c"))


def test_sqlite_agrees(recorder, need):
    need("sqlite3")
    sql = (b"CREATE TABLE t(a, b); INSERT INTO t VALUES (1, 'x'), (2, 'y'); SELECT sum(a), "
           b"group_concat(b) FROM t;\n")
    check_agreement(recorder, "sqlite3", ":memory:", stdin=sql)


def test_a_shell_tool_agrees(recorder, tmp_path):
    text = tmp_path / "words"
    text.write_text("".join(f"{i * 7919 % 1000} word {i}\n" for i in range(2000)))
    check_agreement(recorder, "sed", "-E", "s/([0-9]+) word/\\1-/; /7$/d", str(text))


@pytest.mark.parametrize("options", [None, (), ("--follow=all",), ("--events",)])
def test_it_has_nothing_to_say_about_the_agent_inside(compiler, recorder, tmp_path, options):
    """What the agent hands to the kernel is initialised, to the last byte of its messages."""
    argv = ["valgrind", "-q", "--error-exitcode=9", compiler.build("temporaries.c")]
    bare = recorder.bare(*argv)
    assert bare.status == 0 and b"==" not in bare.stderr
    if options is None:
        seen = plain.run_plain(tmp_path, *argv, env={"SEEP_OPTIONS": "-q"})
    else:
        seen = recorder.record(*argv, options=("-q", *options))
    assert (seen.stdout, seen.stderr, seen.status) == (bare.stdout, bare.stderr, bare.status)


@pytest.mark.parametrize("more", range(0, 4096, 512))
def test_what_it_says_does_not_depend_on_where_the_stack_begins(compiler, recorder, more):
    """Whether a page of the stack is there is asked with a word that nobody may have written."""
    seen = recorder.record(
        "valgrind", "-q", "--error-exitcode=9", compiler.build("temporaries.c"), options=("-q",),
        env={"MORE": "x" * more})
    assert (seen.stderr, seen.status) == (b"", 0)
