/* SPDX-License-Identifier: MIT */
/*
 * stream_tables.c -- what the numbers in events mean: each stack, module and name once, before the
 * first event that needs it.
 *
 * Keeps:  a stack that an event names was complete before the event; so they are told one by one,
 *         as events name them, and never by their count, which others may just be raising.
 */
#include "agent/arena.h"
#include "agent/bytes.h"
#include "agent/stream_parts.h"
#include "agent/sys.h"
#include "book/error.h"

#include "agent/guest.h"

#define NODES_MAX (64ull << 20)
#define TEXT_RECORD (STREAM_RECORD + 150u + JOURNAL_TEXT_MAX)

static struct {
        struct arena_table nodes, sites; /* a bit each: it was told */
        struct arena_table modules, errors; /* sums of what was told */
        uint32_t owed; /* the next node of a stack that is being told */
        uint32_t types;
        uint64_t counts; /* sum of what was told */
} told;

bool stream_tables_start(void)
{
        return arena_table(&told.nodes, NODES_MAX / 8) &&
               arena_table(&told.sites, LEDGER_SITES_MAX / 8) &&
               arena_table(&told.modules, LEDGER_MODULES_MAX * sizeof(uint32_t)) &&
               arena_table(&told.errors, ERROR_MAX * sizeof(uint32_t));
}

static void forget(struct arena_table *t)
{
        memset(t->at, 0, t->open);
}

void stream_tables_forked(void)
{
        forget(&told.nodes);
        forget(&told.sites);
        forget(&told.modules);
        forget(&told.errors);
        told.owed = told.types = 0;
        told.counts = 0;
}

/* ---- parts of records ---- */

static void put_text(const char *text, size_t length)
{
        length = length < JOURNAL_TEXT_MAX ? length : JOURNAL_TEXT_MAX;
        stream_number(length);
        for (size_t i = 0; i < length; i++)
                stream_byte((uint8_t)text[i]);
}

static const char *string_at(uint32_t at)
{
        return (const char *)arena_at(LEDGER_STRINGS) + at;
}

static void put_string(uint32_t at)
{
        put_text(string_at(at), strlen(string_at(at)));
}

/* Whether bit NUMBER of T is set; TO: make it so.  What cannot be kept is told again each time. */
static bool is_told(struct arena_table *t, uint32_t number)
{
        return arena_table_open(t, number / 8 + 1) && t->at[number / 8] >> number % 8 & 1;
}

static void set_told(struct arena_table *t, uint32_t number)
{
        if (arena_table_open(t, number / 8 + 1))
                t->at[number / 8] |= (uint8_t)(1u << number % 8);
}

/* Whether row NUMBER, BYTES of it at ROW, differs from what was told. */
static bool is_changed(struct arena_table *t, uint32_t number, const void *row, size_t bytes)
{
        uint32_t sum = journal_sum(row, bytes) | 1, *was;

        if (!arena_table_open(t, (number + 1ull) * sizeof sum))
                return false;
        was = (uint32_t *)t->at + number;
        if (*was == sum)
                return false;
        *was = sum;
        return true;
}

/* ---- stacks ---- */

static void put_node(uint32_t number)
{
        const struct ledger_node *n = &agent_book.nodes[number];
        struct journal_model *m = &stream_packet->model;
        uint32_t module = LEDGER_NODE_MODULE(n->pc_module);

        stream_byte(JOURNAL_NODES);
        stream_number(journal_zigzag((uint64_t)number - m->node));
        stream_number(number - n->parent);
        stream_number((module == LEDGER_NODE_NO_MODULE ? 0 : module + 1) << 1 |
                      (n->pc_module & LEDGER_NODE_EXACT ? 1 : 0));
        stream_number(journal_zigzag(LEDGER_NODE_PC(n->pc_module) - m->pc));
        m->node = number;
        m->pc = LEDGER_NODE_PC(n->pc_module);
}

