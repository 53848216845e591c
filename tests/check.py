#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Build in every way that must work, run every test, and end with one line: N passed, N failed, N
skipped.

usage: tests/check.py [gcc|clang|asan|core|fast ...]      (default: the first four)

fast is for daily work: the gcc build, lint, unit, and those of the end-to-end tests that show most
in little time.

Counted are single claims: each TAP line, each pytest function, each build without a warning.  A
test that did not run is no success: nothing counted at all is a failure.
"""
import json
import os
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHON = "/usr/bin/python3"
GCC = ["-Dwerror=true", "-Dpage=enabled"]
CLEAN_ENV = {k: v for k, v in os.environ.items()
             if k not in ("CC", "CFLAGS", "LDFLAGS", "SEEP_OPTIONS", "SEEP_BUILD", "LD_PRELOAD")}


class Count:
    def __init__(self):
        self.passed, self.failed, self.skipped = 0, [], []

    def add(self, name, outcome, reason=""):
        if outcome == "passed":
            self.passed += 1
        elif outcome == "skipped":
            self.skipped.append(f"{name}: {reason}")
        else:
            self.failed.append(name)

    def line(self):
        return f"{self.passed} passed, {len(self.failed)} failed, {len(self.skipped)} skipped"


def run(command, env=None):
    return subprocess.run([str(c) for c in command], cwd=ROOT, env={**CLEAN_ENV, **(env or {})},
                          stdin=subprocess.DEVNULL).returncode


def outcome_of(case):
    """Of one <testcase>: (outcome, reason)."""
    for tag, outcome in (("failure", "failed"), ("error", "failed"), ("skipped", "skipped")):
        found = case.find(tag)
        if found is not None:
            return (
                outcome,
                (found.get("message") or found.text or "no reason given").strip().splitlines()[0],
            )
    return "passed", ""


def count_junit(path, label, count, leave_out=(), reasons=()):
    """Count the cases of a junit file; returns how many of them failed.  REASONS: of skipped
    cases, where the file has none."""
    before = len(count.failed)
    for suite in ET.parse(path).getroot().iter("testsuite"):
        for case in suite.findall("testcase"):
            if case.get("name").endswith(tuple(leave_out)):
                continue
            outcome, reason = outcome_of(case)
            if outcome == "skipped" and case.get("name") in reasons:
                reason = reasons[case.get("name")]
            name = f"{label}: {case.get('classname') or suite.get('name')}: {case.get('name')}"
            count.add(name, outcome, reason)
    return len(count.failed) - before


def build(kind, options, count, env=None):
    directory = ROOT / f"build-{kind}"
    if not (directory / "build.ninja").exists():
        shutil.rmtree(directory, ignore_errors=True)
        if run(["meson", "setup", directory, *options], env):
            count.add(f"{kind}: configure", "failed")
            return None
    ok = run(["ninja", "-C", directory]) == 0
    count.add(f"{kind}: builds without a warning", "passed" if ok else "failed")
    return directory if ok else None


def skip_reasons(log):
    """meson leaves them out of its junit file: by case, as that names it."""
    found = {}
    for line in log.read_text().splitlines() if log.exists() else ():
        for row in json.loads(line).get("stdout", "").splitlines():
            case, skip, reason = row.partition(" # SKIP ")
            if skip:
                found[case.removeprefix("ok ")] = reason
    return found


def show_diagnostics(log):
    """meson keeps the TAP output of failed tests to itself; what they said is in its log."""
    for line in log.read_text().splitlines() if log.exists() else ():
        test = json.loads(line)
        if test["result"] in ("FAIL", "ERROR", "TIMEOUT"):
            said = [
                row
                for row in test.get("stdout", "").splitlines()
                if row.startswith(("not ok", "#", "Bail out"))
            ]
            print("\n".join([f"-- {test['name']}: {test['result']}", *said]), flush=True)


def meson_test(kind, directory, suites, count):
    """Run the suites; the end-to-end tests write a junit file of their own, which has the single
    claims."""
    e2e = directory / "e2e.xml"
    e2e.unlink(missing_ok=True)
    junit = directory / "meson-logs" / "testlog.junit.xml"
    junit.unlink(missing_ok=True)
    command = ["meson", "test", "-C", directory, "--no-rebuild", "--print-errorlogs"]
    for suite in suites:
        command += ["--suite", suite]
    status = run(command)
    show_diagnostics(directory / "meson-logs" / "testlog.json")
    if not junit.exists():
        count.add(f"{kind}: meson test left no results", "failed")
        return
    reasons = skip_reasons(directory / "meson-logs" / "testlog.json")
    failed = count_junit(junit, kind, count, ("/ e2e",) if e2e.exists() else (), reasons)
    if e2e.exists():
        failed += count_junit(e2e, kind, count)
    if status != 0 and failed == 0:  # a crash or a time-out that no single claim shows
        count.add(f"{kind}: meson test ended with status {status}", "failed")


def run_pytest(label, junit, files, env, count):
    junit.unlink(missing_ok=True)
    xdist = (
        subprocess.run([PYTHON, "-c", "import xdist"], stderr=subprocess.DEVNULL).returncode == 0
    )
    side_by_side = ["-n", str(os.cpu_count()), "--dist", "loadfile"] if xdist else []
    status = run(
        [
            PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={junit}",
            *side_by_side, *files,
        ],
        env,
    )
    failed = count_junit(junit, label, count) if junit.exists() else 0
    if status != 0 and failed == 0:
        count.add(f"{label}: pytest ended with status {status}", "failed")


def check_gcc(count):
    directory = build("gcc", GCC, count, {"CC": "gcc"})
    if directory:
        meson_test("gcc", directory, ["lint", "unit", "fuzz", "web", "e2e"], count)


def check_clang(count):
    if not shutil.which("clang"):
        count.add("clang: builds without a warning", "skipped", "there is no clang here")
        return
    directory = build("clang", ["-Dwerror=true", "-De2e=false"], count, {"CC": "clang"})
    if directory:
        meson_test("clang", directory, ["unit"], count)


def check_asan(count):
    directory = build(
        "asan",
        ["-Db_sanitize=address,undefined", "-Db_lundef=false", "-De2e=false"],
        count,
        {"CC": "gcc"},
    )
    if not directory:
        return
    meson_test("asan", directory, ["unit", "fuzz"], count)
    plain = build("gcc", GCC, Count(), {"CC": "gcc"})
    if not plain:
        count.add("asan: recordings to read", "failed")
        return
    run_pytest(
        "asan",
        directory / "readers.xml",
        ["tests/asan"],
        {"SEEP_BUILD": str(plain), "SEEP_ASAN_BUILD": str(directory)},
        count,
    )


# A build that needs nothing but libelf, libdw and zstd.
LEFT_OUT = [
    f"-D{feature}=disabled"
    for feature in ("page", "sqlite", "top", "push", "debuginfod", "demangle", "inject")
]


def check_core(count):
    directory = build(
        "core",
        ["-Dwerror=true", "-Dtests=false", "-Doptimization=0", *LEFT_OUT],
        count,
        {"CC": "gcc"},
    )
    if directory:
        run_pytest(
            "core", directory / "core.xml", ["tests/core"], {"SEEP_BUILD": str(directory)}, count
        )


# What users do first, and what other tests rest on; together a minute and a half.
CORE = (
    "api", "check", "cli", "diff", "export", "format", "growth", "html", "invalid", "leak_random",
    "leaks_report", "ledger", "memlog", "one_stack", "plain_preload", "processes", "report",
    "report_views", "sample", "signals", "snapshots", "sql", "thread_stacks",
)


def check_fast(count):
    directory = build("gcc", GCC, count, {"CC": "gcc"})
    if not directory:
        return
    meson_test("gcc", directory, ["lint", "unit"], count)
    run_pytest(
        "fast",
        directory / "core.xml",
        [f"tests/e2e/test_{name}.py" for name in CORE],
        {"SEEP_BUILD": str(directory)},
        count,
    )


# The second word is what is run, the third how long that takes on two quiet processors.
STEPS = {
    "gcc": (check_gcc, "build, lint, unit, fuzz, web, e2e", "18 minutes"),
    "clang": (check_clang, "build, unit", "3 minutes"),
    "asan": (
        check_asan,
        "build with sanitizers, unit, fuzz, recordings read and made",
        "5 minutes",
    ),
    "core": (check_core, "build with all options left out, and what it still does", "1 minute"),
    "fast": (check_fast, "build, lint, unit, the core of e2e", "5 minutes"),
}
ALL = ("gcc", "clang", "asan", "core")


def main(wanted):
    count, start = Count(), time.monotonic()
    unknown = [w for w in wanted if w not in STEPS]
    if unknown:
        sys.exit(f"check.py: no step {unknown[0]}; there are: {' '.join(STEPS)}")
    for name in wanted or ALL:
        step, what, duration = STEPS[name]
        print(f"== {name}: {what}; some {duration} on two quiet processors", flush=True)
        step(count)
    print(f"== result after {time.monotonic() - start:.0f} s")
    for line in count.skipped:
        print("skipped:", line)
    for name in count.failed:
        print("failed:", name)
    print(count.line(), flush=True)
    return 1 if count.failed or not count.passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
