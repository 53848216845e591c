# SPDX-License-Identifier: MIT
"""`seep leaks` and the summary: what the program lost is told with class, amount, growth, type,
stack and first bytes."""
import json
import os
import re
import signal
import subprocess

import pytest

from harness import DEADLINE, SEEP, ask, clean_environment, end_process, run, wait_until
from leaks import LOST, leaks_json, told_verdicts
from plain import child_of, start_recorded

CASES = ("baskets", "receipts", "shelf", "stock", "worker", "mismatch", "deep")
TEXTS = {
    "definite": "definitely lost",
    "indirect": "indirectly lost",
    "possible": "possibly lost",
    "reachable": "still reachable",
}
EACH = "--show=definite,indirect,possible"
ENTRY = re.compile(r"^ *\d+\. (.+?) in ([\d,]+) blocks? (definitely lost|indirectly lost|possibly "
                   r"lost|still reachable)", re.M)


@pytest.fixture(scope="module")
def program(compiler):
    return compiler.build("losses.cpp")


@pytest.fixture(scope="module")
def recording(program, tmp_path_factory):
    from harness import Recorder
    return Recorder(tmp_path_factory.mktemp("losses")).record(program, *CASES)


@pytest.fixture
def record(recorder, program):
    return lambda *cases, **how: recorder.record(program, *cases, **how)


def leaks(*words, cwd=None):
    return ask("leaks", *words, status=None, cwd=cwd)


def file_of(recording):
    return recording.folder / "out.seep"


def size(bytes_):
    return f"{bytes_} B" if bytes_ < 1024 else f"{bytes_ / 1024:.1f} KiB"


def entries(text):
    """(class, size, blocks, the function on the first line of the stack) of each entry."""
    parts = re.split(r"\n\n", text)
    found = []
    for part in parts:
        head = ENTRY.search(part)
        if head:
            stack = [line for line in part.splitlines() if line.startswith("        ")]
            found.append(
                (
                    head[3],
                    head[1],
                    int(head[2].replace(",", "")),
                    re.split(r"[(\[ ]", stack[0].strip())[0],
                )
            )
    return found


# ---- the report ----

def test_every_function_is_told_with_class_and_amount(recording):
    done = leaks(EACH, file_of(recording))
    assert done.returncode == 1, done.stderr
    told = {}
    for kind, amount, blocks, function in entries(done.stdout):
        told.setdefault((function, kind), []).append((amount, blocks))
    for function, kinds in recording.truth.leaks.items():
        for kind, (amount, blocks) in kinds.items():
            if kind not in LOST:
                assert (function, TEXTS[kind]) not in told
            else:  # shop::new_item is called from two lines: one place
                assert told[function, TEXTS[kind]] == [(size(amount), blocks)]


def test_the_head_has_the_sums(recording):
    text = leaks(file_of(recording)).stdout
    for kind in LOST:
        amount, blocks = (
            sum(of.get(kind, (0, 0))[i] for of in recording.truth.leaks.values()) for i in (0, 1)
        )
        assert re.search(
            rf"^  {TEXTS[kind]} +{re.escape(size(amount))} in {blocks} blocks?\b", text, re.M
        ), text
    assert re.search(r"^  still reachable .* not an error$", text, re.M)
    assert re.search(
        r"searched for leaks at exit, after [\d.]+ m?s\n  1 thread, .* paused for ", text
    )


def test_a_group_counts_once(recording):
    text = leaks(file_of(recording)).stdout
    assert ("72 B in 3 blocks definitely lost,\n      and 144 B in 6 blocks reachable only through "
            "them\n" in text)


def test_the_class_of_an_object_is_named(recording):
    text = leaks(file_of(recording)).stdout
    part = next(p for p in text.split("\n\n") if "only through them" in p)
    assert "class shop::Basket\n" in part
    told = leaks_json(file_of(recording))
    types = {told["frames"][s["stack"][0]]["function"]: s["type"] for s in told["sites"]}
    assert types["shop::fill_basket(int)"] == "shop::Basket"
    assert types["print_receipt(int)"] is None


