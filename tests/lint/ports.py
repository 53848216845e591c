# SPDX-License-Identifier: MIT
"""The port contract holds: all that runs inside, and all that holds a process still, compiles
for every processor that there is a port for, and nothing outside of arch/ asks which one it is.
A processor whose compiler is not installed is skipped."""
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

from lint import SRC, Tap, c_files, relative, text_of

# the header of the port, and the compiler that packaging/install-deps installs; x86-64 is what is
# built anyway
PORTS = {
    "x86_64": None,
    "i386": "i686-linux-gnu-gcc",
    "aarch64": "aarch64-linux-gnu-gcc",
    "arm": "arm-linux-gnueabihf-gcc",
    "riscv64": "riscv64-linux-gnu-gcc",
    "s390x": "s390x-linux-gnu-gcc",
    "powerpc": "powerpc-linux-gnu-gcc",
}
# Not type-limits: with 32 bits some sizes are always below a limit.
COMMON = [
    "-std=gnu11", "-O0", "-c", "-o", "/dev/null", "-Wall", "-Wextra", "-Wno-type-limits", "-Wvla",
    "-Wundef", "-Wmissing-prototypes", "-Werror", "-D_GNU_SOURCE", '-DSEEP_VERSION="0"',
    f"-I{SRC}", "-fPIC",
]
INSIDE = ["-ffreestanding", "-fno-builtin", "-ftls-model=initial-exec", "-fno-strict-aliasing"]
FOLDERS = {"agent": INSIDE, "book": INSIDE, "target": INSIDE, "attach": []}
MORE = {"i386": ["-malign-double"]}  # as the agent is built: the ledger has one layout
PLATFORM = re.compile(r"^\s*#\s*(?:el)?if.*\b(?:__x86_64__|__i386__|__aarch64__|"
                      r"__arm__|__riscv\w*|__powerpc\w*|__s390\w*|"
                      r"__mips\w*|__loongarch\w*|__GLIBC\w*|__UCLIBC__|__BYTE_ORDER__|"
                      r"__LP64__|__SIZEOF_POINTER__|__WORDSIZE)\b")


def compile_faults(name, compiler, path):
    flags = [*FOLDERS[path.relative_to(SRC).parts[0]], *MORE.get(name, ())]
    done = subprocess.run([compiler, *COMMON, *flags, str(path)], capture_output=True, text=True)
    return done.stderr.splitlines()[:6] if done.returncode else []


def contract(header):
    """The names that a port defines or shares with others, apart from its own helpers: those
    that files outside of arch/ use."""
    text = text_of(header)
    text += "".join(
        text_of(SRC / name) for name in re.findall(r'#include "(\w+/arch/\w+\.h)"', text)
    )
    return set(re.findall(r"^#define (ARCH_\w+)", text, re.M)) | set(
        re.findall(r"\b(arch_\w+)\(", text)
    )


def own_includes(compiler):
    """Whether the compiler has the C library's headers of its processor."""
    return (
        subprocess.run(
            [compiler, "-E", "-include", "link.h", "-xc", "/dev/null"], capture_output=True
        ).returncode
        == 0
    )


tap = Tap()
sources = [p for p in c_files((".c",)) if p.relative_to(SRC).parts[0] in FOLDERS]
tap.claim("there are files to compile", not sources)
for name, compiler in PORTS.items():
    if not compiler:
        continue
    if not shutil.which(compiler) or not own_includes(compiler):
        tap.skip(
            f"everything compiles for {name}",
            f"{compiler} or the C library's headers for it are not installed",
        )
        continue
    with ThreadPoolExecutor(2) as pool:
        faults = [
            line
            for lines in pool.map(lambda path: compile_faults(name, compiler, path), sources)
            for line in lines
        ]
    tap.claim(f"{len(sources)} files compile for {name}", faults)
for folder in ("agent", "attach", "breakpoint"):
    headers = {p.stem: p for p in (SRC / folder / "arch").glob("*.h") if p.stem in PORTS}
    there = {"x86_64", "aarch64"} if folder == "breakpoint" else set(PORTS)
    tap.claim(f"{folder} has every port", sorted(there - set(headers)))
    rest = "".join(text_of(p) for p in c_files() if "arch" not in p.parts)
    used = set(re.findall(r"\b(?:ARCH|arch)_\w+", rest))
    wanted = contract(headers["x86_64"]) & used
    tap.claim(
        f"every port in {folder}/arch has the same names",
        [
            f"{folder}/arch/{name}.h lacks {', '.join(sorted(lack))}"
            for name, header in sorted(headers.items())
            if (lack := wanted - contract(header))
        ],
    )
faults = [
    f"{relative(path)}:{number}: {line.strip()}"
    for path in c_files((".c", ".h", ".def", ".S"))
    if "arch" not in path.parts
    for number, line in enumerate(text_of(path).splitlines(), 1)
    if PLATFORM.search(line)
]
tap.claim("no other file asks which processor it is", faults)
tap.done()
