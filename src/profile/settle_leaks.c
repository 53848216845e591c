/* SPDX-License-Identifier: MIT */
/*
 * settle_leaks.c -- checks that make the results of a leak search safe to use after they were read.
 *
 * Keeps:  verdicts belong to blocks by their place in the array: with a block missing they would be
 *         about others, so all go.  The graph is whole or not there.
 */
#include "profile/settle.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"

static void drop(struct profile *p, unsigned array)
{
        format_free_texts(array, format_records(p, array), format_count(p, array));
        free(*format_array(p, array));
        *format_array(p, array) = NULL;
        format_set_count(p, array, 0);
        if (format_packed(p, array)) {
                free(format_packed(p, array)->sections);
                *format_packed(p, array) = (struct profile_packed){ 0 };
        }
}

static void drop_graph(struct profile *p)
{
        drop(p, FORMAT_ROOTS);
        drop(p, FORMAT_FRAMES);
        drop(p, FORMAT_HOLDS);
        drop(p, FORMAT_POINTERS);
        if (p->scan_count)
                p->scans[0].flags &= ~PROFILE_SCAN_GRAPH;
}

static bool blocks_are_sorted(const struct profile *p)
{
        for (uint64_t i = 1; p->blocks && i < p->block_count; i++)
                if (p->blocks[i - 1].address > p->blocks[i].address)
                        return false;
        return true;
}

static void settle_verdicts(struct profile *p)
{
        if (p->packed_verdicts.sections)
                return; /* whoever walks over them looks */
        for (uint64_t i = 0; i < p->verdict_count; i++)
                if (p->verdicts[i].leak >= PROFILE_LEAK_COUNT)
                        p->verdicts[i].leak = PROFILE_LEAK_UNKNOWN;
        for (uint64_t i = 0; i < p->verdict_count; i++) {
                struct profile_verdict *v = &p->verdicts[i];

                if (v->leak != PROFILE_LEAK_INDIRECT || v->head > p->verdict_count ||
                    (v->head && p->verdicts[v->head - 1].leak != PROFILE_LEAK_DEFINITE))
                        v->head = 0;
        }
}

static void settle_contents(struct profile *p)
{
        bool right = true;

        for (uint32_t i = 0; i < p->content_count; i++) {
                right &= p->contents[i].block < p->block_count &&
                         (!i || p->contents[i - 1].block < p->contents[i].block);
                if (p->contents[i].bytes > PROFILE_CONTENT_BYTES)
                        p->contents[i].bytes = PROFILE_CONTENT_BYTES;
        }
        if (!right)
                drop(p, FORMAT_CONTENTS);
}

static bool roots_are_right(const struct profile *p)
{
        for (uint32_t i = 0; i < p->root_count; i++)
                if (p->roots[i].end < p->roots[i].start || p->roots[i].kind >= PROFILE_ROOT_COUNT ||
                    (p->roots[i].module != PROFILE_NO_MODULE &&
                     p->roots[i].module >= p->module_count) ||
                    p->roots[i].region > p->region_count)
                        return false;
        for (uint32_t i = 0; i < p->frame_count; i++)
                if (p->frames[i].high < p->frames[i].low ||
                    (p->frames[i].module != PROFILE_NO_MODULE &&
                     p->frames[i].module >= p->module_count))
                        return false;
        return true;
}

static bool pointers_are_right(const struct profile *p)
{
        for (uint64_t i = 0; i < p->hold_count; i++)
                if (p->holds[i].from >= p->root_count || p->holds[i].to >= p->block_count ||
                    (i && p->holds[i - 1].from > p->holds[i].from))
                        return false;
        /* Of packed ones whoever walks over them looks. */
        for (uint64_t i = 0; p->pointers && i < p->pointer_count; i++)
                if (p->pointers[i].from >= p->block_count || p->pointers[i].to >= p->block_count ||
                    (i && p->pointers[i - 1].from > p->pointers[i].from))
                        return false;
        return true;
}

static bool verdicts_are_right(const struct profile *p)
{
        return p->verdict_count == p->block_count && blocks_are_sorted(p) &&
               (!p->verdict_count || profile_scanned(p));
}

void settle_leaks(struct profile *p, bool whole)
{
        /* Only the first is ever looked at. */
        if (p->scan_count > 1) {
                format_free_texts(FORMAT_SCANS, p->scans + 1, p->scan_count - 1);
                p->scan_count = 1;
        }
        if (p->scan_count && p->scans[0].when > PROFILE_SCAN_CORE)
                p->scans[0].when = PROFILE_SCAN_ASKED;
        if (!verdicts_are_right(p)) {
                drop(p, FORMAT_VERDICTS);
                drop(p, FORMAT_CONTENTS);
                drop_graph(p);
                if (p->scan_count && !*p->scans[0].trouble) {
                        free(p->scans[0].trouble);
                        p->scans[0].trouble = heap_text("a part of the file is missing");
                }
        }
        settle_verdicts(p);
        settle_contents(p);
        if (!whole || !roots_are_right(p) || !pointers_are_right(p) || !p->scan_count ||
            !(p->scans[0].flags & PROFILE_SCAN_GRAPH))
                drop_graph(p);
}
