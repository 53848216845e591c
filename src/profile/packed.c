/* SPDX-License-Identifier: MIT */
#include "profile/packed.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/parallel.h"
#include "profile/parts.h"
#include "profile/section.h"

static void declare(struct columns_state *s, const struct profile *p)
{
        for (unsigned array = 0; array < FORMAT_ARRAY_COUNT; array++)
                s->declared[array] = format_count(p, array);
}

/* ---- making ---- */

struct packer {
        unsigned array;
        struct profile window; /* the records of the next section */
        struct columns_state columns;
        struct str body, out;
        uint64_t first, count; /* records in OUT, and in the window */
        uint32_t section_count;
        bool failed;
        struct packer *own[PARALLEL_MOST]; /* by thread: its window; NULL until it has one */
};

static struct packer *packer_new(const struct profile *p, unsigned array)
{
        struct packer *k = heap_zero(1, sizeof *k);

        k->array = array;
        *format_array(&k->window, array) = heap_grow(NULL, FORMAT_PIECE,
                                                     format_tables[array].record_bytes);
        declare(&k->columns, p);
        return k;
}

struct packer *packer_blocks(const struct profile *p)
{
        return packer_new(p, FORMAT_BLOCKS);
}

struct packer *packer_verdicts(const struct profile *p)
{
        return packer_new(p, FORMAT_VERDICTS);
}

static void packer_flush(struct packer *k)
{
        struct err e;

        str_clear(&k->body);
        str_varint(&k->body, k->first);
        str_varint(&k->body, k->count);
        k->failed |= !columns_put(&k->columns, &k->window, k->array, 0, k->count, &k->body, &e);
        section_put(&k->out, k->array + FORMAT_FIRST_ARRAY, &k->body, true);
        k->section_count++;
        k->first += k->count;
        k->count = 0;
}

void packer_add(struct packer *k, const void *record)
{
        uint32_t bytes = format_tables[k->array].record_bytes;

        memcpy((char *)*format_array(&k->window, k->array) + k->count * bytes, record, bytes);
        if (++k->count == FORMAT_PIECE)
                packer_flush(k);
}

static void packer_free(struct packer *k)
{
        for (uint32_t i = 0; i < PARALLEL_MOST; i++)
                if (k->own[i])
                        packer_free(k->own[i]);
        profile_free(&k->window);
        columns_state_free(&k->columns);
        str_free(&k->body);
        str_free(&k->out);
        free(k);
}

bool packer_end(struct packer *k, struct profile *p)
{
        struct profile_packed *to = format_packed(p, k->array);
        bool good;

        if (k->count)
                packer_flush(k);
        good = !k->failed;
        if (good) {
                *to = (struct profile_packed){ k->out.data, k->out.length, k->section_count };
                format_set_count(p, k->array, k->first);
                k->out = (struct str){ 0 };
        }
        packer_free(k);
        return good;
}

/* ---- making, by several threads ---- */

static const unsigned lists[] = { [PACKED_BLOCKS] = FORMAT_BLOCKS,
                                  [PACKED_VERDICTS] = FORMAT_VERDICTS,
                                  [PACKED_POINTERS] = FORMAT_POINTERS };

struct packed_making {
        struct packer *k; /* what is in its window comes first */
        const struct packed_source *from;
        struct str *sections;
};

static struct packer *packer_of_thread(struct packer *k, uint32_t slot)
{
        struct packer *own = k->own[slot];

        if (!own) {
                own = k->own[slot] = packer_new(&k->window, k->array);
                memcpy(own->columns.declared, k->columns.declared,
                       sizeof own->columns.declared);
        }
        return own;
}

static void make_section(void *context, uint32_t slot, uint32_t part)
{
        struct packed_making *m = context;
        struct packer *own = packer_of_thread(m->k, slot);
        uint32_t bytes = format_tables[own->array].record_bytes;
        uint64_t before = part ? 0 : m->k->count;
        char *to = *format_array(&own->window, own->array);

        if (before)
                memcpy(to, format_records(&m->k->window, own->array), before * bytes);
        own->first = m->k->first + (uint64_t)part * FORMAT_PIECE;
        own->count = FORMAT_PIECE;
        m->from->fill(m->from->context, (uint64_t)part * FORMAT_PIECE + before - m->k->count,
                      FORMAT_PIECE - before, to + before * bytes);
        packer_flush(own);
        str_bytes(&m->sections[part], own->out.data, own->out.length); /* not its spare room */
        str_clear(&own->out);
}

static void take_sections(struct packer *k, struct str *sections, uint32_t count)
{
        size_t bytes = 0;

        for (uint32_t i = 0; i < count; i++)
                bytes += sections[i].length;
        str_reserve(&k->out, bytes);
        for (uint32_t i = 0; i < count; i++) {
                str_bytes(&k->out, sections[i].data, sections[i].length);
                str_free(&sections[i]);
        }
        for (uint32_t i = 0; i < PARALLEL_MOST; i++)
                k->failed |= k->own[i] && k->own[i]->failed;
        k->section_count += count;
        k->first += (uint64_t)count * FORMAT_PIECE;
}

