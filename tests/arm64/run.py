#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""make check-arm64: the whole tool on aarch64, under Debian's kernel in a virtual machine, with the
tests that this machine has.

usage: run.py [--shell COMMAND] [NAME...]     NAME: a row of CHECKS, all without any; with COMMAND
                                              instead of its tests, on its processor

The tool is cross-built (packaging/cross) into build-arm64/; the machine has Debian's arm64 packages
of Python, pytest and gcc, and runs the files of tests/e2e as they are.  Emulation takes minutes.
Not in make check: it needs qemu-system-arm and some 190 MB of packages.
"""
import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build-arm64"
MORE = [
    "busybox-static", "dash", "coreutils", "procps", "linux-image-cloud-arm64", "python3",
    "python3-pytest", "gcc", "g++", "libc6-dev", "binutils",
    # programs with words of 4 bytes, which the same kernel runs, or qemu
    "gcc-arm-linux-gnueabihf", "g++-arm-linux-gnueabihf", "libc6-dev-armhf-cross", "qemu-user",
]
MODULES = [
    "virtio_ring", "virtio", "virtio_pci_modern_dev", "virtio_pci_legacy_dev", "virtio_pci",
    "virtio_blk",
]

# What is tried there: file of tests/e2e, which of its tests (-k), and the processor of their
# programs where it is another (SEEP_TEST_MACHINE).
CHECKS = {
    "armhf": [
        ("agents", "not package and not needs_qemu", "arm"),
        ("unrecorded", "words_of_4_bytes"),
        ("core", "of_another", "arm"),
    ],
    "armhf_off": [("agents", "needs_qemu", "arm")],
    "breakpoint": [("breakpoint", "")],
    "attach": [("attach", "counts_are"), ("attach_programs", "cxx_and")],
    "roots": [
        (
            "leak_roots",
            "(gcc and O0 and not memcheck and not sanitizer) or stacks_of_a_running or names or "
            "little_is or fixed",
        )
    ],
    "walk": [("unrecorded", "every_block or told_to_do or static_programs")],
    "core": [("core", "every_block and plain or leaks_and_why")],
    "inject": [("inject", "static_program_is_recorded_exactly or injected_and_preloaded")],
    "leaks": [("leaks", "every_class and gcc-O0 and seep and not another")],
    "why": [("unrecorded", "why_and_retained or leaks_says")],
    "record": [("entry_points", "not clang and not quarantine")],
}

# The processor: one that has all there is, or (a row that has another) lacks something.
PROCESSOR = "max,pauth-impdef=on"
OTHER_PROCESSORS = {"armhf_off": "a64fx"}  # no instructions of arm

INIT = """#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /r
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sys /sys
/bin/busybox mount -t devtmpfs dev /dev
for m in {modules}; do /bin/busybox insmod /$m.ko; done
for i in 0 1 2 3 4 5 6 7 8 9; do [ -b /dev/vdb ] || /bin/busybox sleep 1; done
/bin/busybox mount -t ext4 /dev/vda /r
/bin/busybox mount -t ext4 /dev/vdb /r/w
/bin/busybox mount -t tmpfs tmp /r/tmp
for d in proc sys dev; do /bin/busybox mkdir -p /r/$d; /bin/busybox mount --move /$d /r/$d; done
[ -x /r/w/init ] || /bin/busybox poweroff -f
exec /bin/busybox switch_root /r /w/init
"""

# Tests look for tools by PATH; the clock of the machine is right; nothing else runs.
WORK = """#!/bin/sh
export PATH=/usr/bin:/usr/sbin:/bin:/sbin HOME=/tmp SEEP_BUILD=/w/build
export TERM=dumb LANG=C.UTF-8 PYTHONDONTWRITEBYTECODE=1
mkdir -p /dev/pts /dev/shm
busybox mount -t devpts pts /dev/pts && busybox mount -t tmpfs shm /dev/shm
ln -sf /proc/self/fd /dev/fd
ln -sf /usr/arm-linux-gnueabihf/lib/*.so.[0-9]* /lib/arm-linux-gnueabihf
ln -sf arm-linux-gnueabihf/ld-linux-armhf.so.3 /lib
busybox ip link set lo up 2>/dev/null
echo root:x:0:0:root:/tmp:/bin/sh >/etc/passwd
echo 127.0.0.1 localhost >/etc/hosts
cd /w
uname -a
{command}
echo "seep-arm64: status $?"
busybox poweroff -f
"""


def build():
    subprocess.run([ROOT / "packaging" / "cross", "aarch64", BUILD], check=True)
    subprocess.run([ROOT / "packaging" / "agents", BUILD / "build", "arm"], check=True)
    has = BUILD / "base.packages"  # the list that the image was made with
    if not has.exists() or has.read_text().split() != MORE or not (BUILD / "base.img").exists():
        subprocess.run(
            [ROOT / "packaging" / "foreign-root", "arm64", BUILD / "root", *MORE], check=True
        )
        (BUILD / "root" / "w").mkdir(exist_ok=True)
        (BUILD / "root" / "tmp").mkdir(exist_ok=True)
        image(BUILD / "base.img", BUILD / "root", 1600)
        has.write_text("\n".join(MORE))


def image(out, folder, megabytes):
    half = out.with_suffix(".new")
    half.unlink(missing_ok=True)
    subprocess.run(
        [
            "mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", "-E", "root_owner=0:0", "-d",
            folder, half, f"{megabytes}M",
        ],
        check=True,
    )
    half.rename(out)


def initramfs():
    """Busybox, and what the kernel needs to see its disks."""
    folder = BUILD / "initramfs"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "bin").mkdir(parents=True)
    shutil.copy(BUILD / "root" / "bin" / "busybox", folder / "bin" / "busybox")
    for name in MODULES:
        (module,) = (BUILD / "root" / "lib" / "modules").rglob(f"{name}.ko")
        shutil.copy(module, folder)
    (folder / "init").write_text(INIT.format(modules=" ".join(MODULES)))
    (folder / "init").chmod(0o755)
    with open(BUILD / "initramfs.cpio", "wb") as out:
        subprocess.run(
            "find . | cpio -o -H newc --quiet", shell=True, cwd=folder, stdout=out, check=True
        )


def work(command):
    """The second disk: tests, what they read, and the tool where a build has it."""
    folder = BUILD / "work"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "build" / "src" / "agent" / "arm").mkdir(parents=True)
    (folder / "build" / "src" / "target").mkdir()
    (folder / "src" / "ledger").mkdir(parents=True)
    for name in ("tests/e2e", "tests/programs", "include"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "src" / "ledger" / "ledger.h", folder / "src" / "ledger")
    for name in (
        "src/seep",
        "src/target/seep-target",
        *(f"src/agent/{p.name}" for p in (BUILD / "build" / "src" / "agent").glob("*.so")),
        "src/agent/arm/libseep.so",
    ):
        shutil.copy(BUILD / "build" / name, folder / "build" / name)
    (folder / "init").write_text(WORK.format(command=command))
    (folder / "init").chmod(0o755)
    image(BUILD / "work.img", folder, 200)


def boot(processor):
    """What the machine says, line by line; the status that it ended with."""
    (kernel,) = (BUILD / "root" / "boot").glob("vmlinuz-*")
    drives = [
        f"file={BUILD / name},if=none,id={name},format=raw,snapshot=on"
        for name in ("base.img", "work.img")
    ]
    command = [
        "qemu-system-aarch64", "-M", "virt,gic-version=3", "-cpu", processor, "-smp", "2",
        "-m", "2G", "-nographic", "-nic", "none", "-no-reboot", "-kernel", kernel, "-initrd",
        BUILD / "initramfs.cpio", "-append", "console=ttyAMA0 quiet panic=-1 rdinit=/init",
        *(
            word
            for name, drive in zip(("base.img", "work.img"), drives)
            for word in ("-drive", drive, "-device", f"virtio-blk-pci,drive={name}")
        ),
    ]
    status = 1
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, errors="replace"
    ) as machine:
        for line in machine.stdout:
            print(line, end="", flush=True)
            if line.startswith("seep-arm64: status "):
                status = int(line.split()[2])
    return status


def commands(names, processor):
    """The tests of those rows that are for this processor."""
    return [
        f"echo '== {name}: test_{file}.py'; SEEP_TEST_MACHINE={''.join(machine)} python3 -m "
        f"pytest -q --tb=short -p no:cacheprovider tests/e2e/test_{file}.py -k '{which}' -v "
        "|| bad=1"
        for name in names
        if OTHER_PROCESSORS.get(name, PROCESSOR) == processor
        for file, which, *machine in CHECKS[name]
    ]


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--shell")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in CHECKS]
    if unknown:
        sys.exit(f"run.py: no such check: {' '.join(unknown)} (there are {' '.join(CHECKS)})")
    chosen = options.names or (["record"] if options.shell else list(CHECKS))
    begin = time.monotonic()
    build()
    initramfs()
    bad = 0
    for processor in sorted({OTHER_PROCESSORS.get(name, PROCESSOR) for name in chosen}):
        tests = "\n".join(commands(chosen, processor))
        work(options.shell or f"bad=0\n{tests}\n(exit $bad)")
        bad |= boot(processor)
    print(f"{'wrong' if bad else 'all as on this machine'}, {time.monotonic() - begin:.0f} s")
    return bad


os.chdir(ROOT)
sys.exit(main())
