# SPDX-License-Identifier: MIT
"""Heaps of random shape: what is lost follows from the graph that the program tells, by the
rules as the manual states them."""
import pytest

from leaks import (
    BUILDS, build_for, check_verdicts, leaks_json, memcheck_reports, memcheck_verdicts,
    seep_verdicts, told_verdicts, waiting,
)

MAKERS = [f"maker_{i}" for i in range(4)]


class Graph:
    """Blocks by number, pointers between them as (to, is it to the start)."""

    def __init__(self, lines):
        self.blocks, links, self.roots = {}, {}, []
        self.places = []  # functions, in the order in which they allocated first
        for word, *rest in lines:
            if word == "block":
                self.blocks[int(rest[0])] = (int(rest[1]), rest[2], int(rest[3]))
                if rest[2] not in self.places:
                    self.places.append(rest[2])
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
        seen, todo = set(), [to for to, start in first if allowed(start)]
        while todo:
            number = todo.pop()
            if number not in seen:
                seen.add(number)
                todo += [to for to, start in self.links[number] if allowed(start)]
        return seen

    def groups(self, lost):
        """{head: all of its group}.  In the order of addresses each lost block that does not hang
        on another yet takes what it reaches; a head that is pointed to later hangs on that, too.
        (So a ring that is entered beside its head keeps that: Memcheck's way.)"""
        above = {}
        for head in sorted(lost, key=self.address):
            todo = [head] if head not in above else []
            while todo:
                for to in {to for to, _ in self.links[todo.pop()] if to in lost and to != head}:
                    if to not in above:
                        above[to] = head
                        todo.append(to)
        found = {}
        for number in lost:
            head = number
            while head in above:
                head = above[head]
            found.setdefault(head, set()).add(number)
        return found

    def address(self, number):
        return self.blocks[number][0]

    def first_of_ring(self, head, group):
        """The block that stands for a ring: of those that lead back to its head, the one whose
        place allocated first; the head, if none was before that."""
        def order(number):
            return self.places.index(self.blocks[number][1])

        ring = [n for n in group if head in self.reached(self.links[n], lambda start: True)]
        before = [n for n in ring if order(n) < order(head)]
        return min(before, key=lambda n: (order(n), self.address(n))) if before else head

    def classes(self, by_address):
        """{class: numbers}.  BY_ADDRESS: the first block of a ring stands for it, as Memcheck has
        it."""
        reachable = self.reached(self.roots, lambda start: start)
        possible = self.reached(self.roots, lambda start: True) - reachable
        lost = set(self.blocks) - reachable - possible
        groups = self.groups(lost)
        definite = {
            head if by_address else self.first_of_ring(head, group)
            for head, group in groups.items()
        }
        return {
            "reachable": reachable,
            "possible": possible,
            "definite": definite,
            "indirect": lost - definite,
        }

    def truth(self, by_address=False):
        """As programs tell it."""
        sums = {}
        for kind, numbers in self.classes(by_address).items():
            for number in numbers:
                _, function, size = self.blocks[number]
                old = sums.setdefault(function, {}).get(kind, (0, 0))
                sums[function][kind] = (old[0] + size, old[1] + 1)
        return sums


def program(compiler):
    return build_for("seep", compiler, "leak_random.c", BUILDS[0])


# The last two have a ring that is entered beside its head.
HEAPS = [*((seed, 40 * seed) for seed in range(1, 13)), (128, 660), (130, 670)]


@pytest.mark.parametrize("seed,count", HEAPS)
def test_random_heaps(compiler, recorder, seed, count):
    done = recorder.record(program(compiler), seed, count)
    check_verdicts(
        "seep", seep_verdicts(done.folder / "out.seep", MAKERS), Graph(done.truth.graph).truth()
    )


@pytest.mark.parametrize("seed", range(21, 25))
def test_random_heaps_of_running_programs(compiler, recorder, seed):
    with waiting(recorder, program(compiler), seed, 200) as (it, pid, _):
        found = told_verdicts(leaks_json(pid), MAKERS)
        done = it.finish()
    check_verdicts("seep", found, Graph(done.truth.graph).truth())


@pytest.mark.parametrize("seed,count", HEAPS[::2])
def test_memcheck_has_the_same_rules(compiler, recorder, need, seed, count):
    need("valgrind")
    done, (report,) = memcheck_reports(recorder, program(compiler), seed, count)
    check_verdicts(
        "memcheck",
        memcheck_verdicts(report, MAKERS),
        Graph(done.truth.graph).truth(by_address=True),
    )
