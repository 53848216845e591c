# SPDX-License-Identifier: MIT
"""`seep shell` with libedit: lines are completed, remembered and edited; results go through the
pager."""
import os
import stat

import pytest

from harness import SEEP, wait_until
from screens import Terminal
from test_shell import PROMPT, Prompt, binary, recording  # the last two are fixtures

assert binary and recording


@pytest.fixture(scope="module")
def edited(recording, tmp_path_factory):
    """Skip where the shell reads plain lines."""
    with Prompt(recording, folder=tmp_path_factory.mktemp("probe")) as prompt:
        prompt.shows(PROMPT)
        prompt.type("sho\t")
        prompt.type("searchpat\t\n")
        prompt.shows("\n")
        prompt.type("show searchpath\n")
        if prompt.shows("searchpath: \r\n").count("none of"):
            pytest.skip("built without libedit")


# What is typed, and what the line is when TAB was pressed behind it.
COMPLETED = [
    ("procl", "proclist "),
    ("du", "dump "),
    ("dump by", "dump bytes-leaked "),
    ("dump mis", "dump mismatched "),
    ("scan le", "scan leak "),
    ("set sea", "set searchpath "),
    ("show in", "show info "),
    ("help procl", "help proclist "),
    ("report --call", "report --callers "),
    ("report --callers misl", "report --callers mislaid "),
    ("leaks -i kep", "leaks -i kept "),
    ("report --cost tempo", "report --cost temporary "),
    ("why misl", "why mislaid "),
    ("export speed", "export speedscope "),
    ("source note", "source notes.txt "),
    ("status >note", "status >notes.txt "),
    ("status > sub", "status > sub/"),
    ("status; procl", "status; proclist "),
    ("source sp", "source sp\\ ace "),
    ("status | sort note", "status | sort notes.txt "),
]


def test_tab_completes(edited, recording, tmp_path, need):
    need("tmux")
    work = tmp_path / "work"
    (work / "sub").mkdir(parents=True)
    for name in ("notes.txt", "sp ace"):
        (work / name).write_text("")
    terminal = Terminal(tmp_path, XDG_STATE_HOME=str(tmp_path))
    try:
        terminal.type(f"cd {work}; clear")
        terminal.press("Enter")
        terminal.run(SEEP, "shell", recording)
        terminal.shows("\nseep>")
        for typed, line in COMPLETED:
            terminal.type(typed)
            terminal.press("Tab")
            terminal.shows(lambda screen: screen.rstrip().endswith("seep> " + line.rstrip()), line)
            terminal.press("C-c")
            terminal.shows(lambda screen: screen.rstrip().endswith("\nseep>"))
        terminal.press("C-d")
        terminal.shows("status=0")
    finally:
        terminal.tmux("kill-server")


def test_tab_lists_what_is_possible(edited, recording, tmp_path):
    with Prompt(recording, folder=tmp_path) as prompt:
        prompt.shows(PROMPT)
        prompt.type("st\t")
        seen = prompt.shows("stop")
        assert "start" in seen and "status" in seen
        prompt.shows(PROMPT)
        prompt.type("\x15dump b\t")
        assert "badfree" in prompt.shows("bytes-leaked")
        prompt.type("\x15why #\t\t")
        prompt.shows("#2")


def test_tab_offers_no_name_that_a_terminal_would_obey(edited, recording, tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    for name in ("odd.txt", "odd\u202etxt.exe", "odd\x9b2J", "odd\x1b[2J"):
        (work / name).write_text("")
    (work / os.fsdecode(b"odd\x9b2K")).write_text("")
    with Prompt(recording, folder=tmp_path, cwd=work) as prompt:
        prompt.shows(PROMPT)
        prompt.type("source od\t")
        prompt.shows("d.txt ")


def test_history_has_what_worked_once_and_is_the_user_s_own(edited, recording, tmp_path):
    history = tmp_path / "seep" / "history"
    with Prompt(recording, folder=tmp_path) as prompt:
        prompt.shows(PROMPT)
        for line, answer in (
            ("status", "status: recording"),
            ("nonsense", "not a command"),
            ("show info", "searchpath: "),
            ("proclist  ", "available"),
            ("status", "status: recording"),
            ("leaks", "definitely lost"),
            ("start", "no process"),
        ):
            prompt.type(line + "\n")
            prompt.shows(answer)
            prompt.shows(PROMPT)
        prompt.type("quit\n")
        assert prompt.ends() == 0
    assert history.read_text() == "show info\nproclist\nstatus\nleaks\nquit\n"
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
    history.chmod(0o644)
    with Prompt(recording, folder=tmp_path) as prompt:
        prompt.shows(PROMPT)
        prompt.type(b"\x10\x10\x10\n")  # the third line from the end
        prompt.shows("status: recording")
        prompt.shows(PROMPT)
        prompt.type(b"\x12avail\x03")
        prompt.type(b"\x04")
    assert wait_until(
        lambda: history.read_text()
        == "show info\nproclist\nstatus\nleaks\nquit\nstatus\n".replace("status\n", "", 1),
        "the file",
    )
    assert stat.S_IMODE(history.stat().st_mode) == 0o600
    assert {p.name for p in tmp_path.iterdir()} == {"seep"}


def test_a_history_that_is_not_a_file_of_ours_is_left_alone(edited, recording, tmp_path):
    (tmp_path / "seep").mkdir()
    other = tmp_path / "other"
    other.write_text("precious")
    (tmp_path / "seep" / "history").symlink_to(other)
    with Prompt(recording, folder=tmp_path) as prompt:
        prompt.shows(PROMPT)
        assert "status: recording" in prompt.ask("status")
        prompt.type(b"\x04")
        assert prompt.ends() == 0
    assert other.read_text() == "precious"


def test_lines_are_edited(edited, recording, tmp_path):
    with Prompt(recording, folder=tmp_path) as prompt:
        prompt.shows(PROMPT)
        prompt.type("tatus\x01s\x05 x\x7f\x7f\n")
        prompt.shows("status: recording")
        prompt.type("tag \xc3\xa4\x7f; status\n".encode("latin-1"))  # one character of two bytes
        prompt.shows("status: recording")


def test_results_go_through_the_pager(recording, tmp_path):
    with Prompt(recording, folder=tmp_path, SEEP_PAGER="sed s/^/paged:/") as prompt:
        prompt.shows(PROMPT)
        prompt.type("help\n")
        prompt.shows("paged:Commands")
        prompt.type("dump\n")
        prompt.shows("paged:heap")
