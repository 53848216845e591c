# SPDX-License-Identifier: MIT
"""src/README.md is the map: each file of src/ has its line there, and nothing else has.

A folder is a heading (## `base/`); below it a line begins with the names of a room's files: - `err.h` `err.c` ...
"""
import re

from lint import SRC, Tap, project_files, text_of


def mapped():
    folder, names = "", []
    for line in text_of(SRC / "README.md").splitlines():
        heading = re.match(r"##+ `([\w/]*)/`", line)
        if heading:
            folder = heading.group(1) + "/"
        room = re.match(r"- ((?:`[\w./]+`[ ,]*)+)", line)
        if room:
            names += [folder + name for name in re.findall(r"`([^`]+)`", room.group(1))]
    return names


names = mapped()
real = {str(p.relative_to(SRC)) for p in project_files()
        if SRC in p.parents and p.name not in ("meson.build", "README.md")}
tap = Tap()
tap.claim("every file of src is on the map", sorted(real - set(names)))
tap.claim("every place on the map exists", sorted(set(names) - real))
tap.claim("nothing is on the map twice", sorted({n for n in names if names.count(n) > 1}))
tap.done()
