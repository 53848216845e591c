# SPDX-License-Identifier: MIT
"""bench.py -- programs that are made, recorded and moved about, each in a folder with a cache of
its own.

The program tells the lines of its calls itself (../programs/lines.h); what a report says must be
these.
"""
import json
import shutil
import subprocess

from harness import DEADLINE, PROGRAMS, SEEP, clean_environment

OPTIMISED = ("-O2", "-g", "-Wl,--build-id=sha1")


class Bench:
    def __init__(self, folder):
        self.folder = folder
        self.world = ()  # words before seep: the network that it runs in
        self.env = clean_environment({"XDG_CACHE_HOME": str(folder / "cache"), "HOME": str(folder)})

    def run(self, *argv, cwd=None, env=None, status=0):
        done = subprocess.run(
            [str(a) for a in argv],
            cwd=cwd or self.folder,
            env={**self.env, **(env or {})},
            capture_output=True,
            text=True,
            timeout=DEADLINE,
        )
        assert done.returncode == status, f"{argv}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def seep(self, *argv, **how):
        return self.run(*self.world, SEEP, *argv, **how)

    def compile(self, *flags, cc="gcc", source="lines.c", out="lines", libs=()):
        self.run(cc, "-w", *flags, PROGRAMS / source, "-o", out, "-pthread", *libs)
        return self.folder / out

    def record(self, program, *options):
        """The facts that the program told; the recording is out.seep."""
        told = self.folder / "truth"
        self.run(
            "/bin/sh", "-c", 'exec "$@" 3>truth', "sh", SEEP, "record", "-q", "-f", "-o",
            "out.seep", *options, "--", program,
        )
        facts = dict(line[5:].split("=") for line in told.read_text().splitlines())
        return {name: int(value) for name, value in facts.items()}

    def forget(self):
        """No name is known from an earlier look."""
        shutil.rmtree(self.folder / "cache", ignore_errors=True)

    def report(self, *options, file="out.seep", **how):
        return json.loads(self.seep("report", "--json", *options, file, **how).stdout)

    def stack(self, size, *options, **how):
        """(function, line, inlined) of the one allocation of that size, innermost first."""
        report = self.report(*options, **how)
        [site] = [
            s for s in report["sites"] if s["bytes_allocated"] == size and s["kind"] == "malloc"
        ]
        frames = [report["frames"][i] for i in site["stack"]]
        return [(f["function"], f["line"], f["inlined"]) for f in frames]

    def names(self, size, *options, **how):
        self.forget()
        return [frame[0] for frame in self.stack(size, *options, **how)]


def near(facts):
    """The stack of the 6001 bytes that lines.c allocates itself."""
    return [("near_inner", facts["near_inner"], True), ("near_middle", facts["near_middle"], True),
            ("near_outer", facts["near_outer"], False), ("main", facts["near_main"], False)]


def far(facts):
    """The stack of the 7001 bytes that its library allocates."""
    return [("far_inner", facts["far_inner"], True), ("far_middle", facts["far_middle"], True),
            ("far_outer", facts["far_outer"], False), ("main", facts["near_main_far"], False)]
