# SPDX-License-Identifier: MIT
"""No source file and no test is forgotten by the build, and no file by the list of end-to-end
tests."""
import re

from lint import ROOT, SRC, Tap, c_files, project_files, relative, text_of


def named_in(meson):
    code = re.sub(r"^\s*#.*$", "", text_of(meson), flags=re.M) if meson.exists() else ""
    return set(re.findall(r"'([^']+)'", code))


def is_listed(path):
    """In the meson.build of its folder, or by its path in one further up."""
    for folder in path.parents:
        if str(path.relative_to(folder)) in named_in(folder / "meson.build"):
            return True
        if folder == SRC:
            return False
    return False


unit = named_in(ROOT / "tests" / "unit" / "meson.build")
tests = sorted((ROOT / "tests" / "unit").glob("test_*.c"))
scripts = [
    p
    for p in project_files()
    if p.parent == ROOT / "tests" / "lint" and p.suffix == ".py" and p.name != "lint.py"
]
lint = named_in(ROOT / "tests" / "lint" / "meson.build")
e2e = [
    p.name for p in project_files() if p.parent == ROOT / "tests" / "e2e" and p.name != "README.md"
]
rows = re.findall(r"^\| ([\w., ]+) \|", text_of(ROOT / "tests" / "e2e" / "README.md"), flags=re.M)
shown = [name for row in rows for name in row.split(", ") if "." in name]
tap = Tap()
tap.claim("every .c file is built", [relative(p) for p in c_files((".c",)) if not is_listed(p)])
tap.claim(
    "every unit test is run", [relative(p) for p in tests if p.stem[len("test_") :] not in unit]
)
tap.claim("every lint test is run", [relative(p) for p in scripts if p.stem not in lint])
tap.claim(
    "tests/e2e/README.md lists what is there, once",
    sorted(set(e2e) ^ set(shown)) + [n for n in set(shown) if shown.count(n) > 1],
)
tap.done()
