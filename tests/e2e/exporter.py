# SPDX-License-Identifier: MIT
"""exporter.py -- `seep export` of one recording, beside what `seep report --json` says about the
same selection."""
import json
import subprocess
from collections import Counter
from pathlib import Path

from harness import DEADLINE, SEEP, clean_environment

# The costs of export, as the fields of a site in report --json.
COSTS = {
    "alloc-count": "allocations",
    "alloc-bytes": "bytes_allocated",
    "live-count": "live_blocks",
    "live-bytes": "live_bytes",
    "peak-count": "peak_blocks",
    "peak-bytes": "peak_bytes",
    "leaked-count": "leaked_blocks",
    "leaked-bytes": "leaked_bytes",
    "temp-count": "temporary",
}
OF_TIME = ("alloc-count", "alloc-bytes", "live-count", "live-bytes")
OF_PEAK = ("live-count", "live-bytes", "peak-count", "peak-bytes")


class Exporter:
    def __init__(self, recording, folder):
        self.recording, self.folder, self.count = Path(recording), Path(folder), 0

    def seep(self, *words, env=None):
        return subprocess.run(
            [SEEP, *map(str, words)],
            capture_output=True,
            env=clean_environment(env),
            timeout=DEADLINE,
            cwd=self.folder,
        )

    def bytes(self, form, *options):
        """The form as it goes to stdout; nothing may be said beside it."""
        done = self.seep("export", "--to", form, *options, self.recording)
        assert (done.returncode, done.stderr.decode()) == (0, "")
        return done.stdout

    def text(self, form, *options):
        return self.bytes(form, *options).decode()

    def file(self, form, *options, name=None):
        self.count += 1
        path = self.folder / (name or f"{self.count}.{form}")
        path.write_bytes(self.bytes(form, *options))
        return path

    def report(self, *options):
        done = self.seep("report", "--json", *options, self.recording)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def filled(self, *options):
        """The report; what is not known of its moment is 0."""
        report = self.report(*options)
        for site in report["sites"]:
            site.update({k: 0 for k, v in site.items() if v is None})
        return report

    def sites(self, *options):
        return [s for s in self.filled(*options)["sites"] if s["kind"] not in ("mmap", "mremap")]

    def totals(self, *options):
        """By cost, over the heap."""
        sites = self.sites(*options)
        return {cost: sum(s[field] for s in sites) for cost, field in COSTS.items()}

    def stacks(self, cost, *options):
        """Names from the outermost function to the innermost, with the cost: without start code,
        and without the wrappers at the inner end."""
        report, stacks = self.filled(*options), Counter()
        for site in report["sites"]:
            if site["kind"] in ("mmap", "mremap") or not site[COSTS[cost]]:
                continue
            frames = [report["frames"][i] for i in site["stack"]]
            shown = [f for f in frames if not f["start"]] or [
                f for f in frames if f["address"] == frames[0]["address"]
            ]
            inner = next((i for i, f in enumerate(shown) if not f["wrapper"]), 0)
            stacks[tuple(f["function"] or "?" for f in reversed(shown[inner:]))] += site[
                COSTS[cost]
            ]
        return stacks

    def inclusive(self, cost, *options):
        """By function: the cost of all stacks that it is in, once each."""
        found = Counter()
        for stack, value in self.stacks(cost, *options).items():
            for name in set(stack):
                found[name] += value
        return found