/* From the inside outwards, up to what is known. */
static bool tell_owed(void)
{
        while (told.owed > LEDGER_NODE_CUT && told.owed < agent.head->node_count &&
               !is_told(&told.nodes, told.owed)) {
                if (!stream_room(STREAM_RECORD))
                        return false;
                put_node(told.owed);
                set_told(&told.nodes, told.owed);
                told.owed = agent_book.nodes[told.owed].parent;
        }
        told.owed = 0;
        return true;
}

static bool tell_node(uint32_t node)
{
        if (!tell_owed())
                return false;
        told.owed = node;
        return tell_owed();
}

static bool tell_site(uint32_t number)
{
        const struct ledger_site *s = &agent_book.sites[number];

        if (!number || number >= agent.head->site_count || is_told(&told.sites, number))
                return true;
        if (!tell_node(s->node) || !stream_room(STREAM_RECORD))
                return false;
        stream_byte(JOURNAL_SITES);
        stream_number(number);
        stream_number(s->node);
        stream_number(s->kind);
        set_told(&told.sites, number);
        return true;
}

/* ---- names ---- */

static bool tell_types(void)
{
        for (; told.types < agent.head->type_count; told.types++) {
                if (!stream_room(TEXT_RECORD))
                        return false;
                stream_byte(JOURNAL_TYPE);
                stream_number(told.types);
                put_string(agent.head->type_name[told.types]);
        }
        return true;
}

static bool tell_mark(uint32_t index)
{
        const struct ledger_mark *m = (const struct ledger_mark *)arena_at(LEDGER_MARKS) + index;

        if (!stream_room(TEXT_RECORD))
                return false;
        stream_byte(JOURNAL_MARK);
        stream_number(index);
        stream_number(m->type);
        stream_number(m->ms);
        stream_number(m->thread);
        put_string(m->label);
        return true;
}

static void put_module(uint32_t number, const struct ledger_module *m)
{
        const uint64_t numbers[] = { number, m->start, m->end - m->start, m->bias, m->load_ms,
                                     m->gone_ms, m->flags, m->dev, m->ino, m->code_start,
                                     m->code_end - m->code_start, m->code_offset,
                                     m->build_id_bytes };

        stream_byte(JOURNAL_MODULE);
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
                stream_number(numbers[i]);
        for (uint32_t i = 0; i < m->build_id_bytes && i < sizeof m->build_id; i++)
                stream_byte(m->build_id[i]);
        put_string(m->path);
}

static bool tell_modules(void)
{
        uint32_t count = agent.head->module_count;

        for (uint32_t i = 0; i < count; i++) {
                struct ledger_module m = ((struct ledger_module *)arena_at(LEDGER_MODULES))[i];

                if (!stream_room(TEXT_RECORD))
                        return false;
                if (m.build_id_bytes <= sizeof m.build_id &&
                    is_changed(&told.modules, i, &m, sizeof m))
                        put_module(i, &m);
        }
        return true;
}

static void put_error(uint32_t number, const struct ledger_error *f)
{
        const uint64_t numbers[] = { number, f->type, f->node, f->alloc_site, f->first_ms,
                                     f->address, f->count, f->release, f->thread, f->size,
                                     f->first_free, f->wrong, f->alignment, f->given };

        stream_byte(JOURNAL_ERROR);
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
                stream_number(numbers[i]);
}

static bool tell_errors(void)
{
        uint32_t count = agent.head->error_count;

        for (uint32_t i = 0; i < count && i < ERROR_MAX; i++) {
                struct ledger_error f = ((struct ledger_error *)arena_at(LEDGER_ERRORS))[i];

                if (!tell_node(f.node) || !tell_node(f.first_free) || !tell_site(f.alloc_site) ||
                    !stream_room(3 * STREAM_RECORD))
                        return false;
                if (f.type && is_changed(&told.errors, i, &f, sizeof f))
                        put_error(i, &f);
        }
        return true;
}

