/* SPDX-License-Identifier: MIT */
/*
 * specimen.c -- ledgers made by hand, for tests of what reads them.
 *
 * Room:   tests.
 */
#include "specimen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ledger/arch/arch.h"

static const uint64_t sizes[LEDGER_PARTS] = {
        [LEDGER_HEAD] = 64 << 10,
        [LEDGER_NODES] = 4 << 20,
        [LEDGER_SITES] = 1 << 20,
        [LEDGER_SLOTS] = 17 * 16 * 4096,
        [LEDGER_COUNTERS] = 64 * LEDGER_COUNTER_CHUNK_BYTES,
        [LEDGER_CHUNKS] = 64 << 10,
        [LEDGER_SHADOW] = 16ull << 30,
        [LEDGER_THREADS] = 4 << 20,
        [LEDGER_MODULES] = 64 << 10,
        [LEDGER_REGIONS] = 64 << 10,
        [LEDGER_ERRORS] = 64 << 10,
        [LEDGER_STRINGS] = 64 << 10,
        [LEDGER_MARKS] = LEDGER_MARKS_MAX * sizeof(struct ledger_mark),
        [LEDGER_DEATHS] = LEDGER_DEATHS_MAX * sizeof(struct ledger_death),
        [LEDGER_HANDLES] = 64 << 10,
        [LEDGER_JOURNAL] = 64 << 10,
        [LEDGER_OWN] = 64 << 10,
        [LEDGER_ROOTS] = 64 << 10,
        [LEDGER_ORDER] = 64 << 10,
};

static void must(int good, const char *what)
{
        if (good)
                return;
        perror(what);
        exit(99);
}

