# SPDX-License-Identifier: MIT
"""Heaps of random shape: what is lost follows from the graph that the program tells, by the rules as the manual states them."""
import pytest

from leaks import (BUILDS, build_for, check_verdicts, leaks_json, memcheck_reports, memcheck_verdicts, seep_verdicts, told_verdicts, waiting)

MAKERS = [f"maker_{i}" for i in range(4)]


class Graph:
    """Blocks by number, pointers between them as (to, is it to the start)."""

    def __init__(self, lines):
        self.blocks, links, self.roots = {}, {}, []
        for word, *rest in lines:
            if word == "block":
                self.blocks[int(rest[0])] = (int(rest[1]), rest[2], int(rest[3]))
            elif word == "link":
                source, at, to, offset = map(int, rest)
                links[source, at] = (to, offset == 0)
            elif word == "hold":
                self.roots.append((int(rest[0]), int(rest[1]) == 0))
            else:
                del self.blocks[int(rest[0])]
        self.links = {number: [] for number in self.blocks}
        for (source, _), (to, start) in links.items():
            if source in self.blocks and to in self.blocks and source != to:
                self.links[source].append((to, start))
        self.roots = [r for r in self.roots if r[0] in self.blocks]

    def reached(self, first, allowed):
        """All that can be reached from some of them, over the links that are allowed."""
        seen, todo = set(), [to for to, start in first if allowed(to, start)]
        while todo:
            number = todo.pop()
            if number not in seen:
                seen.add(number)
                todo += [to for to, start in self.links[number] if allowed(to, start)]
        return seen

    def classes(self):
        """{class: numbers}.  A lost block is definitely so when only those that it reaches itself reach it, and of such a ring the
        one with the lowest address."""
        reachable = self.reached(self.roots, lambda to, start: start)
        possible = self.reached(self.roots, lambda to, start: True) - reachable
        lost = set(self.blocks) - reachable - possible
        below = {n: self.reached(self.links[n], lambda to, start: to in lost) for n in lost}
        above = {n: {m for m in lost if n in below[m]} for n in lost}
        ring = {n: above[n] & below[n] | {n} for n in lost}
        heads = {n for n in lost if above[n] <= ring[n] and n == min(ring[n], key=lambda m: self.blocks[m][0])}
        return {"reachable": reachable, "possible": possible, "definite": heads, "indirect": lost - heads}

    def truth(self):
        """As programs tell it."""
        sums = {}
        for kind, numbers in self.classes().items():
            for number in numbers:
                _, function, size = self.blocks[number]
                old = sums.setdefault(function, {}).get(kind, (0, 0))
                sums[function][kind] = (old[0] + size, old[1] + 1)
        return sums


def program(compiler):
    return build_for("seep", compiler, "leak_random.c", BUILDS[0])


@pytest.mark.parametrize("seed", range(1, 13))
def test_random_heaps(compiler, recorder, seed):
    done = recorder.record(program(compiler), seed, 40 * seed)
    check_verdicts("seep", seep_verdicts(done.folder / "out.seep", MAKERS), Graph(done.truth.graph).truth())


@pytest.mark.parametrize("seed", range(21, 25))
def test_random_heaps_of_running_programs(compiler, recorder, seed):
    with waiting(recorder, program(compiler), seed, 200) as (it, pid, _):
        found = told_verdicts(leaks_json(pid), MAKERS)
        done = it.finish()
    check_verdicts("seep", found, Graph(done.truth.graph).truth())


@pytest.mark.parametrize("seed", range(1, 7))
def test_memcheck_has_the_same_rules(compiler, recorder, need, seed):
    need("valgrind")
    done, (report,) = memcheck_reports(recorder, program(compiler), seed, 40 * seed)
    check_verdicts("memcheck", memcheck_verdicts(report, MAKERS), Graph(done.truth.graph).truth())