def test_order_and_limit(recording):
    def order(*words):
        return [
            (kind, function)
            for kind, _, _, function in entries(leaks(EACH, *words, file_of(recording)).stdout)
        ]

    definite = "definitely lost"
    assert order()[:4] == [
        (definite, f) for f in ("dig", "shop::fill_basket", "print_receipt", "work")
    ]
    assert order("-s", "leaked-blocks")[0] == (definite, "shop::fill_basket")
    assert order("-s", "average")[:2] == [(definite, "dig"), (definite, "work")]
    assert [kind for kind, _ in order()] == 4 * [definite] + ["indirectly lost"] + ["possibly lost"]
    assert order("-n", "2") == order()[:2]
    assert "\n4 more places: -n 0\n" in leaks(EACH, "-n", "2", file_of(recording)).stdout
    assert [kind for kind, *_ in entries(leaks(file_of(recording)).stdout)] == 4 * [definite] + [
        "possibly lost"
    ]


def test_a_place_is_told_once_and_ten_of_them(compiler, recorder):
    """A recursive program reaches a place by many stacks: they are counted.  What hangs on lost
    blocks is told by its sum."""
    done = recorder.record(compiler.build("places.c"), "9")
    text = leaks(file_of(done)).stdout
    told = entries(text)
    assert [function for *_, function in told] == [f"place_{n}" for n in range(11, 1, -1)]
    for kind, amount, blocks, function in told:
        assert (kind, amount, blocks) == (
            "definitely lost",
            size(done.truth.leaks[function]["definite"][0]),
            9,
        )
    assert (
        text.count("      and 8 other stacks lead here (seep leaks -v)\n") == 10
        and "\n2 more places: -n 0\n" in text
    )
    for n in range(2, 12):  # by even and odd; the first of them is in the stack
        by = re.search(
            rf"place_{n} \[.*\n +(even|odd) \[(?:.*\n)*?.*lead here.*\n +(.*) by (even|odd) \[",
            text,
        )
        assert by and {by[1], by[3]} == {"even", "odd"}
        assert by[2] == size((5 if by[3] == "even" else 4) * (1000 + 10 * n))
    lines = re.findall(r"^ +\d\. .* 5 blocks  (place_\d+) .*<- even ", done.stderr.decode(), re.M)
    assert lines == [f"place_{n}" for n in range(11, 6, -1)]
    assert text.count("and 144 B in 9 blocks reachable only through them\n") == 10
    assert (
        "through those (--show indirect)\n" in text and max(map(len, text.splitlines()[1:])) <= 80
    )
    assert len(entries(leaks("-n", "0", file_of(done)).stdout)) == 12
    assert len(entries(leaks("-n", "0", "-v", file_of(done)).stdout)) == 12 * 9
    assert [e[:3] for e in entries(leaks("--show", "indirect", file_of(done)).stdout)][0] == (
        "indirectly lost",
        "1.7 KiB",
        108,
    )
    assert len(leaks_json(file_of(done), show="definite")["sites"]) == 12 * 9


def test_the_stack_of_a_thread_ends_with_its_function(recording):
    text = leaks(file_of(recording)).stdout
    assert re.search(r"^        work\(void\*\) .*\n\n", text, re.M)
    assert "start_thread" not in text and "clone" not in text
    assert b"start_thread" not in recording.stderr


def test_classes_can_be_chosen(recording):
    def classes(show):
        return {
            kind for kind, _, _, _ in entries(leaks(f"--show={show}", file_of(recording)).stdout)
        }

    assert classes("possible") == {"possibly lost"}
    assert classes("definite,possible") == {"definitely lost", "possibly lost"}
    assert classes("all") == set(TEXTS.values())
    assert "fill_stock" in leaks("--show=reachable", file_of(recording)).stdout
    assert (
        leaks("--show=lost", file_of(recording)).returncode
        == leaks("--show=", file_of(recording)).returncode
        == 2
    )


@pytest.mark.parametrize(
    "words,functions",
    [
        (["-i", "receipt"], {"print_receipt"}),
        (["-x", "main|leak_run"], {"work"}),
        (["--thread=worker"], {"work"}),
        (["--module=losses", "-x", "^main$"], {"work"}),
        (["--module=nothing"], set()),
    ],
)
def test_filters(recording, words, functions):
    done = leaks(*words, file_of(recording))
    assert {function for _, _, _, function in entries(done.stdout)} == functions
    assert done.returncode == (1 if functions else 0)
    if not functions:
        assert "no stack matches --module 'nothing'" in done.stderr