void packer_add_all(struct packer *k, const struct packed_source *from)
{
        uint32_t parts = (uint32_t)((k->count + from->count) / FORMAT_PIECE);
        uint64_t done = parts ? (uint64_t)parts * FORMAT_PIECE - k->count : 0;
        struct packed_making m = { .k = k, .from = from,
                                   .sections = heap_zero(parts, sizeof *m.sections) };

        format_crc(NULL, 0); /* its tables are made by the first call */
        parallel_run(from->threads, parts, make_section, &m);
        take_sections(k, m.sections, parts);
        free(m.sections);
        k->count = parts ? 0 : k->count;
        if (done < from->count)
                from->fill(from->context, done, from->count - done,
                           (char *)*format_array(&k->window, k->array) +
                                   k->count * format_tables[k->array].record_bytes);
        k->count += from->count - done;
}

bool packed_make(struct profile *p, enum packed_list list, const struct packed_source *from)
{
        struct packer *k = packer_new(p, lists[list]);

        packer_add_all(k, from);
        return packer_end(k, p);
}

/* ---- reading ---- */

struct packed_reader {
        unsigned array;
        struct profile window;
        struct columns_state columns;
        struct section_walk sections;
        struct str buffer;
        uint64_t first, count; /* of the records in the window */
        uint64_t *offsets; /* of sections, for whoever jumps; NULL: nobody does */
        uint32_t section_count;
};

static struct packed_reader *reader_new(const struct profile *p, unsigned array)
{
        const struct profile_packed *list = format_packed((struct profile *)(uintptr_t)p, array);
        struct packed_reader *r;

        if (!list->sections)
                return NULL;
        r = heap_zero(1, sizeof *r);
        r->array = array;
        r->sections = (struct section_walk){ .data = (const uint8_t *)list->sections,
                                             .size = list->bytes };
        declare(&r->columns, p);
        return r;
}

static void reader_free(struct packed_reader *r)
{
        if (!r)
                return;
        profile_free(&r->window);
        columns_state_free(&r->columns);
        str_free(&r->buffer);
        free(r->offsets);
        free(r);
}

/* Verdicts are never anything but those that there are, and hang on blocks. */
static void settle_window(struct packed_reader *r)
{
        for (uint64_t i = 0; i < r->window.verdict_count; i++) {
                struct profile_verdict *v = &r->window.verdicts[i];

                if (v->leak >= PROFILE_LEAK_COUNT)
                        v->leak = PROFILE_LEAK_UNKNOWN;
                if (v->leak != PROFILE_LEAK_INDIRECT ||
                    v->head > r->columns.declared[FORMAT_BLOCKS])
                        v->head = 0;
        }
}

/* The next section into the window. */
static bool reader_load(struct packed_reader *r)
{
        const uint8_t *raw;
        struct section s;
        struct cursor c;
        uint64_t first;

        format_set_count(&r->window, r->array, 0);
        if (!section_next(&r->sections, &s) || !s.whole || !section_unpack(&s, &r->buffer, &raw))
                return false;
        c = (struct cursor){ raw, raw + s.raw_bytes, false };
        first = cursor_varint(&c);
        r->count = cursor_varint(&c);
        if (c.bad || first != r->first ||
            !columns_get(&r->columns, &r->window, r->array, r->count, &c))
                return false;
        if (r->array == FORMAT_VERDICTS)
                settle_window(r);
        return true;
}

/* Record INDEX, which is in the window or the first behind it. */
static const void *reader_at(struct packed_reader *r, uint64_t index)
{
        if (index - r->first >= r->count) {
                r->first += r->count;
                r->count = 0;
                if (!reader_load(r) || index - r->first >= r->count)
                        return NULL;
        }
        return (const char *)format_records(&r->window, r->array) +
               (index - r->first) * format_tables[r->array].record_bytes;
}

/* ---- single records ---- */

struct packed_reader *packed_random(const struct profile *p, enum packed_list list)
{
        const struct profile_packed *from = format_packed((struct profile *)(uintptr_t)p,
                                                          lists[list]);
        struct packed_reader *r = reader_new(p, lists[list]);
        struct format_section head;
        uint64_t at = 0;

        if (!r)
                return NULL;
        r->section_count = from->section_count;
        r->offsets = heap_zero(from->section_count + 1u, sizeof *r->offsets);
        for (uint32_t i = 0; i < from->section_count && at + sizeof head <= from->bytes; i++) {
                memcpy(&head, from->sections + at, sizeof head);
                r->offsets[i] = at;
                at += sizeof head + head.stored_bytes;
        }
        return r;
}

/* Sections of our own writer are full but for the last one.  In others the record is looked for. */
static bool reader_jump(struct packed_reader *r, uint64_t index)
{
        uint64_t section = index / FORMAT_PIECE;

        if (section >= r->section_count)
                return false;
        r->sections.at = r->offsets[section];
        r->first = section * FORMAT_PIECE;
        r->count = 0;
        if (reader_load(r) && index - r->first < r->count)
                return true;
        r->sections.at = 0;
        r->first = r->count = 0;
        while (reader_load(r) && r->count) {
                if (index - r->first < r->count)
                        return true;
                r->first += r->count;
                r->count = 0;
        }
        return false;
}

