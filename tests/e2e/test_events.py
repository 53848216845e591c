# SPDX-License-Identifier: MIT
"""The event log: every transaction, in order, in few bytes, and a replay of it gives what the
ledger counted.

The replay in this file knows nothing of the tool's own: it reads the printed forms.
"""
import re
import struct
import zlib

import pytest

import format_reader
from event_logs import check_replay, log_bytes, rows
from harness import ask

SQL = b"".join(
    [
        b"create table t(a integer primary key, b text, c real);\n",
        b"with recursive n(i) as (select 1 union all select i+1 from n where i<3000) insert into t "
        b"select i, 'text '||i*7919%10007, i*1.5 from n;\ncreate index ti on t(b);\n",
        *(
            b"insert into t values(%d,'row %d',%d); select * from t where a=%d;\n"
            % (i + 10000, i, i, i)
            for i in range(600)
        ),
        b"select b, count(*) from t group by b order by 2 desc limit 3;\n",
    ]
)
PYTHON = """
import json
d = {str(i): [i / 3, {"a": i, "b": "x" * (i % 50)}] for i in range(3000)}
e = json.loads(json.dumps(d))
words = " ".join(sorted(e)).split()
for i in range(50):
    class A:
        x = i
kept = {}
for i in range(20000):
    kept[i * 7919 % 501] = bytes(600 + i % 300)
print(len(words))
"""
PERL = 'my %h; for (1..20000) { $h{$_ % 977} = "x" x ($_ % 300); } print scalar keys %h'


def tell_otherwise(file, **changes):
    """The recording with other totals, as a new file."""
    seen, data = format_reader.read(file), file.read_bytes()
    [section] = [s for s in seen.sections if s["type"] == format_reader.TOTALS]
    numbers = [changes.get(name, seen.totals[name]) for name in format_reader.TOTALS_FIELDS]
    for name in format_reader.TOTALS_LISTS:
        numbers += [len(seen.totals[name]), *seen.totals[name]]
    numbers += [seen.totals[name] for name in format_reader.TOTALS_LATE]
    body = b"".join(varint(number) for number in numbers)
    head = struct.pack(
        "<4sHHQQI", b"SECT", format_reader.TOTALS, 0, len(body), len(body), zlib.crc32(body)
    )
    start, end = section["offset"], section["offset"] + 32 + section["stored_bytes"]
    data = data[:start] + head + struct.pack("<I", zlib.crc32(head)) + body + data[end:]
    front = data[:16] + struct.pack("<Q", len(data)) + data[24:124]
    other = file.with_name("other.seep")
    other.write_bytes(front + struct.pack("<I", zlib.crc32(front)) + data[128:])
    return other


def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def test_a_difference_between_log_and_totals_is_told_and_is_the_exit_status(compiler, recorder):
    file = recorder.record(compiler.build("events.c"), options=["--events"]).folder / "out.seep"
    totals = format_reader.read(file).totals
    peak = totals["peak_bytes"]

    def line(label, status, **changes):
        found = ask("events", "--totals", tell_otherwise(file, **changes), status=status).stdout
        return re.search(f"^  {label} .*", found, re.M).group()

    assert line("peak bytes", 0).endswith(f"{peak:,}")
    assert line("peak bytes", 1, peak_bytes=peak - 1).endswith("  differs")
    assert line("peak bytes", 0, peak_bytes=peak - 1, peak_error_bytes=1).endswith(
        "  no difference: it is accurate to within 1 B"
    )
    assert line("peak bytes", 1, peak_bytes=peak - 2, peak_error_bytes=1).endswith("  differs")
    assert line("frees", 1, frees=totals["frees"] + 1).endswith("  differs")
    assert line("frees", 1, frees=totals["frees"] + 1, peak_error_bytes=9).endswith("  differs")


@pytest.mark.parametrize("tool", ["sqlite3", "python3", "perl"])
def test_a_replay_gives_the_ledger_of_a_real_program_in_at_most_two_bytes_an_event(
    recorder, need, tool
):
    need(tool)
    words = {"sqlite3": [":memory:"], "python3": ["-c", PYTHON], "perl": ["-e", PERL]}[tool]
    program = "/usr/bin/python3" if tool == "python3" else tool
    seen = recorder.record(
        program, *words, options=["--events"], stdin=SQL if tool == "sqlite3" else None
    )
    assert seen.status == 0
    count = check_replay(seen)
    assert count > 10000
    assert log_bytes(seen.folder / "out.seep") <= 2 * count


