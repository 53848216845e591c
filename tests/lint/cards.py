# SPDX-License-Identifier: MIT
"""Every source file names its licence; every room of src/ says in its first lines what it is; no
path of one machine anywhere."""
import re

from lint import SRC, Tap, project_files, relative, text_of

SOURCE = (".c", ".h", ".cpp", ".cc", ".S", ".def", ".py", ".sh", ".build")
HOME = re.compile(r"(?<![\w.])/(?:home|root|Users|work)/\w")


def is_source(path):
    return (
        path.suffix in SOURCE
        or path.name in ("Makefile", "meson_options.txt")
        or text_of(path).startswith("#!")
    )


def has_card(path):
    """`NAME -- what it is.` behind the licence; what a header says, its source need not repeat."""
    head = "\n".join(text_of(path).splitlines()[:40])
    return (re.search(r"^(?:/\*| \*) " + re.escape(path.name) + r" -- \S", head, re.M)
            or path.suffix == ".c" and path.with_suffix(".h").exists())


files = [p for p in project_files() if p.stat().st_size < 1_000_000]
sources = [p for p in files if is_source(p)]
rooms = [p for p in files if SRC in p.parents and p.suffix in (".c", ".h", ".S")]
tap = Tap()
tap.claim(
    "every source file names its licence in its first lines",
    [
        relative(p)
        for p in sources
        if "SPDX-License-Identifier: MIT" not in "\n".join(text_of(p).splitlines()[:3])
    ],
)
tap.claim(
    "every room of src says in its first lines what it is",
    [relative(p) for p in rooms if not has_card(p)],
)
tap.claim("no file holds a path of one machine's user",
          [f"{relative(p)}:{n}" for p in files for n, line in enumerate(text_of(p).splitlines(), 1)
           if HOME.search(line) and p.name != "cards.py"])
tap.done()
