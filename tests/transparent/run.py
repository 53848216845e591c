#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Real programs with seep and without: they must not show that they are watched.

usage: tests/transparent/run.py [--report FILE] [--mode MODE]... [--results FILE] [NAME ...]

Default: all entries; a NAME is a part of an entry's name, or a list's.  What came out is kept in
FILE (transparent.json in the build folder), so that the table of --report also has the entries that
ran earlier.

An entry of a *.list file is a name in brackets and a shell script in which `r` stands before each
program that is recorded.  It runs twice bare and once in each mode, always in an empty folder with
the same path, which is also HOME and the current directory.  What it prints, its exit status and
the files that it leaves are compared.  Lines of an entry that are no script:

    needs: WORD...     programs and files that must be there (default: the word after the first `r`)
    drop: REGEX        text that differs by nature is cut out of stdout, stderr and files
    ignore: REGEX      names of files that are not compared
    env: NAME=VALUE    for the script
    user: NAME         whom it runs as when we are root
    seconds: N         for one run (180)
    why: TEXT          why a difference is known, for the table; it counts as failed all the same

Entries of suites.list run only with SUITES=1, once bare because they are long; in plain LD_PRELOAD
their reports go elsewhere (-o in SEEP_OPTIONS), because suites count files that appear in the
current directory as faults.  Those of redis, git and perl need SOURCES=FOLDER with what `apt-get
source redis git perl` unpacks there, git built (make NO_GETTEXT=1).  An entry whose two bare runs
differ is unfit: it is told, and counts as failed. The last line is N passed, N failed, N skipped.
"""
import argparse
import difflib
import glob
import hashlib
import json
import os
import platform
import pwd
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILD = Path(os.environ.get("SEEP_BUILD", HERE.parents[1] / "build"))
SEEP, AGENT = BUILD / "src" / "seep", BUILD / "src" / "agent" / "libseep.so"
RECORD = f'exec {SEEP} record -q -o "$RECORDINGS/%e.%p.seep"'
MODES = {
    "record": f'{RECORD} -- "$@"',
    "follow": f'{RECORD} --follow=all --wait=5s -- "$@"',
    "preload": f'SEEP_OPTIONS="-q${{REPORTS:+ -o $REPORTS/%e.%p.seep}}" LD_PRELOAD={AGENT} exec '
               f'"$@"',
    "events": f'{RECORD} --events -- "$@"',
}
TITLES = {
    "record": "`record`",
    "follow": "`record --follow=all`",
    "preload": "plain `LD_PRELOAD`",
    "events": "`record --events`",
}
MEMLOG = re.compile(r"(^|/)[^/]+-\d+-\d+\.memlog$")  # what plain LD_PRELOAD is there for
OPTION = re.compile(r"(needs|drop|ignore|env|user|seconds|why): (.*)")


class Entry:
    def __init__(self, name, group):
        self.name, self.group, self.script = name, group, []
        self.options = {
            key: [] for key in ("needs", "drop", "ignore", "env", "user", "seconds", "why")
        }

    def add(self, line):
        option = OPTION.fullmatch(line)
        if option:
            self.options[option[1]].append(option[2])
        else:
            self.script.append(line)

    def needs(self):
        words = os.path.expandvars(" ".join(self.options["needs"])).split()
        return words or [re.search(r"(?:^|[\s(])r (\S+)", "\n".join(self.script))[1]]

    def missing(self):
        path = os.environ["PATH"]
        return [
            w
            for w in self.needs()
            if not w.startswith("./")
            and not (glob.glob(w) if w[0] == "/" else shutil.which(w, path=path))
        ]

    def drop(self, text):
        for regex in self.options["drop"]:
            text = re.sub(regex.encode(), b"", text, flags=re.MULTILINE)
        return text

    def ignores(self, name):
        return bool(MEMLOG.search(name)) or any(
            re.search(regex, name) for regex in self.options["ignore"]
        )

    def account(self):
        """Whom it runs as, if not as we do."""
        name = self.options["user"][0] if self.options["user"] and os.geteuid() == 0 else None
        return pwd.getpwnam(name) if name else None


def entries(words, suites=bool(os.environ.get("SUITES"))):
    for path in sorted(HERE.glob("*.list")):
        if path.stem == "suites" and not suites:
            continue
        entry = None
        for line in path.read_text().splitlines():
            title = re.fullmatch(r"\[(.+)\]", line)
            if title or line.startswith("##"):
                if entry and selected(entry, words):
                    yield entry
                entry = Entry(title[1], path.stem) if title else None
            elif entry:
                entry.add(line)
        if entry and selected(entry, words):
            yield entry


def selected(entry, words):
    return not words or any(word in entry.name or word == entry.group for word in words)


def working_folder(process):
    try:
        return os.readlink(process / "cwd")
    except OSError:
        return None


class Stage:
    """The folders of one entry: work (its own), bin (with `r`), recordings, cache (seep keeps
    names there, and programs what they like)."""

    def __init__(self, top, account):
        self.top = Path(top)
        self.top.chmod(0o755)
        self.work, self.bin, self.recordings, self.cache = (
            self.top / name for name in ("work", "bin", "recordings", "cache")
        )
        self.bin.mkdir()
        self.cache.mkdir()
        if account:
            os.chown(self.cache, account.pw_uid, account.pw_gid)

    def set_up(self, mode, account):
        """Fresh folders, and an `r` of this mode."""
        for number, folder in enumerate((self.work, self.recordings)):
            if folder.exists():
                gone = self.top / f"gone-{time.monotonic_ns()}-{number}"
                folder.rename(gone)  # whoever is still in there does not disturb the next one
                shutil.rmtree(gone, ignore_errors=True)
            folder.mkdir(0o755)
            if account:
                os.chown(folder, account.pw_uid, account.pw_gid)
        tool = self.bin / "r"
        tool.write_text("#!/bin/sh\n" + MODES.get(mode, 'exec "$@"') + "\n")
        tool.chmod(0o755)

    def wait_until_left(self):
        """Nobody is in the work folder any more: what watched a program that was killed may
        still write a report."""
        end = time.monotonic() + 20
        while time.monotonic() < end:
            if not any(
                str(where).startswith(str(self.work))
                for where in map(working_folder, Path("/proc").glob("[0-9]*"))
            ):
                return
            time.sleep(0.1)

    def written(self, mode):
        """How many recordings and reports there are.  With plain LD_PRELOAD and a program that
        was killed, a report is there a little later."""
        end = time.monotonic() + (10 if mode == "preload" else 0)
        while True:
            count = len(list(self.recordings.rglob("*.seep"))) + sum(
                1 for _ in self.work.rglob("*.memlog")
            )
            if count or time.monotonic() >= end:
                return count
            time.sleep(0.1)

    def environment(self, entry):
        keep = {k: v for k, v in os.environ.items() if k in ("JAVA_HOME", "SOURCES")}
        more = dict(pair.split("=", 1) for pair in entry.options["env"])
        if entry.group == "suites":
            keep["REPORTS"] = str(self.recordings)
        return {
            **keep,
            "PATH": f"{self.bin}:{os.environ['PATH']}",
            "HOME": str(self.work),
            "TERM": "dumb",
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
            "XDG_CACHE_HOME": str(self.cache),
            "RECORDINGS": str(self.recordings),
            "SOURCE_DATE_EPOCH": "1000000000",
            "PYTHONHASHSEED": "0",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_AUTHOR_DATE": "1000000000 +0000",
            "GIT_COMMITTER_DATE": "1000000000 +0000",
            "GIT_AUTHOR_NAME": "A",
            "GIT_AUTHOR_EMAIL": "a@example.org",
            "GIT_COMMITTER_NAME": "A",
            "GIT_COMMITTER_EMAIL": "a@example.org",
            "CCACHE_DISABLE": "1",
            **more,
        }


def digest(entry, path):
    """What a file is, as far as it is compared: kind, permissions, contents."""
    info = path.lstat()
    mode = f"{stat.S_IFMT(info.st_mode):o} {stat.S_IMODE(info.st_mode):o}"
    if stat.S_ISLNK(info.st_mode):
        return f"{mode} {os.readlink(path)}"
    if stat.S_ISREG(info.st_mode):
        return f"{mode} {hashlib.sha256(entry.drop(path.read_bytes())).hexdigest()[:16]}"
    return mode


def files(entry, folder):
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        try:
            if not entry.ignores(name):
                found[name] = digest(entry, path)
        except FileNotFoundError:
            pass
    return found


def end_group(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


class Result:
    """One run: what is compared, and what seep said."""

    def __init__(self, entry, mode, stage):
        account = entry.account()
        stage.set_up(mode, account)
        rights = (
            {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []} if account else {}
        )
        out, err = (
            stage.top / f"{name}-{mode}-{time.monotonic_ns()}" for name in ("stdout", "stderr")
        )
        start = time.monotonic()
        with open(out, "wb") as stdout, open(err, "wb") as stderr:
            process = subprocess.Popen(
                ["/bin/sh", "-c", "\n".join(entry.script)],
                cwd=stage.work,
                env=stage.environment(entry),
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
                **rights,
            )
            try:
                self.status = process.wait(int((entry.options["seconds"] or ["180"])[0]))
            except subprocess.TimeoutExpired:
                self.status = "timeout"
            end_group(process)  # what the script left behind
            process.wait()
            stage.wait_until_left()
        self.seconds = time.monotonic() - start
        self.stdout = entry.drop(out.read_bytes())
        lines = err.read_bytes().splitlines(keepends=True)
        self.stderr = entry.drop(b"".join(line for line in lines if not line.startswith(b"seep:")))
        self.said = [
            line.decode(errors="replace").strip() for line in lines if line.startswith(b"seep:")
        ]
        self.files = files(entry, stage.work)
        self.recordings = stage.written(mode)

    def difference(self, other):
        """Why this is not the same as the other (a bare one); nothing if it is."""
        why = []
        if self.status != other.status:
            why.append(f"exit status {self.status}, bare {other.status}")
        for name in ("stdout", "stderr"):
            mine, bare = getattr(self, name), getattr(other, name)
            if mine != bare:
                why.append(f"{name}: {changed(bare, mine)}")
        names = [
            n for n in {**self.files, **other.files} if self.files.get(n) != other.files.get(n)
        ]
        if names:
            why.append(
                "files: "
                + ", ".join(
                    f"{n} ({self.files.get(n, 'not there')}, bare "
                    f"{other.files.get(n, 'not there')})"
                    for n in names[:5]
                )
            )
        return "; ".join(why)


def changed(bare, mine):
    """The first lines that differ."""
    before, after = (text.decode(errors="replace").splitlines() for text in (bare, mine))
    lines = [
        line[:200]
        for line in difflib.unified_diff(before, after, lineterm="", n=0)
        if not line.startswith(("---", "+++", "@@"))
    ]
    return " / ".join(lines[:6]) + (f" / ... {len(lines) - 6} more" if len(lines) > 6 else "")


def run_entry(entry, modes, stage):
    """({mode: reason, empty if it passed}, notes)"""
    lacking = entry.missing()
    if lacking:
        return None, [f"not installed: {' '.join(lacking)}"]
    first = Result(entry, "bare", stage)
    unfit = "" if entry.group == "suites" else Result(entry, "bare", stage).difference(first)
    if unfit:
        return {"bare": f"unfit, two bare runs differ: {unfit}"}, []
    outcome, notes = {}, []
    if first.status != 0:
        notes.append(f"exit status {first.status}")
    for mode in modes:
        result = Result(entry, mode, stage)
        outcome[mode] = result.difference(first)
        notes += [f"{mode}: {line}" for line in result.said]
        if not result.recordings:
            notes.append(f"{mode}: no recording")
    return outcome, notes


def show(entry):
    """Lines for somebody who wants to know whether an entry does what it is there for."""
    if entry.missing():
        return [f"not installed: {' '.join(entry.missing())}"]
    with tempfile.TemporaryDirectory(
        prefix="seep-transparent-", ignore_cleanup_errors=True
    ) as folder:
        bare = Result(entry, "bare", Stage(folder, entry.account()))
    return [
        f"exit status {bare.status}",
        *(bare.stdout + bare.stderr).decode(errors="replace").splitlines()[:12],
        f"files: {' '.join(list(bare.files)[:12])}",
    ]


def kept(path):
    """{name: (group, outcome, notes)}, in the order of the lists; a mode that was not tried is
    not there."""
    try:
        stored = json.loads(Path(path).read_text())
    except FileNotFoundError:
        stored = {}
    names = [entry.name for entry in entries([], suites=True)]
    return {name: stored[name] for name in names if name in stored}


def keep(path, results):
    stored = kept(path)
    for name, (group, outcome, notes) in results.items():
        _, before, noted = stored.get(name, (group, None, []))
        # other modes of an earlier run stay
        if outcome and before and "bare" not in outcome and "bare" not in before:
            notes = [
                note for note in noted if note.split(":")[0] in set(MODES) - set(outcome)
            ] + notes
            outcome = {**before, **outcome}
        stored[name] = (group, outcome, notes)
    half = Path(f"{path}.half")
    half.write_text(json.dumps(stored, indent=1))
    half.rename(path)


def cell(text):
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def write_report(path, results):
    """docs/TRANSPARENT.md"""
    modes = list(MODES)
    ran = {name: outcome for name, (_, outcome, _) in results.items() if outcome is not None}
    lines = ["# Programs that do not notice", "",
             "Made by `make transparent REPORT=docs/TRANSPARENT.md`: real programs run twice bare "
             "and once in each mode; output, exit status and files that",
             "they leave are compared (tests/transparent/run.py says how; tests/transparent/*.list "
             "has what they do). Suites run bare once. Not compared are lines that",
             "begin with `seep:` (a note below), and what the lists take out because it differs by "
             "nature. Known and on purpose: `--follow=all` waits for daemons, so",
             "it runs with `--wait=5s`; statically linked programs and those with AddressSanitizer "
             "are refused, so a shell starts them; a debugger sees that plain",
             "`LD_PRELOAD` starts the tool. Its reports lie beside the program; those of suites "
             "lie elsewhere, because suites count them as faults.",
             "",
             f"{time.strftime('%Y-%m-%d')}, Linux {platform.release()}, {platform.machine()}, "
             f"{os.cpu_count()} processors. "
             f"{len(ran)} entries ran, {len(results) - len(ran)} skipped.", "",
             "| mode | same as bare | different |",
             "|---|---|---|"]
    for mode in modes:
        tried = [outcome[mode] for outcome in ran.values() if mode in outcome]
        lines.append(f"| {TITLES[mode]} | {tried.count('')} | {len(tried) - tried.count('')} |")
    unfit = sum("bare" in outcome for outcome in ran.values())
    lines += [
        "",
        f"{unfit} entries are unfit: their bare runs differ from each other."
        if unfit
        else "No entry is unfit: where there were two bare runs, they were the same.",
    ]
    bad = [
        (name, mode, why) for name, outcome in ran.items() for mode, why in outcome.items() if why
    ]
    if bad:
        known = {entry.name: " ".join(entry.options["why"]) for entry in entries([], suites=True)}
        lines += [
            "", "## Differences", "", "| entry | mode | difference | reason |",
            "|---|---|---|---|",
        ]
        lines += [
            f"| {name} | {mode} | {cell(why)[:600]} | {known[name]} |" for name, mode, why in bad
        ]
    lines += ["", "## All entries", "",
              "`+` same, `-` different, blank not tried, `?` unfit, `.` skipped; in the order of "
              "the modes above.",
              "",
              "| group | entry | result | note |", "|---|---|---|---|"]
    for name, (group, outcome, notes) in results.items():
        marks = (
            "."
            if outcome is None
            else "?"
            if "bare" in outcome
            else "".join({None: " ", "": "+"}.get(outcome.get(m), "-") for m in modes)
        )
        lines.append(f"| {group} | {name} | `{marks}` | {cell('; '.join(notes))[:300]} |")
    Path(path).write_text("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--report")
    parser.add_argument("--results", default=BUILD / "transparent.json")
    parser.add_argument("--mode", action="append", choices=MODES)
    parser.add_argument("--list", action="store_true", help="names only")
    parser.add_argument("--show", action="store_true", help="what the entries print without seep")
    parser.add_argument("names", nargs="*")
    wanted = parser.parse_args()
    # the distribution's programs
    os.environ["PATH"] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/games"
    if wanted.list or wanted.show:
        for entry in entries(wanted.names):
            print(entry.name, *(show(entry) if wanted.show else ()), sep="\n    ", flush=True)
        return 0
    modes, results = wanted.mode or list(MODES), {}
    counts = dict.fromkeys(("passed", "failed", "skipped"), 0)
    for entry in entries(wanted.names):
        start = time.monotonic()
        with tempfile.TemporaryDirectory(
            prefix="seep-transparent-", ignore_cleanup_errors=True
        ) as folder:
            outcome, notes = run_entry(entry, modes, Stage(folder, entry.account()))
        results[entry.name] = (entry.group, outcome, notes)
        verdict = "skipped" if outcome is None else "failed" if any(outcome.values()) else "passed"
        counts[verdict] += 1
        print(
            f"{verdict} {entry.name} ({time.monotonic() - start:.0f} s)",
            *notes,
            sep="\n    ",
            flush=True,
        )
        for mode, why in (outcome or {}).items():
            if why:
                print(f"    {mode}: {why}", flush=True)
        keep(wanted.results, {entry.name: results[entry.name]})
    if wanted.report:
        write_report(wanted.report, kept(wanted.results))
    print(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
