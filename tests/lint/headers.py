# SPDX-License-Identifier: MIT
"""Every header compiles alone and may be included twice.  usage: headers.py CC..."""
import subprocess
import sys

from lint import SRC, Tap, c_files, relative

FLAGS = [
    "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", '-DSEEP_VERSION="0"',
    "-fsyntax-only", "-xc", "-",
]

# by ports.py, for their own processors
FOREIGN = ("aarch64", "arm", "i386", "powerpc", "riscv64", "s390x")


def faults(compiler, header):
    name = header.relative_to(SRC)
    source = f'#include "{name}"\n#include "{name}"\nextern int not_empty;\n'
    done = subprocess.run(
        [*compiler, f"-I{SRC}", *FLAGS], input=source, capture_output=True, text=True
    )
    return done.stderr.splitlines()[:10] if done.returncode else []


tap = Tap()
for path in c_files((".h",)):
    if path.parent.name == "arch" and path.stem in FOREIGN:
        continue
    tap.claim(f"{relative(path)} compiles alone", faults(sys.argv[1:], path))
tap.done()
