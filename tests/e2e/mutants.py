# SPDX-License-Identifier: MIT
"""mutants.py -- programs whose unwind tables lie: what is changed in them, and how they are run
with and without the tool."""
import random
import struct
import subprocess

from harness import DEADLINE, SEEP, clean_environment

LARGE = (0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff)


class Elf:
    """Where the parts of an executable lie that the agent reads inside the program: name ->
    (offset, bytes)."""

    def __init__(self, data):
        self.data = data
        (phoff, shoff) = struct.unpack_from("<QQ", data, 32)
        (phsize, phcount, shsize, shcount, names) = struct.unpack_from("<HHHHH", data, 54)
        headers = [
            struct.unpack_from("<IIQQQQIIQQ", data, shoff + i * shsize) for i in range(shcount)
        ]
        text = headers[names][4]
        self.parts = {}
        for h in headers:
            name = data[text + h[0]:data.index(b"\0", text + h[0])].decode()
            self.parts[name] = (h[4], h[5])
        self.programs = {}
        for i in range(phcount):
            kind = struct.unpack_from("<I", data, phoff + i * phsize)[0]
            self.programs.setdefault(kind, []).append(phoff + i * phsize)


PT_NOTE, PT_GNU_EH_FRAME = 4, 0x6474e550


def places(elf):
    """Ranges that may be changed without the kernel and the loader minding: the tables, and
    headers that only unwinders and debuggers read."""
    found = [elf.parts[name] for name in (".eh_frame", ".eh_frame_hdr") if name in elf.parts]
    weights = [8] * len(found)
    for kind in (PT_NOTE, PT_GNU_EH_FRAME):
        for at in elf.programs.get(kind, ()):
            found.append((at + 8, 40))  # offset, addresses, sizes
            weights.append(1)
    found.append(elf.parts[".note.gnu.build-id"])
    weights.append(1)
    # then the tables are looked for by the headers of sections
    if PT_GNU_EH_FRAME not in elf.programs:
        found += [(40, 8), (58, 6)]
        weights += [1, 1]
    return found, weights


def mutate(data, dice):
    """A copy with one to six places changed: a byte, a bit, a number that is large or small, a
    run of bytes from elsewhere."""
    found, weights = places(Elf(data))
    out = bytearray(data)
    for _ in range(dice.choice((1, 1, 1, 2, 3, 6))):
        (offset, size), = dice.choices(found, weights)
        at = offset + dice.randrange(size)
        room = offset + size - at
        how = dice.randrange(5)
        if how == 0:
            out[at] = dice.randrange(256)
        elif how == 1:
            out[at] ^= 1 << dice.randrange(8)
        elif how == 2:
            out[at:at + min(room, 4)] = struct.pack("<I", dice.choice(LARGE))[:min(room, 4)]
        elif how == 3:
            out[at:at + min(room, 4)] = struct.pack("<I", dice.randrange(1 << 32))[:min(room, 4)]
        else:
            count = min(room, dice.randrange(1, 17))
            start = offset + dice.randrange(size - count + 1)
            out[at:at + count] = data[start:start + count]
    return bytes(out)


def make(program, count, seed, folder):
    """COUNT mutants of PROGRAM, always the same for the same SEED."""
    data = program.read_bytes()
    dice = random.Random(f"{program.name} {seed}")
    paths = []
    for i in range(count):
        path = folder / f"{program.name}-{seed}-{i}"
        path.write_bytes(mutate(data, dice))
        path.chmod(0o755)
        paths.append(path)
    return paths


# A program that calls itself without end, because its exceptions went astray, has a small stack to
# do that on.
EACH = 'ulimit -s 512; for m in "$@"; do "$m" > "$m.out" 2> /dev/null; echo $? > "$m.status"; done'


def run(paths, recorded=False):
    """Run all, one after another; what each printed and how it ended."""
    command = ["/bin/sh", "-c", EACH, "sh", *map(str, paths)]
    if recorded:
        command = [
            str(SEEP), "record", "-q", "-f", "--follow=all", "--no-leak-scan", "-o", "%p.seep",
            "--", *command,
        ]
    for path in paths:
        for suffix in (".out", ".status"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
    try:
        done = subprocess.run(
            command,
            env=clean_environment(),
            cwd=paths[0].parent,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=DEADLINE,
        )
        assert (done.returncode, done.stderr) == (0, b"")
    except subprocess.TimeoutExpired:
        pass  # who has no status hung
    results = []
    for path in paths:
        said, status = (path.with_name(path.name + suffix) for suffix in (".out", ".status"))
        results.append(
            (
                said.read_bytes() if said.exists() else b"",
                status.read_text() if status.exists() else "no end",
            )
        )
    return results


def differing(paths):
    """Those that do not behave with the tool as they do without it, every time they are run: (name,
    without, with).

    A program whose own exceptions meet its damaged tables may behave in more than one way by
    itself."""
    found = []
    for path, bare, recorded in zip(paths, run(paths), run(paths, recorded=True)):
        if bare != recorded and recorded not in [run([path])[0] for _ in range(5)]:
            found.append((path.name, bare, recorded))
    return found
