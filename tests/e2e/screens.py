# SPDX-License-Identifier: MIT
"""screens.py -- what `seep top` prints, read back; and a terminal to press its keys in (tmux)."""
import re
import shlex
import subprocess

from harness import DEADLINE, SEEP, clean_environment, wait_until

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
ROW = re.compile(r"^[> ] *(?P<live>[\d.]+[KMG]?) +(?P<change>-|[-+]?[\d.]+[KMG]?) "
                 r"+(?P<blocks>[\d,.]+[kM]?) +(?P<calls>-|[\d.]+[kM]?) +"
                 r"(?P<age>-|\d+(?:ms|s|m\d+|h\d+|d\d+))  (?P<site>.*)$")


def size(text):
    number, unit = re.fullmatch(r"[-+]?([\d.]+)([KMG]?)", text).groups()
    return (-1 if text.startswith("-") else 1) * float(number) * UNITS[unit]


class Row:
    def __init__(self, match):
        self.live, self.site = size(match["live"]), match["site"].rstrip()
        self.blocks = int(match["blocks"].replace(",", ""))
        self.change = None if match["change"] == "-" else size(match["change"])
        self.number, self.site = re.fullmatch(r"(?:#(\d+) )?(.*)", self.site).groups()
        self.name = self.site.split()[0] if self.site else ""


def rows(text):
    """The rows of a screen, by the first word of their site."""
    found = [Row(m) for m in map(ROW.match, text.splitlines()) if m]
    return {row.name: row for row in found}


def top(*argv, columns=200, **env):
    return subprocess.run(
        [SEEP, "top", *map(str, argv)],
        capture_output=True,
        text=True,
        timeout=DEADLINE,
        stdin=subprocess.DEVNULL,
        env=clean_environment({"COLUMNS": str(columns), **env}),
    )


def screens(*argv, **how):
    """What --batch prints, one text per screen."""
    done = top(*argv, **how)
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n\n")


class Terminal:
    """A terminal with a shell in it, all our own: another socket than the user's."""

    def __init__(self, folder, columns=80, lines=24, **env):
        self.socket = folder / "tmux"
        env = clean_environment({"TERM": "xterm", "PS1": "$ ", "HISTFILE": "/dev/null", **env})
        self.tmux(
            "-f", "/dev/null", "new-session", "-d", "-x", columns, "-y", lines,
            "bash --norc --noprofile",
            env=env,
        )

    def tmux(self, *words, env=None):
        done = subprocess.run(
            ["tmux", "-S", str(self.socket), *map(str, words)],
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            env=env,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def press(self, *keys):
        self.tmux("send-keys", "--", *keys)

    def type(self, text):
        self.tmux("send-keys", "-l", "--", text)

    def run(self, *argv):
        """A command of the shell; its status comes behind it."""
        self.type(" ".join(shlex.quote(str(a)) for a in argv) + "; echo status=$?")
        self.press("Enter")

    def show(self):
        return self.tmux("capture-pane", "-p")

    def shows(self, what, text=None):
        """Wait until the screen has WHAT, a text or a condition on the screen."""
        test = what if callable(what) else lambda screen: what in screen
        last = {}

        def look():
            last["screen"] = self.show()
            try:
                return test(last["screen"])
            except (AttributeError, KeyError, IndexError, ValueError):  # half drawn
                return False
        try:
            wait_until(look, f"the screen shows {text or what}", deadline=60)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{last['screen']}") from None
        return last["screen"]

    def resize(self, columns, lines):
        self.tmux("resize-window", "-x", columns, "-y", lines)
