/* SPDX-License-Identifier: MIT */
/* model.c -- life and look-ups of a recording in memory. */
#include "profile/model.h"

#include <stdlib.h>
#include <string.h>

#include "base/find.h"
#include "base/order.h"
#include "ledger/ledger.h"
#include "ledger/weight.h"
#include "profile/format.h"
#include "profile/reserve.h"
#include "wire/hello.h"

static void free_texts(char **texts, uint32_t count)
{
        for (uint32_t i = 0; i < count; i++)
                free(texts[i]);
        free(texts);
}

static void free_meta(struct profile_meta *m)
{
#define FREE_TEXT(member) free(m->member);
#define FREE_LIST(member, count) free_texts(m->member, m->count);
        FORMAT_META_TEXTS(FREE_TEXT)
        FORMAT_META_LISTS(FREE_LIST)
#undef FREE_TEXT
#undef FREE_LIST
}

void profile_free(struct profile *p)
{
        free_meta(&p->meta);
        for (unsigned array = 0; array < FORMAT_ARRAY_COUNT; array++) {
                format_free_texts(array, format_records(p, array), format_count(p, array));
                free(*format_array(p, array));
        }
        free(p->packed_blocks.sections);
        free(p->packed_verdicts.sections);
        free(p->packed_pointers.sections);
        free(p->kept.sections);
        memset(p, 0, sizeof *p);
}

void profile_free_course(struct profile *p)
{
        free(p->changes);
        free(p->shares);
        p->changes = NULL;
        p->shares = NULL;
        p->change_count = p->share_count = 0;
        for (uint32_t i = 0; i < p->slice_count; i++)
                p->slices[i].change_first = p->slices[i].change_count = 0;
}

static void apply_changes(const struct profile *p, const struct profile_slice *s,
                          struct profile_change *out)
{
        for (uint32_t i = 0; i < s->change_count; i++) {
                const struct profile_change *c = &p->changes[s->change_first + i];

                if (c->site && c->site < p->site_count)
                        out[c->site] = *c;
        }
}

uint32_t profile_detail(const struct profile *p, uint32_t slice)
{
        while (slice && p->slices[slice].flags & PROFILE_SLICE_TOTALS)
                slice--;
        return slice;
}

bool profile_at_slice(const struct profile *p, uint32_t slice, struct profile_change *out)
{
        if (slice >= p->slice_count)
                return false;
        for (uint32_t i = 0; i < p->site_count; i++)
                out[i] = (struct profile_change){ .site = i };
        for (uint32_t i = 0; i <= slice; i++)
                apply_changes(p, &p->slices[i], out);
        return true;
}

bool profile_at(const struct profile *p, uint64_t ms, struct profile_change *out)
{
        uint32_t count = 0;

        while (count < p->slice_count && p->slices[count].ms <= ms)
                count++;
        return count && profile_at_slice(p, count - 1, out);
}

uint32_t profile_slices_before_peak(const struct profile *p)
{
        uint32_t mark = 0, i;

        for (i = 0; i < p->slice_count; i++) {
                uint64_t ms = p->slices[i].ms;

                for (; mark < p->mark_count && p->marks[mark].slice <= i; mark++)
                        if (p->marks[mark].slice == i && p->marks[mark].era)
                                ms = p->marks[mark].ms;
                if (ms > p->totals.peak_ms)
                        break;
        }
        return i;
}

uint64_t profile_end_ms(const struct profile *p)
{
        uint64_t last = p->slice_count ? p->slices[p->slice_count - 1].ms : 0;

        return last > p->meta.duration_ms ? last : p->meta.duration_ms;
}

uint64_t profile_peak_ms(const struct profile *p)
{
        uint32_t before = profile_slices_before_peak(p);
        uint64_t first = before ? p->slices[before - 1].ms : 0;
        uint64_t last = before < p->slice_count ? p->slices[before].ms : profile_end_ms(p);

        return p->totals.peak_ms < first  ? first
               : p->totals.peak_ms > last ? last
                                          : p->totals.peak_ms;
}

uint64_t profile_stack_bytes(const struct profile *p)
{
        uint64_t bytes = 0;

        for (uint32_t i = 0; i < p->region_count; i++)
                bytes += p->regions[i].stack ? p->regions[i].end - p->regions[i].start : 0;
        return bytes;
}

/* RESERVED: with places that mapped more than was ever resident (reserve.h). */
static uint64_t mapped_bytes(const struct profile *p, bool reserved)
{
        uint64_t bytes = 0, left = p->totals.mmap_live_bytes - profile_stack_bytes(p);
        bool *stacks = reserve_stacks(p), all = true;

        for (uint32_t i = 1; i < p->site_count; i++) {
                if (!LEDGER_KIND_IS_MAPPED(p->sites[i].kind) || stacks[i])
                        continue;
                if (reserved || !reserve_is(p, p->sites[i].peak_bytes))
                        bytes += p->sites[i].peak_bytes;
                else
                        all = false;
        }
        free(stacks);
        return all && bytes < left && left <= p->totals.mmap_live_bytes ? left : bytes;
}

uint64_t profile_mapped_bytes(const struct profile *p)
{
        return mapped_bytes(p, true);
}

bool profile_is_mostly_mapped(const struct profile *p)
{
        return mapped_bytes(p, false) > p->totals.peak_bytes;
}

int profile_compare_deaths(const void *a, const void *b)
{
        const struct profile_death *x = a, *y = b;

        return ORDER(x->site, y->site) ?: ORDER(x->birth, y->birth) ?: ORDER(x->death, y->death);
}

