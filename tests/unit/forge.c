/* SPDX-License-Identifier: MIT */
/*
 * forge.c -- ledgers made by hand, for tests of what reads them.
 *
 * Room:   tests.
 */
#include "forge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const uint64_t sizes[LEDGER_PARTS] = {
        [LEDGER_HEAD] = 64 << 10,
        [LEDGER_NODES] = 4 << 20,
        [LEDGER_SITES] = 1 << 20,
        [LEDGER_SLOTS] = 17 * 16 * 4096,
        [LEDGER_COUNTERS] = 64 * LEDGER_COUNTER_CHUNK_BYTES,
        [LEDGER_CHUNKS] = 64 << 10,
        [LEDGER_SHADOW] = 16ull << 30,
        [LEDGER_THREADS] = 64 << 10,
        [LEDGER_MODULES] = 64 << 10,
        [LEDGER_REGIONS] = 64 << 10,
        [LEDGER_ERRORS] = 64 << 10,
        [LEDGER_STRINGS] = 64 << 10,
};

static void must(int good, const char *what)
{
        if (good)
                return;
        perror(what);
        exit(99);
}

void forge_open(struct forge *f)
{
        uint64_t offset = 0;
        void *p;

        f->bytes = 0;
        for (int i = 0; i < LEDGER_PARTS; i++)
                f->bytes += sizes[i];
        f->fd = memfd_create("forged ledger", MFD_CLOEXEC);
        must(f->fd >= 0 && ftruncate(f->fd, (off_t)f->bytes) == 0, "memfd");
        p = mmap(NULL, f->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, f->fd, 0);
        must(p != MAP_FAILED, "mmap");
        f->head = p;
        f->head->magic = LEDGER_MAGIC;
        f->head->version = LEDGER_VERSION;
        f->head->head_size = sizeof *f->head;
        f->head->file_size = f->bytes;
        f->head->word_bytes = 8;
        for (int i = 0; i < LEDGER_PARTS; i++) {
                f->head->part[i] = (struct ledger_extent){ offset, sizes[i], sizes[i] };
                offset += sizes[i];
        }
        f->head->node_count = 2;
        f->head->site_count = 1;
        f->head->thread_count = 1;
        f->head->string_bytes = 1;
}

void forge_close(struct forge *f)
{
        munmap(f->head, f->bytes);
        close(f->fd);
}

void *forge_part(const struct forge *f, enum ledger_part part)
{
        uint64_t offset = 0;

        for (int i = 0; i < (int)part; i++)
                offset += sizes[i];
        return (uint8_t *)f->head + offset;
}

uint32_t forge_node(struct forge *f, uint32_t parent, uint64_t pc)
{
        struct ledger_node *n = forge_part(f, LEDGER_NODES);
        uint64_t no_module = 0x7fffull << 48;

        n[f->head->node_count] = (struct ledger_node){ .pc_module = pc | no_module, .parent = parent };
        return f->head->node_count++;
}

uint32_t forge_site(struct forge *f, uint32_t node, uint32_t kind)
{
        struct ledger_site *s = forge_part(f, LEDGER_SITES);

        s[f->head->site_count] = (struct ledger_site){ .node = node, .kind = kind };
        return f->head->site_count++;
}

struct ledger_slot *forge_slot_at(const struct forge *f, uint32_t slot)
{
        return (struct ledger_slot *)forge_part(f, LEDGER_SLOTS) + slot;
}

uint32_t forge_slot(struct forge *f, uint32_t thread)
{
        struct ledger_slot *s = forge_slot_at(f, f->head->slot_count);

        s->used = 1;
        s->thread = thread;
        return f->head->slot_count++;
}

uint32_t forge_thread(struct forge *f, uint32_t tid, uint32_t slot, const char *name)
{
        struct ledger_thread *t = (struct ledger_thread *)forge_part(f, LEDGER_THREADS) + f->head->thread_count;

        t->tid = tid;
        t->slot = slot;
        snprintf(t->name, sizeof t->name, "%s", name);
        return f->head->thread_count++;
}

uint32_t forge_chunk(struct forge *f, uint64_t base, uint32_t plane)
{
        struct ledger_chunk *c = forge_part(f, LEDGER_CHUNKS);

        c[f->head->shadow_chunk_count] = (struct ledger_chunk){ base, plane, 1 };
        return f->head->shadow_chunk_count++;
}

struct ledger_counter *forge_counter(struct forge *f, uint32_t slot, uint32_t site)
{
        uint32_t *chunk = &forge_slot_at(f, slot)->chunk[site / LEDGER_COUNTERS_PER_CHUNK];
        struct ledger_counter *all = forge_part(f, LEDGER_COUNTERS);

        if (!*chunk)
                *chunk = ++f->head->counter_chunk_count;
        return all + (*chunk - 1) * (uint64_t)LEDGER_COUNTERS_PER_CHUNK + site % LEDGER_COUNTERS_PER_CHUNK;
}

void forge_block(struct forge *f, uint32_t chunk, uint32_t entry, uint32_t site, uint64_t size, uint32_t thread)
{
        struct ledger_block *b = forge_part(f, LEDGER_SHADOW);
        uint64_t live = 1ull << 53;

        b += chunk * (uint64_t)LEDGER_SHADOW_ENTRIES + entry;
        b->a = site | size << 32;
        b->b = live | (uint64_t)thread << 32 | (size >> 32) << 56;
}

void forge_events(struct forge *f, uint32_t slot, uint32_t site, uint64_t count, uint64_t frees, uint64_t size)
{
        struct ledger_counter *c = forge_counter(f, slot, site);
        struct ledger_slot *s = forge_slot_at(f, slot);

        c->allocs += count;
        c->alloc_bytes += count * size;
        c->frees += frees;
        c->free_bytes += frees * size;
        s->allocs += count;
        s->alloc_bytes += count * size;
        s->frees += frees;
        s->free_bytes += frees * size;
}

struct view forge_view(const struct forge *f)
{
        struct view v;
        struct err e = { 0 };

        must(view_open(&v, dup(f->fd), &e), "view_open");
        return v;
}

uint64_t forge_random(uint64_t *state)
{
        uint64_t z = *state += 0x9e3779b97f4a7c15ull;

        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
        z = (z ^ z >> 27) * 0x94d049bb133111ebull;
        return z ^ z >> 31;
}
