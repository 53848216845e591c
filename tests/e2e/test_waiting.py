# SPDX-License-Identifier: MIT
"""For whom a recording waits when the program has ended (record --wait), and what is said about
it."""
import os
import re
import subprocess

import pytest

from harness import DEADLINE, SEEP, Profile, clean_environment, end_process, wait_until

LEAVE_ONE = 'cat "$0" >/dev/null 2>&1 & echo left'


class Left:
    """A program that ends while a child of it waits for somebody to write into a pipe."""

    def __init__(self, folder, *options):
        self.folder, self.fifo, self.said = folder, folder / "fifo", folder / "said"
        os.mkfifo(self.fifo)
        with open(self.said, "w", encoding="utf-8") as said:
            self.tool = subprocess.Popen(
                [
                    SEEP, "record", "-v", *options, "-o", "%e.%p.seep", "--", "sh", "-c",
                    LEAVE_ONE, self.fifo,
                ],
                cwd=folder,
                env=clean_environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
            )

    def let_go(self):
        """Nobody may be there any more, or not yet."""
        os.close(os.open(self.fifo, os.O_RDWR | os.O_NONBLOCK))

    def words(self):
        return self.said.read_text(encoding="utf-8")


@pytest.fixture
def left(tmp_path):
    made = []

    def begin(*options):
        made.append(Left(tmp_path, *options))
        return made[-1]
    yield begin
    for one in made:
        one.let_go()
        end_process(one.tool)


def test_all_are_waited_for_and_named(left):
    one = left("--follow=all")
    wait_until(
        lambda: "waiting for what it started: " in one.words(), "it is told", process=one.tool
    )
    who = re.search(
        r"sh has ended; waiting for what it started: (cat|dash|sh) \(pid (\d+)\)", one.words()
    )
    assert who, one.words()
    # The child may have been waiting for a writer from the start, or be on its way there.
    wait_until(lambda: one.let_go() or one.tool.poll() is not None, "it ends with the child")
    assert one.tool.returncode == 0
    made = [Profile(f) for f in one.folder.glob(f"*.{who[2]}.*seep")]
    assert made and all(p.json["complete"] for p in made)


@pytest.mark.parametrize(
    "options",
    [
        ("--follow=all", "--wait=program"),
        ("--follow=exec",),
        ("--follow=all", "--wait=200ms"),
        ("--follow=exec", "--wait=200ms"),
    ],
)
def test_nobody_is_waited_for_longer_than_asked(left, options):
    one = left(*options)
    assert one.tool.wait(DEADLINE) == 0
    assert ("waiting for" in one.words()) == (options[-1] == "--wait=200ms")


def test_with_exec_all_can_be_waited_for(left):
    one = left("--follow=exec", "--wait=all")
    wait_until(
        lambda: "waiting for what it started: " in one.words(), "it is told", process=one.tool
    )
    wait_until(lambda: one.let_go() or one.tool.poll() is not None, "it ends with the child")
    assert [Profile(f).json["complete"] for f in one.folder.glob("cat.*.seep")] == [True]


def test_children_that_were_killed_at_once_are_not_waited_for(compiler, recorder):
    """They were announced, and never said hello: a process that is not there any more will not."""
    done = recorder.record(compiler.build("short_lived.c"), options=["--follow=all", "-v"])
    assert done.status == 0
    assert b"waiting for what it started: short_lived" not in done.stderr


@pytest.mark.parametrize("options, word", [(("--wait=soon",), "program, all or a time like 10s"),
                                           (("--follow=none", "--wait=all"), "--follow=none")])
def test_senseless_wishes_are_refused(options, word):
    done = subprocess.run(
        [SEEP, "record", *options, "true"],
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        check=False,
    )
    assert done.returncode == 2
    assert word in done.stderr