const char *profile_mark_word(uint32_t type)
{
        static const char *const words[] = {
                [LEDGER_MARK_NONE] = "unknown",      [LEDGER_MARK_TAG] = "tag",
                [LEDGER_MARK_SNAPSHOT] = "snapshot", [LEDGER_MARK_SIGNAL] = "signal",
                [LEDGER_MARK_LIMIT] = "limit",       [LEDGER_MARK_HEAP] = "heap",
                [LEDGER_MARK_EXIT] = "exit",         [LEDGER_MARK_ENABLE] = "enable",
                [LEDGER_MARK_DISABLE] = "disable",   [LEDGER_MARK_OUTSIDE] = "outside",
        };

        return type < sizeof words / sizeof *words ? words[type] : words[LEDGER_MARK_NONE];
}

bool profile_is_walked(const struct profile *p)
{
        return p->meta.engine && strcmp(p->meta.engine, PROFILE_ENGINE_WALK) == 0;
}

bool profile_has_no_stacks(const struct profile *p)
{
        return (p->meta.flags & WIRE_F_NO_STACKS) != 0;
}

bool profile_is_sampled(const struct profile *p)
{
        return p->totals.sample_bytes || p->totals.thin_ms[0];
}

uint64_t profile_block_times(const struct profile *p, const struct profile_block *b)
{
        const struct profile_totals *t = &p->totals;
        uint64_t mean = t->sample_bytes;

        for (uint32_t i = 0; i < LEDGER_THINS && t->thin_ms[i] && t->thin_ms[i] <= b->birth_ms; i++)
                mean = t->thin_bytes << i;
        return mean && mean <= WEIGHT_MEAN_MAX ? weight_of(b->address, b->size, b->birth_ms, mean)
                                               : 1;
}

bool profile_without_search(const struct profile *p)
{
        return !(p->meta.flags & WIRE_F_LEAK_SCAN);
}

bool profile_started_off(const struct profile *p)
{
        return (p->meta.flags & WIRE_F_START_OFF) != 0;
}

bool profile_stayed_off(const struct profile *p)
{
        for (uint32_t i = 0; i < p->mark_count; i++)
                if (p->marks[i].type == LEDGER_MARK_ENABLE)
                        return false;
        return profile_started_off(p);
}

static bool block_covers(const struct profile_block *block, uint64_t address)
{
        return address == block->address ||
               (address > block->address && address - block->address < block->size);
}

const struct profile_block *profile_block_around(const struct profile *p, uint64_t address)
{
        /* packed: too many to look for one. */
        uint64_t low = FIND_FIRST(p->blocks ? p->block_count : 0, i,
                                  p->blocks[i].address <= address);

        while (low-- > 0)
                if (block_covers(&p->blocks[low], address))
                        return &p->blocks[low];
        return NULL;
}

const struct profile_scan *profile_scanned(const struct profile *p)
{
        return p->scan_count && !*p->scans[0].trouble && p->verdict_count == p->block_count
                       ? &p->scans[0]
                       : NULL;
}

const char *profile_scan_word(uint32_t when)
{
        static const char *const words[] = { [PROFILE_SCAN_EXIT] = "exit",
                                             [PROFILE_SCAN_EXEC] = "exec",
                                             [PROFILE_SCAN_ASKED] = "asked",
                                             [PROFILE_SCAN_API] = "api",
                                             [PROFILE_SCAN_SIGNAL] = "signal",
                                             [PROFILE_SCAN_CORE] = "core" };

        return when < sizeof words / sizeof *words ? words[when] : "unknown";
}

const char *profile_keeper_word(uint32_t keeper)
{
        static const char *const words[] = {
#define PROFILE_KEEPER_WORD(name, number, word) [number] = word,
                PROFILE_KEEPERS(PROFILE_KEEPER_WORD)
#undef PROFILE_KEEPER_WORD
        };

        return keeper < PROFILE_KEEPER_COUNT ? words[keeper] : words[PROFILE_KEEPER_OTHER];
}

const char *profile_leak_word(uint32_t leak)
{
        static const char *const words[] = {
#define LEAK_WORD(name, number, word, text) [number] = word,
                PROFILE_LEAKS(LEAK_WORD)
#undef LEAK_WORD
        };

        return words[leak < PROFILE_LEAK_COUNT ? leak : PROFILE_LEAK_UNKNOWN];
}

const char *profile_leak_text(uint32_t leak)
{
        static const char *const texts[] = {
#define LEAK_TEXT(name, number, word, text) [number] = text,
                PROFILE_LEAKS(LEAK_TEXT)
#undef LEAK_TEXT
        };

        return texts[leak < PROFILE_LEAK_COUNT ? leak : PROFILE_LEAK_UNKNOWN];
}

const char *profile_kind_name(const struct profile *p, uint32_t kind)
{
        static const char *const names[] = {
#define KIND_NAME(name, number, text, family) [number] = text,
                LEDGER_KINDS(KIND_NAME)
#undef KIND_NAME
        };

        if (LEDGER_KIND_IS_RESOURCE(kind))
                return kind - LEDGER_KIND_TYPE_FIRST < p->type_count
                               ? p->types[kind - LEDGER_KIND_TYPE_FIRST]
                               : "unknown";
        if (kind == PROFILE_KIND_OLDER)
                return "older";
        return kind < LEDGER_KIND_COUNT ? names[kind] : "unknown";
}

bool profile_is_older(const struct profile *p, uint32_t site)
{
        return site < p->site_count && p->sites[site].kind == PROFILE_KIND_OLDER;
}

bool profile_is_seen(const struct profile *p, uint32_t site)
{
        return !profile_is_walked(p) && !profile_is_older(p, site);
}