def test_python_without_its_own_allocator_takes_at_most_two_bytes_an_event(recorder):
    seen = recorder.record(
        "/usr/bin/python3", "-c", PYTHON, options=["--events"], env={"PYTHONMALLOC": "malloc"}
    )
    count = check_replay(seen)
    assert log_bytes(seen.folder / "out.seep") <= 2 * count


@pytest.mark.parametrize("threads", [1, 8])
def test_random_work_takes_at_most_six_bytes_an_event_and_its_replay_is_the_truth(
    compiler, recorder, threads
):
    seen = recorder.record(
        compiler.build("random_trace.c"), 5, threads, 60000 // threads, options=["--events"]
    )
    assert seen.status == 0
    count = check_replay(seen)
    assert log_bytes(seen.folder / "out.seep") <= 6 * count
    told, totals = seen.truth.total, seen.profile.totals
    assert (told["allocs"], told["frees"], told["live_bytes"]) == tuple(
        seen.profile.own(compiler.build("random_trace.c"))[k]
        for k in ("allocations", "frees", "live_bytes")
    ), totals


def test_each_form_of_realloc_is_in_the_log(compiler, recorder):
    seen = recorder.record(compiler.build("realloc_forms.c"), options=["--events"])
    check_replay(seen)
    words = {line["what"] for line in rows(seen.folder / "out.seep")}
    assert {"alloc", "free", "realloc-from", "realloc-to", "realloc-failed"} <= words


def test_pools_and_their_arenas_are_replayed(compiler, recorder):
    seen = recorder.record(compiler.build("pools.c"), options=["--events"])
    assert "differs" not in ask("events", "--totals", seen.folder / "out.seep").stdout
    assert any(line["kind"] == "pool" for line in rows(seen.folder / "out.seep"))


def test_threads_begin_have_names_and_end(compiler, recorder):
    file = (
        recorder.record(compiler.build("named_threads.c"), options=["--events"]).folder / "out.seep"
    )
    told = [
        (row["tid"], row["what"], row["stack"])
        for row in rows(file)
        if row["what"].startswith("thread")
    ]
    tids = list(dict.fromkeys(tid for tid, _, _ in told))
    assert len(tids) == 3
    for tid, names in zip(tids, (["named_threads"], ["first", "renamed"], ["second", "renamed"])):
        assert [stack for t, what, stack in told if t == tid and what == "thread-name"] == names
        assert [what for t, what, _ in told if t == tid and what != "thread-name"] == [
            "thread",
            "thread-end",
        ]


def test_libraries_that_are_loaded_are_told(compiler, recorder):
    """Also those that are on no stack."""
    seen = recorder.record(compiler.build("passing_library.c"), options=["--events"])
    modules = [row["stack"] for row in rows(seen.folder / "out.seep") if row["what"] == "module"]
    assert seen.status == 0 and len(modules) == len(set(modules))
    for name in ("libz.so", "libm.so", "passing_library"):
        assert any(name in module for module in modules), modules


def test_mappings_are_replayed(compiler, recorder):
    seen = recorder.record(
        "/usr/bin/python3",
        "-c",
        "import mmap\nm = [mmap.mmap(-1, 40960) for _ in range(9)]\nm[3].close()",
        options=["--events"],
    )
    found = ask("events", "--totals", seen.folder / "out.seep").stdout
    assert "differs" not in found
    assert re.search(r"mmap calls +(\S+)", found).group(1) == str(
        sum(line["what"] == "mmap" for line in rows(seen.folder / "out.seep"))
    )


def test_a_forked_child_that_is_followed_has_a_log_of_its_own(compiler, recorder):
    seen = recorder.record(
        compiler.build("steps.c"), "+red:50:10", "fork", "+green:5:64", "-green:2",
        options=["--events", "--follow=all"],
    )
    child = next(f for f in seen.files() if f.name != "out.seep")
    made = [line for line in rows(child) if line["size"] == "64"]
    assert [line["what"] for line in made] == ["alloc"] * 5 + ["free"] * 2
    assert "forked" in ask("events", "--totals", child).stdout
    assert [line["what"] for line in rows(seen.folder / "out.seep") if line["size"] == "64"] == []
