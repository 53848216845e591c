# SPDX-License-Identifier: MIT
"""Every claim of docs/SECURITY.md names tests, and they exist."""
import re

from lint import ROOT, Tap, text_of

TEXT = text_of(ROOT / "docs" / "SECURITY.md")


def exists(file, name):
    folder = ROOT / "tests" / ("e2e" if file.endswith(".py") else "unit")
    wanted = rf"^def {name}\(" if file.endswith(".py") else rf"^TEST\({name}\)"
    return (folder / file).exists() and re.search(wanted, text_of(folder / file), re.M)


named = re.findall(r"`([\w.]+)::(\w+)`", TEXT)
rows = [
    line
    for line in TEXT.splitlines()
    if line.startswith("|") and not re.match(r"\|(-|\s*what)", line)
]
tap = Tap()
tap.claim("there are claims", not rows or not named)
tap.claim(
    "every claim names a test", [line[:100] for line in rows if "::" not in line.rsplit("|", 2)[1]]
)
tap.claim(
    "every test that is named exists",
    [f"{file}::{name}" for file, name in named if not exists(file, name)],
)
tap.done()