void specimen_open(struct specimen *f)
{
        uint64_t offset = 0;
        void *p;

        f->bytes = 0;
        for (int i = 0; i < LEDGER_PARTS; i++)
                f->bytes += sizes[i];
        f->fd = memfd_create("forged ledger", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        must(f->fd >= 0 && ftruncate(f->fd, (off_t)f->bytes) == 0, "memfd");
        p = mmap(NULL, f->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, f->fd, 0);
        must(p != MAP_FAILED, "mmap");
        f->head = p;
        f->head->magic = LEDGER_MAGIC;
        f->head->version = LEDGER_VERSION;
        f->head->head_size = sizeof *f->head;
        f->head->file_size = f->bytes;
        f->head->word_bytes = 8;
        f->head->machine = LEDGER_MACHINE;
        f->head->page_bytes = 4096;
        for (int i = 0; i < LEDGER_PARTS; i++) {
                f->head->part[i] = (struct ledger_extent){ offset, sizes[i], sizes[i] };
                offset += sizes[i];
        }
        f->head->node_count = 2;
        f->head->site_count = 1;
        f->head->thread_count = 1;
        f->head->string_bytes = 1;
}

void specimen_close(struct specimen *f)
{
        munmap(f->head, f->bytes);
        close(f->fd);
}

void *specimen_part(const struct specimen *f, enum ledger_part part)
{
        uint64_t offset = 0;

        for (int i = 0; i < (int)part; i++)
                offset += sizes[i];
        return (uint8_t *)f->head + offset;
}

uint32_t specimen_node(struct specimen *f, uint32_t parent, uint64_t pc)
{
        struct ledger_node *n = specimen_part(f, LEDGER_NODES);
        uint64_t no_module = 0x7fffull << 48;

        n[f->head->node_count] = (struct ledger_node){ .pc_module = pc | no_module,
                                                       .parent = parent };
        return f->head->node_count++;
}

uint32_t specimen_site(struct specimen *f, uint32_t node, uint32_t kind)
{
        struct ledger_site *s = specimen_part(f, LEDGER_SITES);

        s[f->head->site_count] = (struct ledger_site){ .node = node, .kind = kind };
        return f->head->site_count++;
}

struct ledger_slot *specimen_slot_at(const struct specimen *f, uint32_t slot)
{
        return (struct ledger_slot *)specimen_part(f, LEDGER_SLOTS) + slot;
}

uint32_t specimen_slot(struct specimen *f, uint32_t thread)
{
        struct ledger_slot *s = specimen_slot_at(f, f->head->slot_count);

        s->used = 1;
        s->thread = thread;
        return f->head->slot_count++;
}

uint32_t specimen_thread(struct specimen *f, uint32_t tid, uint32_t slot, const char *name)
{
        struct ledger_thread *t = (struct ledger_thread *)specimen_part(f, LEDGER_THREADS) +
                                  f->head->thread_count;

        t->tid = tid;
        t->slot = slot;
        snprintf(t->name, sizeof t->name, "%s", name);
        return f->head->thread_count++;
}

uint32_t specimen_chunk(struct specimen *f, uint64_t base, uint32_t plane)
{
        struct ledger_chunk *c = specimen_part(f, LEDGER_CHUNKS);

        c[f->head->shadow_chunk_count] = (struct ledger_chunk){ base, plane, 1 };
        return f->head->shadow_chunk_count++;
}

struct ledger_counter *specimen_counter(struct specimen *f, uint32_t slot, uint32_t site)
{
        uint32_t *chunk = &specimen_slot_at(f, slot)->chunk[site / LEDGER_COUNTERS_PER_CHUNK];
        struct ledger_counter *all = specimen_part(f, LEDGER_COUNTERS);

        if (!*chunk)
                *chunk = ++f->head->counter_chunk_count;
        return all + (*chunk - 1) * (uint64_t)LEDGER_COUNTERS_PER_CHUNK +
               site % LEDGER_COUNTERS_PER_CHUNK;
}

void specimen_block(struct specimen *f, uint32_t chunk, uint32_t entry, uint32_t site,
                    uint64_t size, uint32_t thread)
{
        struct ledger_block *b = specimen_part(f, LEDGER_SHADOW);
        uint64_t live = 1ull << 53;

        b += chunk * (uint64_t)LEDGER_SHADOW_ENTRIES + entry;
        b->a = site | size << 32;
        b->b = live | (uint64_t)thread << 32 | (size >> 32) << 56;
}

void specimen_events(struct specimen *f, uint32_t slot, uint32_t site, uint64_t count,
                     uint64_t frees, uint64_t size)
{
        struct ledger_counter *c = specimen_counter(f, slot, site);
        struct ledger_slot *s = specimen_slot_at(f, slot);

        c->allocs += count;
        c->alloc_bytes += count * size;
        c->frees += frees;
        c->free_bytes += frees * size;
        s->allocs += count;
        s->alloc_bytes += count * size;
        s->frees += frees;
        s->free_bytes += frees * size;
}

uint32_t specimen_string(struct specimen *f, const char *text)
{
        uint32_t at = f->head->string_bytes;

        strcpy((char *)specimen_part(f, LEDGER_STRINGS) + at, text);
        f->head->string_bytes += (uint32_t)strlen(text) + 1;
        return at;
}

uint32_t specimen_mark(struct specimen *f, uint32_t type, uint32_t ms, const char *label)
{
        struct ledger_mark *m = (struct ledger_mark *)specimen_part(f, LEDGER_MARKS) +
                                f->head->mark_count;

        *m = (struct ledger_mark){
                .type = type, .ready = 1, .ms = ms, .label = specimen_string(f, label)
        };
        return f->head->mark_count++;
}

uint32_t specimen_type(struct specimen *f, const char *name)
{
        f->head->type_name[f->head->type_count] = specimen_string(f, name);
        return LEDGER_KIND_TYPE_FIRST + f->head->type_count++;
}

void specimen_handle(struct specimen *f, uint64_t handle, uint64_t amount, uint32_t site)
{
        struct ledger_handle *h = (struct ledger_handle *)specimen_part(f, LEDGER_HANDLES) +
                                  f->head->handle_count++;

        *h = (struct ledger_handle){
                .handle = handle, .amount = amount, .site = site, .birth_ms = 7
        };
}

void specimen_death(struct specimen *f, uint32_t at, uint64_t key, uint64_t blocks, uint64_t bytes)
{
        ((struct ledger_death *)specimen_part(f, LEDGER_DEATHS))[at] = (struct ledger_death){
                key, blocks, bytes
        };
}

struct view specimen_view(const struct specimen *f)
{
        struct view v;
        struct err e = { 0 };

        must(view_open(&v, dup(f->fd), &e), "view_open");
        return v;
}

void specimen_tree(struct specimen *f, uint32_t nodes)
{
        uint64_t seed = 11;

        specimen_open(f);
        f->head->several = 1;
        specimen_slot(f, 0);
        for (uint32_t i = 0; i < nodes; i++) {
                uint32_t parent = (uint32_t)(specimen_random(&seed) % f->head->node_count);

                specimen_node(f, parent, 0x1000 + specimen_random(&seed) % 5);
        }
        for (uint32_t i = 2; i < f->head->node_count; i++)
                specimen_events(f, 0, specimen_site(f, i, LEDGER_KIND_MALLOC), 1, 0, i);
}

uint64_t specimen_random(uint64_t *state)
{
        uint64_t z = *state += 0x9e3779b97f4a7c15ull;

        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
        z = (z ^ z >> 27) * 0x94d049bb133111ebull;
        return z ^ z >> 31;
}
