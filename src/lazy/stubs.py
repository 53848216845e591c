# SPDX-License-Identifier: MIT
# stubs.py -- a stub for each function that our code calls in the libraries that are loaded when
# used

"""Writes a stub for each function that our code calls in the libraries that are loaded when used
(lazy.h).

usage: stubs.py NM READELF OUR-ARCHIVE NEEDS-LIBRARY OUT COMPILER...
"""
import re
import subprocess
import sys

RUNTIME = re.compile(r"(libc|libm|libdl|libpthread|ld-linux.*)\.so")


def output(*argv):
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


def undefined(nm, archive):
    """Names that the archive's objects use and none of them defines."""
    used, defined = set(), set()
    for line in output(nm, archive).splitlines():
        words = line.split()
        if len(words) >= 2 and len(words[-2]) == 1:
            (used if words[-2] in "Uw" else defined).add(words[-1])
    return used - defined


def main(nm, readelf, archive, needs, out, *compiler):
    wanted, rows, data = undefined(nm, archive), [], []
    for library in re.findall(r"\(NEEDED\).*\[(.*)\]", output(readelf, "-d", needs)):
        if RUNTIME.match(library):
            continue
        path = output(*compiler, f"-print-file-name={library}").strip()
        for line in output(nm, "-D", "--defined-only", path).splitlines():
            kind, name = line.split()[-2:]
            name = name.partition("@")[0]
            if name in wanted:
                wanted.discard(name)
                (rows if kind in "TWi" else data).append((name, library))
    if data:
        sys.exit(f"stubs.py: variables of libraries that are loaded when used: {data}")
    with open(out, "w", encoding="ascii") as f:
        f.write('#include "lazy/x86_64.S"\n')
        for number, (name, library) in enumerate(sorted(rows)):
            f.write(f"STUB {name} {library} {number}\n")


main(*sys.argv[1:])