def test_blocks_with_their_first_bytes(recording):
    text = leaks("--blocks", "-i", "print_receipt", file_of(recording)).stdout
    blocks = re.findall(r"^0x([0-9a-f]+)  40 B definitely lost\n    by malloc, age .*, thread "
                        r"losses \(\d+\)\n((?:    [0-9a-f]{4}  .*\n)+)", text, re.M)
    assert len(blocks) == 5
    said = set()
    for _, lines in blocks:
        content, shown = b"", ""
        for line in lines.splitlines():
            assert len(line) <= 80
            content += bytes.fromhex(line[10:58])
            shown += line[line.index("|") + 1:-1]
        assert len(content) == 40
        assert shown == "".join(chr(c) if 32 <= c < 127 else "." for c in content)
        said.add(content.split(b"\0")[0].decode())
    assert said == {f"receipt {i:04d}: thank you!" for i in range(1, 6)}


def test_blocks_in_json(recording):
    told = leaks_json("--blocks", file_of(recording), show="definite,indirect")
    blocks = {b["address"]: b for site in told["sites"] for b in site["blocks"]}
    assert len(blocks) == 16
    items = [b for b in blocks.values() if b["leak"] == "indirect"]
    assert {bytes.fromhex(b["content"]).split(b"\0")[0] for b in items} == {b"item 1", b"item 2"}
    for item in items:
        head = blocks[item["head"]]
        assert (head["leak"], head["type"], head["hanging"]) == (
            "definite",
            "shop::Basket",
            {"blocks": 2, "bytes": 48},
        )
        assert int(item["address"], 16).to_bytes(8, "little") in bytes.fromhex(head["content"])


def test_wrong_releases_come_with_both_stacks(recording):
    text = leaks(file_of(recording)).stdout
    assert re.search(r"memory of new\[\] freed by free or realloc.*, 60 B\n  freed by\n    "
                     r"throw_away\(void\*\) .*\n"
                     r"(?:    .*\n)+  allocated by\n    make_array\(\) ", text)
    (error,) = leaks_json(file_of(recording))["errors"]
    assert error["type"] == "mismatched"


def test_json_of_leaks_and_report_agree(recording):
    truth = recording.truth.leaks
    for told in (leaks_json(file_of(recording)), recording.profile.json):
        verdicts = told_verdicts(told, truth)
        assert {f: verdicts[f] for f in truth} == truth
        assert told["leaks"]["scan"]["when"] == "exit" and told["leaks"]["scan"]["threads"] == 1
        for site in told["sites"]:
            for what in ("blocks", "bytes"):
                assert (
                    site[f"leaked_{what}"]
                    == site["leak"]["definite"][what] + site["leak"]["indirect"][what]
                )
        for kind in TEXTS:
            assert told["leaks"][kind]["bytes"] == sum(
                s["leak"][kind]["bytes"] for s in told["sites"]
            )


def test_leaks_of_a_filtered_report_are_those_of_the_whole_run(recording):
    done = subprocess.run(
        [SEEP, "report", "--json", "-i", "print_receipt", file_of(recording)],
        capture_output=True,
        env=clean_environment(),
        timeout=DEADLINE,
    )
    told = json.loads(done.stdout)
    assert told["leaks"] == recording.profile.json["leaks"]
    assert [(s["leaked_blocks"], s["leaked_bytes"]) for s in told["sites"]] == [(5, 200)]


def test_report_orders_by_leaks(recording):
    done = subprocess.run(
        [SEEP, "report", "-s", "leaked-bytes", "-i", "^main$", file_of(recording)],
        capture_output=True,
        text=True,
        env=clean_environment(),
        timeout=DEADLINE,
    )
    assert re.findall(r"^ +\d+\. +(.+?) +lost, by", done.stdout, re.M) == [
        "900 B", "200 B", "72 B", "72 B", "72 B",
    ]


# ---- when it is fine, and when it cannot be known ----

def test_status_of_a_program_that_loses_nothing(record):
    done = record("stock")
    shown = leaks(file_of(done))
    assert (shown.returncode, entries(shown.stdout)) == (0, [])
    assert "NO LEAKS, NOT FREED: " in done.stderr.decode()


def test_possibly_lost_is_no_finding(record):
    shown = leaks(file_of(record("shelf")))
    assert shown.returncode == 0 and [e[0] for e in entries(shown.stdout)] == ["possibly lost"]