const void *packed_run(struct packed_reader *r, uint64_t index, uint64_t *count)
{
        if (index >= r->columns.declared[r->array] ||
            (index - r->first >= r->count && !reader_jump(r, index))) {
                r->count = 0;
                return NULL;
        }
        *count = r->first + r->count - index;
        return (const char *)format_records(&r->window, r->array) +
               (index - r->first) * format_tables[r->array].record_bytes;
}

const void *packed_at(struct packed_reader *r, uint64_t index)
{
        uint64_t unused;

        return packed_run(r, index, &unused);
}

void packed_random_free(struct packed_reader *r)
{
        reader_free(r);
}

/* ---- pointers ---- */

void packed_pointers_open(struct packed_pointers *w, const struct profile *p)
{
        *w = (struct packed_pointers){ .p = p, .reader = reader_new(p, FORMAT_POINTERS) };
}

/* How many of COUNT pointers are right. */
static uint64_t right_ones(struct packed_pointers *w, const struct profile_pointer *list,
                           uint64_t count)
{
        for (uint64_t i = 0; i < count; i++) {
                if (list[i].from >= w->p->block_count || list[i].to >= w->p->block_count ||
                    list[i].from < w->before)
                        return i;
                w->before = list[i].from;
        }
        return count;
}

const struct profile_pointer *packed_pointers_next(struct packed_pointers *w, uint64_t *count)
{
        const struct profile_pointer *list = NULL;
        uint64_t all = w->p->pointer_count, here = 0;

        if (w->next >= all)
                return NULL;
        if (!w->reader) {
                list = w->p->pointers + w->next;
                here = all - w->next;
        } else if ((list = reader_at(w->reader, w->next))) {
                here = w->reader->first + w->reader->count - w->next;
        }
        *count = list ? right_ones(w, list, here) : 0;
        w->next = *count == here && here ? w->next + here : all;
        return *count ? list : NULL;
}

void packed_pointers_close(struct packed_pointers *w)
{
        reader_free(w->reader);
        *w = (struct packed_pointers){ 0 };
}

/* ---- blocks with their verdicts ---- */

void packed_open(struct packed_walk *w, const struct profile *p)
{
        *w = (struct packed_walk){ .p = p, .blocks = reader_new(p, FORMAT_BLOCKS),
                                   .verdicts = reader_new(p, FORMAT_VERDICTS) };
}

void packed_open_blocks(struct packed_walk *w, const struct profile *p)
{
        *w = (struct packed_walk){ .p = p, .blocks = reader_new(p, FORMAT_BLOCKS) };
}

/* Records from INDEX on that are in the window, where that one is. */
static uint64_t reader_ready(const struct packed_reader *r, uint64_t index, uint64_t most)
{
        uint64_t ready = r ? r->first + r->count - index : most;

        return ready < most ? ready : most;
}

bool packed_more(struct packed_walk *w)
{
        const struct profile *p = w->p;
        bool judged = p->verdict_count == p->block_count && (w->verdicts || p->verdicts);
        uint64_t at = w->next;

        if (at >= p->block_count)
                return false;
        w->next_block = w->blocks ? reader_at(w->blocks, at) : &p->blocks[at];
        w->next_verdict = NULL;
        if (judged)
                w->next_verdict = w->verdicts ? reader_at(w->verdicts, at) : &p->verdicts[at];
        if (!w->next_block || (judged && !w->next_verdict))
                return false;
        w->ready = reader_ready(w->blocks, at, p->block_count - at);
        if (judged)
                w->ready = reader_ready(w->verdicts, at, w->ready);
        return true;
}

void packed_close(struct packed_walk *w)
{
        reader_free(w->blocks);
        reader_free(w->verdicts);
        *w = (struct packed_walk){ 0 };
}

static void undo(struct profile *p, unsigned array)
{
        uint32_t bytes = format_tables[array].record_bytes;
        uint64_t count = format_count(p, array), done = 0;
        struct packed_reader *r = reader_new(p, array);
        const void *from;
        char *to;

        if (!r)
                return;
        to = heap_grow(NULL, count + !count, bytes);
        for (; done < count && (from = reader_at(r, done)); done += r->count)
                memcpy(to + done * bytes, from, r->count * bytes);
        reader_free(r);
        *format_array(p, array) = to;
        format_set_count(p, array, done);
        free(format_packed(p, array)->sections);
        *format_packed(p, array) = (struct profile_packed){ 0 };
}

void packed_undo(struct profile *p)
{
        undo(p, FORMAT_BLOCKS);
        undo(p, FORMAT_VERDICTS);
        packed_undo_pointers(p);
}

void packed_undo_pointers(struct profile *p)
{
        undo(p, FORMAT_POINTERS);
}
