#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""format_reader.py -- a reader of `.seep` files written from docs/FORMAT.md alone, without any code
of the tool.

It shows that the document is enough, and the tests compare it with the tool.  It is strict: a file
that breaks a rule of the document raises Broken.

usage: format_reader.py FILE     prints what is in it, as JSON
"""
import json
import struct
import subprocess
import sys
import zlib

MAGIC = b"\x89SEEP\r\n\x1a"
ARRAYS = (
    "modules", "nodes", "sites", "threads", "errors", "slices", "changes", "regions", "symbols",
    "shares", "blocks", "marks", "deaths", "handles", "jit", "types", "scans", "verdicts",
    "contents", "roots", "frames", "holds", "pointers", "mappings",
)
FRONT = 11  # of them have their count in the first half of the header
META, TOTALS, FIRST_ARRAY, END = 1, 2, 3, 255
MASK = (1 << 64) - 1
NO_MODULE = None

TOTALS_FIELDS = """allocations frees bytes_allocated live_blocks live_bytes peak_bytes peak_blocks
    peak_ms
    peak_error_bytes temporary unknown_frees double_frees mismatched mmap_calls mmap_bytes
    mmap_live_bytes
    rss_peak_bytes truncated_stacks lost_events untracked_blocks forks_not_followed verify_captures
    verify_differences verify_backtraces verify_backtrace_differences""".split()
TOTALS_LISTS = "sizes lifetimes".split()
TOTALS_LATE = """sample_bytes mappings_ms own_malloc forked missed_frees unseen_blocks held_back
    quarantine_blocks
    quarantine_bytes quarantine_ms omitted omitted_bytes omitted_maps omitted_map_bytes
    ledger_bytes ledger_limit thin_bytes thin_events ledger_full thin_ms[0] thin_ms[1] thin_ms[2]
    thin_ms[3] thin_ms[4] thin_ms[5]
    thin_ms[6] thin_ms[7]
    modules_not_kept threads_not_kept regions_not_kept handles_not_kept errors_not_kept
    roots_not_kept marks_not_kept deaths_not_kept
    strings_not_kept shut_out mappings_live_bytes mappings_live_blocks namespaces older
    attached one_way""".split()
META_TEXTS = "program exe cwd host engine version".split()
META_NUMBERS = """pid ppid start_realtime_ns duration_ms end exit_code exit_signal flags complete
    stop_reason depth
    word_bytes""".split()
# and what a file without them means
META_LATE = {"machine": 62, "byte_order": 1, "page_bytes": 4096}

# Section 6 of the document: name, coding, and the arrays that indices point into.
COLUMNS = {
    "modules": """start:delta end:near=start bias:near=start path:text load_ms:plain gone_ms:plain
        flags:plain32
        build_id_bytes:plain32 build_id:bytes=20 code_start:plain? code_end:near=code_start?
        code_offset:plain? device:plain?
        inode:plain?""",
    "sites": """node:delta32>nodes kind:plain32 allocs:plain alloc_bytes:plain live_blocks:plain
        live_bytes:plain
        frees:near=allocs-live_blocks peak_blocks:plain peak_bytes:plain temporary:plain
            lifetime_ms:plain""",
    "threads": """tid:delta32 name:text start_ms:delta end_ms:delta allocations:plain
        bytes_allocated:plain
        live_blocks:plain live_bytes:plain""",
    "errors": """type:plain32 node:plain32>nodes alloc_site:plain32>sites release:plain32
        thread:plain32>threads
        address:plain size:plain count:plain first_ms:plain free_node:plain32>nodes? wrong:plain32?
            alignment:plain? given:plain?""",
    "slices": """ms:delta live_bytes:delta live_blocks:delta allocs:delta alloc_bytes:delta
        frees:delta
        rss_bytes:delta change_first:delta32 change_count:plain32 flags:plain32?""",
    "changes": "site:delta32>sites live_bytes:last live_blocks:last allocs:last alloc_bytes:last",
    "regions": "start:delta end:near=start site:plain32>sites thread:plain32>threads "
               "birth_ms:delta stack:plain?",
    "symbols": "module:delta32>modules inline_depth:plain32 address:delta function:text file:text "
               "line:plain32",
    "shares": """site:delta32>sites thread:plain32>threads allocs:plain alloc_bytes:plain
        frees:near=allocs
        free_bytes:near=alloc_bytes temporary:plain""",
    "blocks": "address:delta size:plain site:plain32>sites thread:plain32>threads birth_ms:delta",
    "marks": """type:plain32 seq:plain32 slice:delta32>slices thread:plain32>threads flags:plain32
        era:plain32 ms:delta
        label:text""",
    "deaths": "site:delta32>sites birth:delta32 death:delta32 blocks:plain bytes:plain",
    "handles": "handle:delta amount:plain site:plain32>sites thread:plain32>threads birth_ms:delta",
    "jit": "start:delta bytes:plain name:text",
    "types": "name:text",
    "scans": """ms:plain when:plain32 flags:plain32 threads:plain32 roots:plain32 pause_us:plain
        scan_us:plain
        root_bytes:plain heap_bytes:plain trouble:text suppressions:text gone:plain?
        unseen:plain?""",
    "verdicts": "leak:plain32 flags:plain32 head:delta32 vtable:plain",
    "contents": "block:delta32>blocks bytes:plain32 data:bytes=64",
    "roots": "start:delta end:near=start kind:plain32 tid:delta32 module:plain32 region:plain32 "
             "base:near=start",
    "frames": "low:delta high:near=low pc:delta tid:delta32 module:plain32 exact:plain32",
    "holds": "at:delta from:delta32>roots to:delta32>blocks flags:plain32",
    "pointers": "from:delta32>blocks to:near32=from>blocks at:delta flags:plain32",
    "mappings": """start:delta end:near=start rss_bytes:plain anonymous_bytes:plain flags:plain32
        name:text offset:plain?
        device:plain? inode:plain? unrecorded_blocks:plain? unrecorded_bytes:plain?""",
}


class Broken(Exception):
    pass


def need(condition, text):
    if not condition:
        raise Broken(text)


class Body:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        need(self.at + count <= len(self.data), "section ends inside a field")
        self.at += count
        return self.data[self.at - count:self.at]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 127) << shift
            if byte < 128:
                need(value <= MASK, "varint above 64 bits")
                return value
            shift += 7
            need(shift < 70, "varint of more than ten bytes")

    def difference(self):
        stored = self.varint()
        return -(stored >> 1) - 1 if stored & 1 else stored >> 1

    def text(self):
        length = self.varint()
        if length == 0:
            return None
        raw = self.take(length - 1)
        need(0 not in raw, "zero byte inside a text")
        return raw.decode("utf-8", "surrogateescape")


def unpack(stored, raw_bytes, flags):
    need(flags in (0, 1), f"unknown flags {flags:#x}")
    if flags & 1:
        done = subprocess.run(["zstd", "-dcq"], input=stored, capture_output=True, check=False)
        need(done.returncode == 0, "zstd cannot unpack a section")
        stored = done.stdout
    need(len(stored) == raw_bytes, "a section unpacks to another length than its head says")
    return stored


def split_coding(word):
    """`node:delta32>nodes` to (name, coding, argument, limit, target)."""
    name, coding = word.removesuffix("?").split(":")
    coding, _, target = coding.partition(">")
    coding, _, argument = coding.partition("=")
    limit = 1 << (32 if coding.endswith("32") else 64)
    return name, coding.removesuffix("32"), argument, limit, target or None


class Recording:
    """header, sections (type, offset, stored, raw), meta, totals, and one list of dictionaries
    per array."""

    def __init__(self, data):
        self.data = data
        self.sections = []
        self.meta = self.totals = None
        self.arrays = {name: [] for name in ARRAYS}
        self.frames = []
        self.last_change = {}
        self.read_header()
        self.read_sections()
        for name in ARRAYS:
            need(len(self.arrays[name]) == self.counts[name], f"fewer {name} than the header says")
        self.check_leaks()

    def check_leaks(self):
        """What section 6 says about the arrays of a search for leaks, besides the columns."""
        counts, arrays = self.counts, self.arrays
        need(counts["scans"] <= 1, "two searches for leaks")
        need(
            counts["verdicts"] in (0, counts["blocks"]), "verdicts that are not one for each block"
        )
        searched = counts["scans"] and not arrays["scans"][0]["trouble"]
        need(
            searched
            or not any(
                counts[name] for name in ARRAYS[ARRAYS.index("verdicts") : ARRAYS.index("mappings")]
            ),
            "found without a search",
        )
        for verdict in arrays["verdicts"]:
            head = verdict["head"]
            need(
                verdict["leak"] <= 4 and (not head or verdict["leak"] == 3),
                "a head of what is not indirectly lost",
            )
            need(
                not head or arrays["verdicts"][head - 1]["leak"] == 4,
                "a head that is not definitely lost",
            )
        for name, key in (
            ("contents", ("block",)),
            ("holds", ("from", "at")),
            ("pointers", ("from", "at")),
        ):
            order = [tuple(record[column] for column in key) for record in arrays[name]]
            need(order == sorted(order), f"{name} are not sorted")
        for record in arrays["roots"] + arrays["frames"]:
            need(
                record["module"] == 0xFFFF or record["module"] < counts["modules"],
                "memory of no module",
            )
        need(
            all(root["region"] <= counts["regions"] for root in arrays["roots"]),
            "a root is in no region",
        )

    def read_header(self):
        head = self.data[:128]
        need(len(head) == 128 and head[:8] == MAGIC, "not a seep file")
        self.version, self.header_bytes, self.section_count, file_bytes = struct.unpack_from(
            "<HHIQ", head, 8
        )
        need(self.version == 1, f"format version {self.version}")
        need(zlib.crc32(head[:124]) == struct.unpack_from("<I", head, 124)[0], "header checksum")
        need(file_bytes == len(self.data), f"{len(self.data)} of {file_bytes} bytes")
        self.counts = dict.fromkeys(ARRAYS, 0) | dict(
            zip(ARRAYS, struct.unpack_from("<11Q", head, 24))
        )
        if self.header_bytes >= 256:
            back = self.data[128:256]
            need(
                len(back) == 128
                and zlib.crc32(back[:124]) == struct.unpack_from("<I", back, 124)[0],
                "header checksum of the second half",
            )
            self.counts |= dict(zip(ARRAYS[FRONT:], struct.unpack_from("<15Q", back)))

    def read_sections(self):
        at, kind = self.header_bytes, None
        while kind != END:
            head = self.data[at:at + 32]
            need(len(head) == 32, "file ends before END")
            mark, kind, flags, stored, raw, body_crc, crc = struct.unpack("<4sHHQQII", head)
            need(mark == b"SECT" and zlib.crc32(head[:28]) == crc, f"section head at {at}")
            body = self.data[at + 32:at + 32 + stored]
            need(len(body) == stored and zlib.crc32(body) == body_crc, f"section body at {at}")
            self.read_body(kind, Body(unpack(body, raw, flags)))
            self.sections.append(
                {"type": kind, "offset": at, "stored_bytes": stored, "raw_bytes": raw}
            )
            at += 32 + stored
        need(len(self.sections) == self.section_count, "number of sections")

    def read_body(self, kind, body):
        if kind == META:
            self.read_meta(body)
        elif kind == TOTALS:
            self.totals = {name: body.varint() for name in TOTALS_FIELDS}
            self.totals |= {
                name: [body.varint() for _ in range(body.varint())] for name in TOTALS_LISTS
            }
            self.totals |= {
                name: body.varint() if body.at < len(body.data) else 0 for name in TOTALS_LATE
            }
        elif kind == END:
            need(body.varint() == len(self.sections), "END counts other sections")
        elif 0 <= kind - FIRST_ARRAY < len(ARRAYS):
            self.read_piece(ARRAYS[kind - FIRST_ARRAY], body)
            need(body.at == len(body.data), f"bytes left over in a section of type {kind}")

    def read_meta(self, body):
        self.meta = {name: body.text() for name in META_TEXTS}
        self.meta.update({name: body.varint() for name in META_NUMBERS})
        for name in ("args", "warnings"):
            self.meta[name] = [body.text() for _ in range(body.varint())]
        told = body.at < len(body.data)
        self.meta |= {name: body.varint() if told else old for name, old in META_LATE.items()}

    def read_piece(self, name, body):
        first, count = body.varint(), body.varint()
        need(first == len(self.arrays[name]), f"a piece of {name} does not continue the one before")
        need(count <= 65536, f"a piece of {name} is too large")
        if name == "nodes":
            self.read_nodes(first, count, body)
            return
        records = [{} for _ in range(count)]
        for word in COLUMNS[name].split():
            if word.endswith("?") and body.at == len(body.data):  # of a later version than the file
                word = word.split(":")[0]
                for record in records:
                    record[word] = 0
            else:
                self.read_column(word, records, body)
        self.arrays[name] += records

    def read_column(self, word, records, body):
        name, coding, argument, limit, target = split_coding(word)
        before = 0
        for record in records:
            if coding == "text":
                record[name] = body.text()
                continue
            if coding == "bytes":
                record[name] = body.take(int(argument)).hex()
                continue
            if coding == "plain":
                value = body.varint()
            else:
                value = (
                    self.base(coding, argument, name, record, before) + body.difference()
                ) & MASK
            need(value < limit, f"{name} is too large")
            need(
                target is None or value == 0 or value < self.counts[target],
                f"{name} points outside {target}",
            )
            record[name] = before = value
            if coding == "last":
                self.last_change[record["site"], name] = value

    def base(self, coding, argument, name, record, before):
        if coding == "delta":
            return before
        if coding == "last":
            return self.last_change.get((record["site"], name), 0)
        plus, _, minus = argument.partition("-")
        return record[plus] - (record[minus] if minus else 0)

    def read_nodes(self, first, count, body):
        new = body.varint()
        need(new <= 65536, "too many new frames")
        address, frames = 0, []
        for _ in range(new):
            address = (address + body.varint()) & MASK
            frames.append({"pc": address})
        for frame in frames:
            module = body.varint()
            need(module <= min(self.counts["modules"], 65535), "a frame is in no module")
            frame["module"] = module - 1 if module else NO_MODULE
        for frame in frames:
            frame["exact"] = body.varint()
        self.frames += frames
        numbers = [body.varint() for _ in range(count)]
        need(all(n < len(self.frames) for n in numbers), "a node has no frame")
        for index, number in enumerate(numbers, first):
            distance = body.varint()
            need(
                0 < distance <= index or index == distance == 0,
                "a parent is not older than its child",
            )
            self.arrays["nodes"].append({**self.frames[number], "parent": index - distance})

    def stack(self, node):
        """Addresses of a stack, innermost first."""
        found = []
        while node > 1:
            found.append(self.arrays["nodes"][node]["pc"])
            node = self.arrays["nodes"][node]["parent"]
        return found


def read(path):
    with open(path, "rb") as file:
        return Recording(file.read())


if __name__ == "__main__":
    recording = read(sys.argv[1])
    json.dump({"meta": recording.meta, "totals": recording.totals, "sections": recording.sections,
               **recording.arrays}, sys.stdout, indent=1)
    print()
