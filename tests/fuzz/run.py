#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""run.py -- searches for inputs that break a reader: clang's fuzzer where it is installed, else
many changes of known inputs.

usage: run.py [--runs N] [--time SECONDS] [--no-programs] [TARGET...]     each target gets N runs
and at most so much time
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build-fuzz"
# What each starts from, made by the build or in this folder; and how long an input may be.
TARGETS = {
    "file": ("*.seep", 20000),
    "graph": ("*.seep", 20000),
    "events": ("*.events", 20000),
    "request": ("*.request", 4096),
    "cfi": ("*.cfi", 2048),
    "rule": ("*.rule", 2048),
    "expression": ("*.expression", 512),
    "ehindex": ("*.ehindex", 4096),
    "ehabi": ("*.ehabi", 2048),
    "maps": ("*.maps", 20000),
    "journal": ("*.journal", 20000),
    "protocol": ("*.protocol", 4096),
    "held": ("*.held", 20000),
    "pointers": ("*.pointers", 8192),
}
PROGRAMS = ROOT / "tests" / "e2e" / "test_tables.py"


def has_fuzzer():
    empty = ("int LLVMFuzzerTestOneInput(const unsigned char *d, unsigned long n) { return d && n "
             "? 0 : 0; }")
    return (
        shutil.which("clang")
        and subprocess.run(
            ["clang", "-x", "c", "-", "-fsanitize=fuzzer,address", "-o", "/dev/null"],
            input=empty,
            text=True,
            stderr=subprocess.DEVNULL,
            check=False,
        ).returncode
        == 0
    )


def build(fuzzer, targets):
    options = [
        "-Db_sanitize=address,undefined", "-Db_lundef=false", "-De2e=false",
        f"-Dfuzzer={str(fuzzer).lower()}",
    ]
    if fuzzer:
        options.append("-Dc_args=-fsanitize=fuzzer-no-link")
    if not (BUILD / "build.ninja").exists():
        subprocess.run(
            ["meson", "setup", str(BUILD), *options],
            check=True,
            cwd=ROOT,
            env={**os.environ, "CC": "clang" if fuzzer else "gcc"},
            stdout=subprocess.DEVNULL,
        )
    subprocess.run(
        ["ninja", "-C", str(BUILD), "--quiet", *([f"fuzz-{name}" for name in targets] or ["fuzz"])],
        check=True,
    )


def corpus_of(target):
    """What was found to be of interest stays there for the next time."""
    folder = BUILD / "corpus" / target
    folder.mkdir(parents=True, exist_ok=True)
    for place in (BUILD / "tests" / "fuzz", ROOT / "tests" / "fuzz"):
        for seed in place.glob(TARGETS[target][0]):
            shutil.copy(seed, folder)
    return folder


def search(target, how, fuzzer):
    """Run one target; how many inputs it took, and whether it held."""
    program, folder = BUILD / "tests" / "fuzz" / f"fuzz_{target}", corpus_of(target)
    if fuzzer:
        command = [
            str(program), f"-runs={how.runs}", f"-max_total_time={how.time}",
            f"-max_len={TARGETS[target][1]}", "-timeout=10",
            f"-artifact_prefix={BUILD}/found-{target}-", "-print_final_stats=1", "-verbosity=0",
            str(folder),
        ]
    else:
        command = [
            str(program),
            f"--changes={how.runs // max(1, len(list(folder.iterdir())))}",
            *map(str, folder.iterdir()),
        ]
    env = {**os.environ, "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"}
    done = subprocess.run(
        command, env=env, capture_output=True, text=True, errors="replace", check=False
    )
    count = re.search(r"number_of_executed_units: (\d+)", done.stderr)
    runs = (
        int(count.group(1))
        if count
        else sum(map(int, re.findall(r"changed (\d+) times", done.stdout)))
    )
    if done.returncode:
        print((done.stdout + done.stderr)[-4000:])
    print(
        f"{target}: {runs} runs, {'a finding' if done.returncode else 'nothing found'}", flush=True
    )
    return done.returncode == 0


def main():
    parser = argparse.ArgumentParser(
        prog="make fuzz",
        usage="make fuzz FUZZ='[--runs N] [--time SECONDS] [--no-programs] [TARGET...]'",
    )
    parser.add_argument(
        "--runs", type=int, default=1000000, help="inputs for each target (1000000)"
    )
    parser.add_argument(
        "--time", type=int, default=60, help="seconds for each target, with clang's fuzzer (60)"
    )
    parser.add_argument(
        "--no-programs", action="store_true", help="without the programs whose unwind tables lie"
    )
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=" ".join(TARGETS))
    how = parser.parse_args()
    for target in how.targets:
        if target not in TARGETS:
            parser.error(f"no target {target}; there are: {' '.join(TARGETS)}")
    fuzzer = bool(has_fuzzer())
    if not fuzzer:
        print("clang's fuzzer is not installed: known inputs with many changes instead")
    build(fuzzer, how.targets)
    good = [search(target, how, fuzzer) for target in how.targets or TARGETS]
    if not how.targets and not how.no_programs:
        good.append(
            subprocess.run(
                ["/usr/bin/python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", str(PROGRAMS)],
                cwd=ROOT,
                check=False,
                env={**os.environ, "SEEP_MUTANTS": "5000"},
            ).returncode
            == 0
        )
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
