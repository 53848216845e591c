# SPDX-License-Identifier: MIT
"""Platform differences live in arch/ folders only."""
import re

from lint import SRC, Tap, c_files, relative, text_of

PLATFORM = re.compile(r"^\s*#\s*(?:el)?if.*\b(?:__x86_64__|__i386__|__aarch64__|__arm__|__riscv\w*|__powerpc\w*|__s390\w*|"
                      r"__mips\w*|__loongarch\w*|__GLIBC\w*|__UCLIBC__|__BIONIC__|__ANDROID__|__linux__|__linux|__FreeBSD__|"
                      r"__APPLE__|__BYTE_ORDER__|__LP64__|__SIZEOF_POINTER__|__WORDSIZE)\b")

faults = []
files = c_files((".c", ".h", ".def", ".S"))
for path in files:
    if "arch" in path.relative_to(SRC).parts:
        continue
    for number, line in enumerate(text_of(path).splitlines(), 1):
        if PLATFORM.search(line):
            faults.append(f"{relative(path)}:{number}: {line.strip()}")
tap = Tap()
tap.claim("there are files to look at", not files)
tap.claim("no platform #if outside arch/", faults)
tap.done()