static bool tell_counts(void)
{
        const struct ledger_head *h = agent.head;
#define COUNT(name) h->name,
        const uint64_t counts[] = { JOURNAL_COUNTS_OF(COUNT) };
#undef COUNT
        uint32_t sum = journal_sum((const uint8_t *)counts, sizeof counts);

        if (sum == told.counts)
                return true;
        if (!stream_room(4 * STREAM_RECORD))
                return false;
        stream_byte(JOURNAL_COUNTS);
        stream_number(sizeof counts / sizeof *counts);
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
                stream_number(counts[i]);
        told.counts = sum;
        return true;
}

/* ---- for others ---- */

bool stream_tell_event(const struct ledger_event *e)
{
        switch (e->type) {
        case LEDGER_EVENT_FREE:
        case LEDGER_EVENT_TAKE:
        case LEDGER_EVENT_BAD_FREE:
                return tell_node(e->site);
        case LEDGER_EVENT_MARK:
                return e->address >= agent.head->mark_count || tell_mark((uint32_t)e->address);
        case LEDGER_EVENT_ACQUIRE:
                if (!tell_types())
                        return false;
                __attribute__((fallthrough));
        default:
                return tell_site(e->site);
        }
}

bool stream_tell_changes(void)
{
        return tell_modules() && tell_errors() && tell_counts();
}

static bool tell_text(enum journal_text which, const char *text, size_t length)
{
        for (size_t at = 0; at < length; at += JOURNAL_TEXT_MAX) {
                if (!stream_room(TEXT_RECORD))
                        return false;
                stream_byte(JOURNAL_TEXT);
                stream_number(which);
                stream_number(at);
                put_text(text + at, length - at);
        }
        return true;
}

#define NAME_BYTES 65

bool stream_tell_process(void)
{
        const struct ledger_head *h = agent.head;
#define FACT(name) h->name,
        const uint64_t facts[] = { JOURNAL_PROCESS_OF(FACT) };
#undef FACT
        char names[6][NAME_BYTES] = { { 0 } }, cwd[JOURNAL_TEXT_MAX];
        long got;

        if (!stream_room(4 * STREAM_RECORD))
                return false;
        stream_byte(JOURNAL_PROCESS);
        stream_number(sizeof facts / sizeof *facts);
        for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
                stream_number(facts[i]);
        got = sys_call6(SYS_readlinkat, SYS_AT_HERE, (long)stream_out_cwd(), (long)cwd,
                        sizeof cwd, 0, 0);
        sys_call3(SYS_uname, (long)names, 0, 0);
        names[1][NAME_BYTES - 1] = 0;
        return tell_text(JOURNAL_TEXT_EXE, h->exe, strlen(h->exe)) &&
               tell_text(JOURNAL_TEXT_COMMAND, h->command, h->command_bytes) &&
               tell_text(JOURNAL_TEXT_CWD, cwd, got > 0 ? (size_t)got : 0) &&
               tell_text(JOURNAL_TEXT_HOST, names[1], strlen(names[1]));
}

/* ---- what a forked child has from its parent ---- */

/* B, whose site is told, was there before. */
static bool tell_block(uint64_t address, const struct ledger_block *b, uint32_t plane)
{
        struct journal_model *m = &stream_packet->model;

        /* Whose model is a new one where a packet begins. */
        if (!tell_site(LEDGER_BLOCK_SITE(*b)) || !stream_room(2 * STREAM_RECORD))
                return false;
        stream_byte(JOURNAL_HELD);
        stream_number((plane >= LEDGER_PLANE_POOL ? JOURNAL_HELD_POOL : 0) |
                      (LEDGER_BLOCK_IGNORED(*b) ? JOURNAL_HELD_IGNORED : 0));
        stream_number(LEDGER_BLOCK_THREAD(*b));
        stream_number(LEDGER_BLOCK_BIRTH_MS(*b));
        stream_number(LEDGER_BLOCK_SITE(*b));
        stream_number(journal_zigzag(address - m->other));
        stream_number(LEDGER_BLOCK_SIZE(*b));
        m->other = address;
        return true;
}

