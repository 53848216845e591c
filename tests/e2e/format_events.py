#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""format_events.py -- a reader of the event log in `.seep` files, written from section 8 of
docs/FORMAT.md alone.

usage: format_events.py FILE     prints one event a line
"""
import subprocess
import sys
from collections import namedtuple

import format_reader
from format_reader import MASK, Body, need

EVENTS, EVENT_SITES = 64, 65
TYPES = """none alloc free take move put_back map unmap unmap_failed bad_free acquire release mark
    thread thread_end module
    carve thread_name""".split()
COLUMNS = "op thread site size address depth block caller plain".split()
ENDS = ("open", "done", "full", "failed")
ALLOC, FREE, TAKE, MOVE, PUT_BACK = 1, 2, 3, 4, 5
MIX, HALF = 0x9e3779b1, (1 << 32) - 1

Event = namedtuple("Event", "type kind thread site ms address size")


def unpack(stored, length):
    if len(stored) == length:
        return stored
    done = subprocess.run(["zstd", "-dcq"], input=stored, capture_output=True, check=False)
    need(
        done.returncode == 0 and len(done.stdout) == length,
        "a column does not unpack to its length",
    )
    return done.stdout


def mixed(number):
    return (number * MIX & HALF) >> 16


def chunk(size):
    return 32 if size < 24 else (size + 23) & ~15


def size_class(size):
    number = chunk(size) // 16
    return number if number < 64 else 64 + (((number & HALF) * MIX & HALF) >> 26)


class Lane:
    """What is remembered of the threads with one number modulo 64."""

    def __init__(self):
        self.cursor = self.last = 0
        self.history = (0, 0)  # of the last event but one, and of the last
        self.taken = self.taken_by = None
        self.freed = {}

    def give(self, size, address):
        kept = self.freed.setdefault(size_class(size), [])
        kept.append(address)
        del kept[:-16]

    def remember(self, number):
        self.history = self.history[1], mixed(number & HALF)


class Log:
    """`events`, in order and with ids of the profile; `first`, `end`."""

    def __init__(self, data):
        recording = format_reader.Recording(data)
        self.events, self.end, self.first = [], "open", 0
        self.sites = self.nodes = None
        self.order, self.room = [], 4096
        self.lanes = [Lane() for _ in range(64)]
        self.site_last, self.node_last, self.plain_last = {}, {}, {}
        self.after_two, self.after_one = {}, {}
        self.thread = self.ms = 0
        for section in recording.sections:
            start = section["offset"] + 32
            stored = data[start:start + section["stored_bytes"]]
            if section["type"] == EVENTS:
                self.read_batch(Body(stored))
            elif section["type"] == EVENT_SITES:
                flags = int.from_bytes(data[start - 26:start - 24], "little")
                self.read_ids(Body(format_reader.unpack(stored, section["raw_bytes"], flags)))
        self.events = [self.translated(event) for event in self.events]

    def read_ids(self, body):
        lists = []
        for _ in range(2):
            value, ids = 0, []
            for _ in range(body.varint()):
                value += body.difference()
                ids.append(value)
            lists.append(ids)
        self.sites, self.nodes = lists
        self.first = body.varint()

    def translated(self, event):
        ids = self.nodes if TYPES[event.type] in ("free", "take", "bad_free") else self.sites
        return event._replace(site=ids[event.site] if event.site < len(ids) else 0)

    def read_batch(self, body):
        first, count, end = body.varint(), body.varint(), body.varint()
        need(
            first == len(self.events) and count <= 65536 and self.end == "open",
            "a batch is not the next one",
        )
        self.columns = {}
        for name in COLUMNS:
            length, stored = body.varint(), body.varint()
            self.columns[name] = Body(unpack(body.take(stored), length))
        need(body.at == len(body.data), "bytes left over in a batch")
        while len(self.events) < first + count:
            self.read_op(self.columns["op"].take(1)[0])
        for name, column in self.columns.items():
            need(column.at == len(column.data), f"bytes left over in column {name}")
        self.end = ENDS[end]

    def read_op(self, op):
        lane = self.lanes[self.thread % 64]
        if op == 0x0c:
            self.thread = self.columns["thread"].varint()
            self.ms += self.columns["thread"].difference()
        elif op == 0x2c:
            self.order[len(self.order) - 1 - self.columns["block"].varint()][4] = False
        elif op == 0x1c:
            self.read_plain(lane)
        elif op & 1:
            self.read_free(lane, op)
        else:
            self.read_alloc(lane, op)

    def add(self, *fields):
        kind, number, site, address, size = fields
        self.events.append(Event(kind, number, self.thread, site, self.ms, address, size))

    def make_room(self):
        if len(self.order) < self.room:
            return
        self.order = [block for block in self.order if block[4]]
        for lane in self.lanes:
            lane.last = len(self.order)
        while self.room < 2 * len(self.order):
            self.room *= 2

    def read_plain(self, lane):
        column = self.columns["plain"]
        kind, number, site = column.varint(), column.varint(), column.varint()
        address, size = self.plain_last.get(kind, (0, 0))
        address, size = (address + column.difference()) & MASK, (size + column.difference()) & MASK
        self.plain_last[kind] = address, size
        self.make_room()
        if kind == PUT_BACK and lane.taken and lane.taken_by == self.thread:
            self.order.append([*lane.taken[:4], True])
            lane.taken = None
        self.add(kind, number, site, address, size)

    def read_alloc(self, lane, op):
        kind, (before, last) = (MOVE if op & 2 else ALLOC), lane.history
        two = mixed(before << 16 | last)
        source = op >> 2 & 3
        site = (
            self.after_two.get(two, 0)
            if source == 0
            else self.after_one.get(last, 0)
            if source == 1
            else self.columns["site"].varint()
        )
        size, number = self.site_last.get(site % (1 << 17), (0, 0))
        if op & 16:
            size, number = self.columns["size"].varint(), self.columns["size"].varint()
        address = self.read_address(lane, op >> 5, size)
        self.make_room()
        self.site_last[site % (1 << 17)] = size, number
        self.after_two[two] = self.after_one[last] = site
        lane.remember(site)
        if kind == MOVE and lane.taken:
            if lane.taken[0] != address:
                lane.give(lane.taken[1], lane.taken[0])
            lane.taken = None
        self.order.append([address, size, site, number, True])
        self.add(kind, number, site, address, size)

    def read_address(self, lane, source, size):
        if source == 5:
            return lane.taken[0]
        if source in (0, 2):
            depth = self.columns["depth"].varint() if source == 2 else 0
            return lane.freed[size_class(size)].pop(-1 - depth)
        need(source in (1, 3, 4), "unknown place of an address")
        distance = (
            0 if source == 1 else self.columns["address"].difference() * (16 if source == 3 else 1)
        )
        address = (lane.cursor + distance) & MASK
        lane.cursor = (address + chunk(size)) & MASK
        return address

    def near(self, place, step):
        for _ in range(8):
            place += step
            need(0 <= place < len(self.order), "no neighbour")
            if self.order[place][4]:
                return place
        raise format_reader.Broken("no neighbour near")

    def read_free(self, lane, op):
        kind, source = (TAKE if op & 2 else FREE), op >> 2 & 3
        place = (
            len(self.order) - 1 - self.columns["block"].varint()
            if source == 0
            else self.near(lane.last, 1)
            if source == 1
            else self.near(lane.last, -1)
            if source == 2
            else lane.last + self.columns["block"].difference()
        )
        address, size, site, number, live = block = self.order[place]
        need(live, "a dead block is freed")
        caller, node = self.node_last.get(site % (1 << 17), (0, 0))
        kind_number = number
        if op & 16:
            caller = (caller + self.columns["caller"].difference()) & MASK
            node, kind_number = self.columns["caller"].varint(), self.columns["caller"].varint()
        self.node_last[site % (1 << 17)] = caller, node
        lane.last = place
        lane.remember(site + 0x10001)
        if kind == TAKE:
            lane.taken, lane.taken_by = list(block), self.thread
        else:
            lane.give(size, address)
        block[4] = False
        self.add(kind, kind_number, node, address, caller)


def read(path):
    with open(path, "rb") as file:
        return Log(file.read())


if __name__ == "__main__":
    log = read(sys.argv[1])
    for one in log.events:
        print(
            TYPES[one.type],
            one.kind,
            f"thread {one.thread} at {one.ms} ms, site {one.site}: {one.address:#x} {one.size}",
        )
    print("end:", log.end)
