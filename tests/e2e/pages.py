# SPDX-License-Identifier: MIT
"""pages.py -- reads the data out of a page of `seep html`, from docs/PAGE.md alone: it shares no
code with the tool or the viewer."""
import base64
import gzip
import json
import re
import subprocess

from harness import DEADLINE, SEEP, clean_environment

LIMIT = 10 << 20
CLASSES = {1: "reachable", 2: "possible", 3: "indirect", 4: "definite"}


def answer(*argv, cwd=None, env=None):
    return subprocess.run(
        [SEEP, "html", *map(str, argv)],
        capture_output=True,
        env=clean_environment(env),
        stdin=subprocess.DEVNULL,
        timeout=DEADLINE,
        cwd=cwd,
    )


def data_of(page):
    """What the element for data holds.  Numbers and texts only: a comma too many or a byte that
    is no UTF-8 fails here."""
    found = re.findall(
        rb'<script type="application/octet-stream" id="seep-data"([^>]*)>([^<]*)</script>', page
    )
    assert len(found) == 1 and len(found[0][1]) <= LIMIT
    return json.loads(
        gzip.decompress(base64.b64decode(found[0][1], validate=True)).decode("utf-8"),
        parse_constant=lambda word: 1 / 0,
    )


def page_of(*argv, cwd=None):
    done = answer("-o", "-", *argv, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return Page(data_of(done.stdout))


class Recorded:
    def __init__(self, data):
        self.data = data
        for name, table in self.tables():
            for key, column in table.items():
                if key != "count":
                    table[key] = column if isinstance(column, list) else [column] * table["count"]
                    assert len(table[key]) == table["count"], (name, key)

    def tables(self):
        for name, value in self.data.items():
            if isinstance(value, dict) and "count" in value:
                yield name, value
            elif isinstance(value, dict) and "rows" in value:
                yield name, value["rows"]

    def text(self, index):
        return None if index == -1 else self.data["strings"][index]

    def rows(self, name):
        table = dict(self.tables())[name]
        names = [k for k in table if k != "count"]
        return [dict(zip(names, cells)) for cells in zip(*(table[k] for k in names))]

    def frame(self, node):
        frame = self.data["frames"]
        function = self.data["functions"]
        number = self.data["nodes"]["frame"][node]
        which = frame["function"][number]
        module = function["module"][which]
        return {
            "function": self.text(function["name"][which]),
            "short": self.text(function["short"][which]),
            "file": self.text(function["file"][which]),
            "line": frame["line"][number] or None,
            "inlined": bool(frame["inlined"][number]),
            "wrapper": frame["wrapper"][number],
            "module": None if module == -1 else self.text(self.data["modules"]["path"][module]),
        }

    def stack(self, node):
        """Frames, innermost first."""
        found, nodes = [], self.data["nodes"]
        while node:
            assert nodes["parent"][node] < node
            found.append(self.frame(node))
            node = nodes["parent"][node]
        return found

    def sites(self):
        return self.rows("sites")

    def site_named(self, row):
        return self.frame(self.data["sites"]["node"][row])["short"]

    def courses(self):
        """For each slice, the (live_bytes, live_blocks, allocs, alloc_bytes) of all sites that
        have any."""
        now, change, changes = {}, 0, self.rows("changes")
        for slice_number in range(self.data["slices"]["count"]):
            while change < len(changes) and changes[change]["slice"] == slice_number:
                row = changes[change]
                now[row["site"]] = tuple(
                    row[k] for k in ("live_bytes", "live_blocks", "allocs", "alloc_bytes")
                )
                change += 1
            yield dict(now)
        assert change == len(changes)


class Page:
    def __init__(self, data):
        assert data["seep_page"] == 1
        self.data, self.recordings = data, [Recorded(r) for r in data["recordings"]]
        self.one = self.recordings[0]
