# SPDX-License-Identifier: MIT
"""src/README.md is the map: each file of src/ has its line there, made from the first lines of its
header (or source).

A folder is a heading (## `base/`) with a sentence of its own; below it `map.py write` writes one
line per room.  The order of the rooms is that of the page: who adds one runs that and may then move
its line.
"""
import re
import sys

from lint import SRC, Tap, project_files, text_of

MAP = SRC / "README.md"


def title(path):
    """What stands behind "NAME -- " at the top of the file, up to the next paragraph, as one line
    without its full stop.

    Without a title the line is empty but for the names, and cards.py says so."""
    found = re.search(
        r"^[ /]*[*#] "
        + re.escape(path.name)
        + r" -- (.*?)(?=\n\s*(?:\*|#)?\s*(?:\*/)?\n|\n[ *#]*Room:|\*/)",
        "\n".join(text_of(path).splitlines()[:20]) + "\n\n",
        re.M | re.S,
    )
    words = re.sub(r"\n[ *#]*", " ", found.group(1)).strip() if found else ""
    return words[:-1] if words.endswith(".") and not words.endswith("...") else words


def rooms():
    """By folder: the rooms, each a list of files.  A header and the source of its name are one."""
    folders = {}
    for path in project_files():
        if SRC in path.parents and path.name not in ("meson.build", "README.md"):
            folders.setdefault(str(path.parent.relative_to(SRC)), {}).setdefault(
                path.stem if path.suffix in (".c", ".h") else path.name, []).append(path)
    return folders


def line_of(room):
    files = sorted(room, key=lambda path: path.suffix != ".h")
    return "- " + " ".join(f"`{path.name}`" for path in files) + " " + title(files[0])


def folder_of(line):
    heading = re.match(r"##+ `([\w/]*)/`", line)
    return heading.group(1) if heading else None


def written(text):
    """TEXT with the lines of the rooms as they should be."""
    known, page, folder, listed = rooms(), [], None, []

    def rest():
        """The rooms of the folder that the page does not have, and the end of its list."""
        have = known.get(folder, {})
        page.extend(line_of(have[name]) for name in sorted(have) if name not in listed)

    def add_unlisted():
        """A folder whose section has no line yet."""
        if known.get(folder) and not listed:
            while page and not page[-1]:
                page.pop()
            page.append("")
            rest()
            page.append("")

    lines = text.rstrip("\n").split("\n")
    for number, line in enumerate(lines):
        found = re.match(r"- `([\w.]+)`", line)
        if found and folder is not None:
            name = re.sub(r"\.[ch]$", "", found.group(1))
            if name in known.get(folder, {}) and name not in listed:
                listed.append(name)
                page.append(line_of(known[folder][name]))
            if number + 1 == len(lines) or not lines[number + 1].startswith("- "):
                rest()
                listed = list(known.get(folder, {}))
            continue
        if folder_of(line) is not None:
            add_unlisted()
            folder, listed = folder_of(line), []
        page.append(line)
    add_unlisted()
    return "\n".join(page) + "\n"


now = text_of(MAP)
if sys.argv[1:] == ["write"]:
    MAP.write_text(written(now), encoding="utf-8")
    sys.exit(0)
tap = Tap()
folders = [folder_of(line) for line in now.splitlines() if folder_of(line) is not None]
tap.claim(
    "every folder is on the map, once",
    sorted(set(rooms()) ^ set(folders)) + [f for f in folders if folders.count(f) > 1],
)
want = written(now).splitlines()
tap.claim(
    "the map is what `map.py write` makes of it",
    [f"missing: {line}" for line in want if line not in now.splitlines()]
    + [f"wrong:   {line}" for line in now.splitlines() if line not in want]
    or want != now.splitlines(),
)
tap.done()
