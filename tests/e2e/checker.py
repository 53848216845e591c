# SPDX-License-Identifier: MIT
"""checker.py -- runs `seep check`, each time with a temporary folder of its own to look into."""
import re
from pathlib import Path

from harness import ROOT, SEEP, run


class Checker:
    def __init__(self, folder, program):
        self.folder, self.program, self.temporary = Path(folder), program, Path(folder) / "tmp"
        self.temporary.mkdir()

    def __call__(self, *words, env=None):
        return run(
            [SEEP, "check", *words],
            cwd=self.folder,
            env={"TMPDIR": str(self.temporary), **(env or {})},
        )

    def of(self, options, *steps, env=None):
        """The program does STEPS; its source is in tests/."""
        return self("--source-root", ROOT / "tests", *options, "--", self.program, *steps, env=env)

    def left(self):
        """Recordings that were kept in the temporary folder."""
        return sorted(self.temporary.rglob("*.seep"))


def broken(done):
    """{budget: what is said about it} of the lines about broken budgets, and the pids in them."""
    lines = re.findall(
        r"^(\S+) \(pid (\d+)\) breaks (--[\w-]+ (?:'[^']*'|\S+)): (.*)$",
        done.stdout.decode(),
        flags=re.M,
    )
    assert len(lines) == done.stdout.decode().count(" breaks --")
    return {budget: text for _, _, budget, text in lines}, [int(pid) for _, pid, _, _ in lines]
