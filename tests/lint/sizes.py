# SPDX-License-Identifier: MIT
"""Functions of at most 60 lines, files of at most 700, lines of at most 100 columns.

An exception for a function or a file has its reason in sizes.allow; lines have none.

A line of sizes.allow: PATH FUNCTION reason, or PATH - reason for a whole file.
"""
import re
from pathlib import Path

from lint import ROOT, Tap, c_files, project_files, relative, text_of

FUNCTION_LINES, FILE_LINES, LINE_COLUMNS = 60, 700, 100
CODE = (".c", ".h", ".cpp", ".S", ".def", ".map", ".py", ".mjs", ".js")
FOLDERS = ("src", "include", "tests", "bench")


def exceptions():
    allowed = {}
    for line in text_of(Path(__file__).with_name("sizes.allow")).splitlines():
        words = line.split("#")[0].split(None, 2)
        if words:
            allowed[words[0], words[1]] = words[2] if len(words) > 2 else ""
    return allowed


def functions(text):
    """(name, lines of the body with its braces) of each function: a brace alone in the first
    column, to the next one."""
    lines, start = text.splitlines(), None
    for number, line in enumerate(lines):
        if line == "{":
            start = number
        elif line == "}" and start is not None:
            head = " ".join(lines[max(0, start - 6):start])
            names = re.findall(r"(\w+)\s*\((?:[^()]|\([^()]*\))*\)\s*$", head)
            yield (names[-1] if names else f"line-{start + 1}"), number - start + 1
            start = None


long_functions, long_files, used, seen = [], [], set(), 0
allowed = exceptions()
for path in c_files():
    text, name = text_of(path), relative(path)
    if text.count("\n") > FILE_LINES:
        used.add((name, "-"))
        if (name, "-") not in allowed:
            long_files.append(f"{name}: {text.count(chr(10))} lines")
    for function, length in functions(text):
        seen += 1
        if length > FUNCTION_LINES:
            used.add((name, function))
            if (name, function) not in allowed:
                long_functions.append(f"{name}: {function}: {length} lines")
wide = [f"{relative(path)}:{number}: {len(line)} columns" for path in project_files()
        if path.suffix in CODE and path.relative_to(ROOT).parts[0] in FOLDERS
        for number, line in enumerate(text_of(path).splitlines(), 1) if len(line) > LINE_COLUMNS]
tap = Tap()
tap.claim("functions were found", not seen)
tap.claim(f"no function has more than {FUNCTION_LINES} lines without a reason", long_functions)
tap.claim(f"no file has more than {FILE_LINES} lines without a reason", long_files)
tap.claim(f"no line of code has more than {LINE_COLUMNS} columns", wide)
tap.claim("every exception is still needed", [" ".join(key) for key in sorted(set(allowed) - used)])
tap.claim(
    "every exception has a reason",
    [" ".join(key) for key, reason in sorted(allowed.items()) if not reason],
)
tap.done()
