# SPDX-License-Identifier: MIT
"""What the lint tests share: the files of the project, and TAP output."""
import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SRC = ROOT / "src"


def project_files():
    """Every file that belongs to the project: not the build directories, not what git ignores."""
    for folder, folders, names in os.walk(ROOT):
        folders[:] = sorted(f for f in folders
                            if f not in (".git", "__pycache__", ".pytest_cache", ".cache")
                            and not (Path(folder) == ROOT and re.match(r"build(-|$)", f)))
        for name in sorted(names):
            if name != ".git" and not name.endswith((".seep", ".pyc", ".o", ".swp")):
                yield Path(folder) / name


def c_files(suffixes=(".c", ".h")):
    return [p for p in project_files() if SRC in p.parents and p.suffix in suffixes]


def relative(path):
    return str(path.relative_to(ROOT))


def text_of(path):
    return path.read_text(encoding="utf-8", errors="replace")


def without_comments(text):
    """C text with comments and strings blanked out, line numbers kept."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match.group(0))
    return re.sub(
        r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text, flags=re.S
    )


class Tap:
    """Claims, printed as they are checked; leave with done()."""

    def __init__(self):
        self.count = self.failed = 0

    def claim(self, name, faults):
        """One claim; FAULTS is what speaks against it (a list of lines, or a bool that says it
        is wrong)."""
        self.count += 1
        if faults:
            self.failed += 1
        print(f"{'not ok' if faults else 'ok'} {self.count} - {name}")
        if isinstance(faults, (list, tuple)):
            for fault in faults:
                # meson shows stderr of a failed test, not its TAP
                print("#", fault, file=sys.stderr)

    def skip(self, name, reason):
        self.count += 1
        print(f"ok {self.count} - {name} # SKIP {reason}")

    def done(self):
        print(f"1..{self.count}")
        sys.exit(1 if self.failed or not self.count else 0)