#define PAGES_MAX (LEDGER_SHADOW_CHUNK_BYTES / SYS_PAGE_LEAST)

/* The blocks of one page of the shadow. */
static bool tell_page(const struct ledger_chunk *c, const struct ledger_block *chunk, uint64_t at)
{
        const struct ledger_block *b = chunk + at / sizeof *b, *end = b + SYS_PAGE / sizeof *b;

        for (; b < end; b++) {
                uint64_t address = c->base + (uint64_t)(b - chunk) * LEDGER_SHADOW_GRANULE +
                                   8ull * LEDGER_BLOCK_SUB(*b) + LEDGER_PLANE_LOW(c->plane);

                if (LEDGER_BLOCK_LIVE(*b) && LEDGER_BLOCK_SITE(*b) &&
                    !tell_block(address, b, c->plane))
                        return false;
        }
        return true;
}

static bool tell_chunk(uint32_t number)
{
        struct ledger_chunk c = ((struct ledger_chunk *)arena_at(LEDGER_CHUNKS))[number];
        uint8_t *at = agent_book.shadow + number * LEDGER_SHADOW_CHUNK_BYTES, present[PAGES_MAX];
        uint64_t pages = LEDGER_SHADOW_CHUNK_BYTES / SYS_PAGE;
        bool good = true;

        if (!c.ready || sys_failed(sys_call3(SYS_mincore, (long)at, LEDGER_SHADOW_CHUNK_BYTES,
                                             (long)present)))
                return true;
        for (uint64_t i = 0; i < pages && good; i++)
                good = !(present[i] & 1) ||
                       tell_page(&c, (const struct ledger_block *)at, i * SYS_PAGE);
        return good;
}

static bool tell_threads(void)
{
        const struct ledger_thread *all = arena_at(LEDGER_THREADS);
        struct ledger_event e = { .ms = 0 };

        for (uint32_t i = 1; i < agent.head->thread_count && i < LEDGER_THREADS_MAX; i++) {
                e.thread = (uint16_t)i;
                e.ms = all[i].start_ms;
                e.type = LEDGER_EVENT_THREAD;
                e.address = all[i].tid;
                e.size = all[i].slot;
                if (!stream_event(&e))
                        return false;
                e.type = LEDGER_EVENT_THREAD_NAME;
                memcpy(&e.address, all[i].name, 8);
                memcpy(&e.size, all[i].name + 8, 8);
                if (!stream_event(&e))
                        return false;
        }
        return true;
}

static bool tell_region(const struct ledger_region *r)
{
        struct ledger_event e = { .type = LEDGER_EVENT_MAP,
                                  .kind = LEDGER_KIND_MMAP,
                                  .ms = r->birth_ms,
                                  .thread = (uint16_t)r->thread,
                                  .site = r->site,
                                  .address = r->start,
                                  .size = r->end - r->start };

        if (!tell_site(e.site) || !stream_event(&e))
                return false;
        e.type = LEDGER_EVENT_STACK;
        e.kind = 0;
        e.site = 0;
        return !(r->flags & LEDGER_REGION_STACK) || stream_event(&e);
}

static bool tell_regions(void)
{
        const struct ledger_region *r = arena_at(LEDGER_REGIONS);

        for (const struct ledger_region *end = r + agent.head->region_count; r < end; r++)
                if (r->start < r->end && !tell_region(r))
                        return false;
        return true;
}

bool stream_tell_held(void)
{
        bool good = tell_threads();

        for (uint32_t i = 0; i < agent.head->shadow_chunk_count && good; i++)
                good = tell_chunk(i);
        return good && tell_regions();
}
