# SPDX-License-Identifier: MIT
"""loops.py -- tight loops that time themselves: one thread, several threads, very many events, a
large heap."""
from harness import place
from .workload import Command, Workload

PAIRS = 40_000_000
PRIVATE_PAIRS = 24_000_000   # of all threads together
HANDOVER_PAIRS = 8_000_000
MANY_EVENTS = 200_000_000
BIG_HEAP_BLOCKS = 1_000_000
BIG_HEAP_REPLACEMENTS = 4_000_000
CFRAC_STEPS, CFRAC_SHORT_STEPS = 600_000, 300_000
ESPRESSO_ROUNDS, ESPRESSO_SHORT_ROUNDS = 5_000, 2_500
SERVER_EVENTS = 6_000_000    # mallocs of all threads together
PLAIN = ("seep-nosearch", "seep-sample", "seep-events")  # say nothing new about a loop


def _loop(depth, sites):
    def command(scale):
        pairs = int(PAIRS * scale)
        return Command([place.program("loop"), str(depth), str(sites), str(pairs)], amount=pairs)
    where = "one site" if sites == 1 else "two sites in turn"
    return Workload(
        f"loop-d{depth}-s{sites}",
        f"malloc+free of 64 bytes, {where}, {depth} frames deep",
        command,
        metric="ns_per_pair",
        without=PLAIN,
    )


def _threads(mode, threads):
    total = PRIVATE_PAIRS if mode == "private" else HANDOVER_PAIRS

    def command(scale):
        pairs = int(total * scale / threads)
        return Command(
            [place.program("threads"), mode, str(threads), str(pairs)], amount=2 * pairs * threads
        )
    does = (
        "each frees its own blocks"
        if mode == "private"
        else "each hands its blocks to the next, which frees them"
    )
    return Workload(
        f"threads-{mode}-{threads}",
        f"threads: {threads}; {does}",
        command,
        metric="ns_per_event",
        slow_scale=0.1 if mode == "private" else 0.02,
        without=PLAIN,
    )


SERVERS = {"larson": "each has a thousand blocks and replaces them at random; they change hands",
           "xmalloc": "batches of blocks, freed by whichever thread comes first",
           "mstress": "objects of all sizes with long and short lives, some of them exchanged"}


def _server(mode, threads):
    def command(scale):
        events = int(SERVER_EVENTS * scale / threads)
        return Command(
            [place.program("servers"), mode, str(threads), str(events)], amount=2 * events * threads
        )
    return Workload(
        f"{mode}-{threads}",
        f"threads: {threads}; {SERVERS[mode]}",
        command,
        metric="ns_per_event",
        slow_scale=0.05,
    )


def _whole(name, about, number, short):
    def command(amount):
        return lambda _scale: Command([place.program(name), str(amount)])
    return [
        Workload(name, about, command(number)),
        Workload(f"{name}-short", f"{about}; half of it", command(short)),
    ]


def _many_events(scale):
    events = int(MANY_EVENTS * scale)
    return Command([place.program("many_events"), str(events)], amount=events)


def _big_heap(scale):
    replacements = int(BIG_HEAP_REPLACEMENTS * scale)
    return Command([place.program("big_heap"), str(BIG_HEAP_BLOCKS), str(replacements)],
                   amount=2 * replacements + BIG_HEAP_BLOCKS)


WORKLOADS = [
    _loop(10, 1),
    _loop(10, 2),
    _loop(60, 1),
    _loop(60, 2),
    _threads("private", 1),
    _threads("private", 2),
    _threads("private", 4),
    _threads("handover", 2),
    _threads("handover", 4),
    Workload(
        "big_heap",
        f"{BIG_HEAP_BLOCKS} live blocks, replaced at random",
        _big_heap,
        metric="ns_per_event",
        slow_scale=0.25,
        wall_limit=2.0,
    ),
    *_whole("cfrac", "large numbers, made and thrown away", CFRAC_STEPS, CFRAC_SHORT_STEPS),
    *_whole(
        "espresso", "covers of bit vectors, sorted and merged", ESPRESSO_ROUNDS,
        ESPRESSO_SHORT_ROUNDS,
    ),
    *(_server(mode, threads) for mode in SERVERS for threads in (1, 2, 4)),
    Workload(
        "many_events",
        f"{MANY_EVENTS} events in a small heap",
        _many_events,
        metric="ns_per_event",
        without=("empty", "heaptrack", *PLAIN),
        once=True,
    ),
]