def test_a_wrong_release_is_a_finding(record):
    shown = leaks(file_of(record("mismatch")))
    assert (
        shown.returncode == 1
        and re.search(r"^  invalid frees +1$", shown.stdout, re.M)
        and not entries(shown.stdout)
    )


def test_without_a_search(record):
    done = record("receipts", options=["--no-leak-scan"])
    shown = leaks(file_of(done))
    assert (
        shown.returncode == 3
        and "was not searched for leaks:\nit was recorded with --no-leak-scan" in shown.stdout
    )
    assert "not searched for leaks: it was recorded with --no-leak-scan" in done.stderr.decode()
    asked = leaks("--json", file_of(done))
    told = json.loads(asked.stdout)
    assert (
        asked.returncode == 3
        and told["leaks"]["scanned"] is False
        and "--no-leak-scan" in told["leaks"]["reason"]
    )
    sorted_ = subprocess.run(
        [SEEP, "report", "-s", "leaked-bytes", file_of(done)],
        capture_output=True,
        text=True,
        env=clean_environment(),
        timeout=DEADLINE,
    )
    assert sorted_.returncode == 2 and "not searched" in sorted_.stderr


@pytest.mark.parametrize(
    "words,status,told",
    [
        (["nothing.seep"], 4, "nothing.seep"),
        (["--every=1s", "{file}"], 2, "for a running process"),
        (["--unaligned", "{file}"], 2, "for a running process"),
        (["--every=nothing", "1"], 2, "needs a time"),
        (["--gen-suppressions", "--json", "{file}"], 2, "cannot be combined"),
        (["--sort=nothing", "{file}"], 2, "leaked-bytes"),
        (["{file}", "{file}"], 2, "one recording or process at a time"),
        (["99999999999"], 2, "neither a file nor a process id"),
    ],
)
def test_wrong_use(recording, words, status, told):
    done = leaks(*(w.format(file=file_of(recording)) for w in words))
    assert (done.returncode, done.stdout) == (status, "") and told in done.stderr, done.stderr
    assert all(line.startswith("seep: ") for line in done.stderr.splitlines())


def test_digits_that_name_a_file_are_a_file(recording, tmp_path):
    (tmp_path / "4711").write_bytes(file_of(recording).read_bytes())
    assert leaks("4711", cwd=tmp_path).returncode == 1


def test_a_process_that_is_not_recorded():
    done = leaks(os.getpid())
    assert (
        done.returncode in (0, 1) and "was not recorded, so there are no call stacks" in done.stderr
    ), done.stderr


# ---- the summary ----

def test_the_summary_has_invalid_frees_first_and_then_leaks(recording):
    text = recording.stderr.decode()
    assert re.search(r"\n  LEAKS: 1\.2 KiB in 10 blocks definitely lost, 144 B indirectly "
                     r"lost\n    1\. +900 B +1 block +dig losses\.cpp", text)
    assert "\n  possibly lost 500 B in 1 block\n  still reachable " in text
    assert (
        text.index("ERRORS: ") < text.index("LEAKS: ") < text.index("next: seep report --errors ")
    )
    assert re.search(r"\n\n  ERRORS: .*\n    1\. +\S.*: .*losses\.cpp:\d+.*\n  LEAKS: ", text), text
    assert len(text.splitlines()) <= 24 and all(
        len(line) <= 80 for line in text.splitlines() if "seep " not in line
    )


# ---- a process ----

class Shop:
    """The program under the tool, obeying."""

    def __init__(self, folder, program, *cases):
        self.it = start_recorded(folder, program, *cases, "obey")
        self.it.said(b"ready\n")
        self.pid, self.count = child_of(self.it), 0

    def lose(self, size_):
        self.it.say(b"lose %d\n" % size_)
        self.count += 1
        self.it.said(b"done\n", self.count)

    def end(self):
        self.it.say(b"end\n")


@pytest.fixture
def shop(recorder, program):
    made = Shop(recorder.folder(), program, "receipts")
    with made.it:
        yield made


def definite(told):
    return told["leaks"]["definite"]["blocks"], told["leaks"]["definite"]["bytes"]


def test_what_hangs_on_a_leak_is_told_however_long_the_names_are(compiler, tmp_path):
    """It decides the order: without it the summary lists 32 B before 20 KiB."""
    file, program = tmp_path / "run.seep", compiler.build("hangs.cpp")
    assert run([SEEP, "record", "-q", "-o", file, program], cwd=tmp_path).status == 0
    text = run([SEEP, "report", "--summary", file], cwd=tmp_path).stdout.decode()
    [first, second] = re.findall(r"^ +\d\. .*", text, re.M)
    assert re.fullmatch(r" +1\. +32 B +1 block +\S*put_up_a_shelf hangs\.cpp:\d+.* "
                        r"\(\+40\.0 KiB\)", first), text
    assert re.match(r" +2\. +20\.0 KiB +20 blocks +\S*write_a_delivery_note hangs\.cpp:\d+",
                    second), text
    assert max(len(first), len(second)) <= 80, text


def test_only_what_is_new(shop):
    assert definite(leaks_json(shop.pid)) == (5, 200)
    shop.lose(1001)
    assert definite(leaks_json("--new", shop.pid)) == (1, 1001)
    assert definite(leaks_json("--new", shop.pid)) == (0, 0)
    shop.lose(1003)
    shop.lose(1003)
    assert definite(leaks_json(shop.pid)) == (8, 3207)
    shown = leaks("--new", shop.pid)
    assert shown.returncode == 0 and not entries(shown.stdout)


def test_the_number_of_seep_stands_for_its_program(shop):
    told = leaks_json(shop.it.process.pid)
    assert (told["pid"], definite(told)) == (shop.pid, (5, 200))
    assert told["leaks"]["scan"]["when"] == "asked"


class Watch:
    """`seep leaks --every` beside the program."""

    def __init__(self, folder, *words):
        self.out, self.err = folder / "watch.out", folder / "watch.err"
        self.process = subprocess.Popen(
            [SEEP, "leaks", *map(str, words)],
            env=clean_environment(),
            stdout=open(self.out, "wb"),
            stderr=open(self.err, "wb"),
            start_new_session=True,
        )

    def said(self, pattern, times=1):
        wait_until(
            lambda: len(re.findall(pattern, self.out.read_text(), re.M)) >= times,
            pattern,
            process=self.process,
        )


def test_again_and_again_until_the_process_ends(shop, tmp_path):
    watch = Watch(tmp_path, "--every=100ms", shop.pid)
    try:
        watch.said(r"200 B in 5 blocks definitely lost")
        watch.said(r"^[\d.]+ m?s: nothing new is lost \(paused for ")
        for turn, amount in enumerate((501, 502, 503), 1):
            shop.lose(amount)
            watch.said(rf"{amount} B in 1 block definitely lost")
            watch.said(r"was searched for leaks", turn + 1)
        shop.end()
        assert watch.process.wait(DEADLINE) == 1
    finally:
        end_process(watch.process)
    text = watch.out.read_text()
    assert re.fullmatch(r"(seep: .* functions have no name, .*\n)?", watch.err.read_text())
    assert [e[1:3] for e in entries(text)] == [
        ("200 B", 5),
        ("501 B", 1),
        ("502 B", 1),
        ("503 B", 1),
    ]


def test_again_and_again_until_interrupted(shop, tmp_path):
    watch = Watch(tmp_path, "--every=50s", "--new", shop.pid)
    try:
        watch.said(r"200 B in 5 blocks definitely lost")
        watch.process.send_signal(signal.SIGINT)
        assert watch.process.wait(DEADLINE) == 1
    finally:
        end_process(watch.process)


def test_the_tree_of_leaks_has_the_sums_of_leaks(recording):
    seen = recording
    sums = seen.profile.json["leaks"]
    lost = sum(sums[kind]["bytes"] for kind in ("definite", "indirect"))
    tree = run(
        [SEEP, "report", "--cost=leaked", seen.folder / "out.seep"], cwd=seen.folder
    ).stdout.decode()
    assert lost and tree.splitlines()[0] == f"leaked: {lost:,}B"
    shares = re.findall(r"^  -> [\d.]+% \(([\d,]+)B", tree, re.M)
    assert sum(int(s.replace(",", "")) for s in shares) == lost
    flat = run(
        [SEEP, "report", "--cost=leaked", "--flat", seen.folder / "out.seep"], cwd=seen.folder
    ).stdout.decode()
    assert re.search(r"^   1\. .* lost, by ", flat, re.M), flat
    wrong = run(
        [SEEP, "report", "--cost=leaked", "--at=peak", seen.folder / "out.seep"], cwd=seen.folder
    )
    assert wrong.status == 2 and b"of the whole run" in wrong.stderr
