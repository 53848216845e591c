/* SPDX-License-Identifier: MIT */
/*
 * maps.c -- which file was mapped where, as in /proc/PID/maps: for tools that translate addresses
 * elsewhere.
 *
 * Keeps:  lines are sorted and do not overlap; of a line with a file, address - start + offset
 *         is the place in that file.
 *
 * The code of each program and library that was ever mapped, as the agent saw it, and around
 * it the mappings of the last look at the process.  Code counts first: libraries that were
 * closed before that look are in no mapping.  Where several were at one place, one after
 * another, the last one is told.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/find.h"
#include "base/heap.h"
#include "base/order.h"
#include "export/export.h"

struct line {
        uint64_t start, end, offset, device, inode;
        uint32_t flags; /* PROFILE_MAPPING_* */
        const char *name;
        uint64_t order; /* of two at one place the higher one stays */
        bool code;
};

struct lines {
        struct line *at;
        uint32_t count, lost; /* lost: modules that another one took the place of */
};

ORDER_BY(by_start, struct line, start)

static int by_order(const void *a, const void *b)
{
        const struct line *x = a, *y = b;

        return ORDER(y->code, x->code) ?: ORDER(y->order, x->order);
}

static bool same_place(const struct line *a, const struct line *b)
{
        return a->start < b->end && b->start < a->end;
}

/* Whether the code of module I is that of B: a scan of the process may have told of one file
 * twice. */
static bool same_code(const struct line *a, const struct line *b)
{
        return a->code && b->code && a->start == b->start && a->inode == b->inode &&
               a->device == b->device;
}

static void add_modules(const struct profile *p, struct lines *l)
{
        for (uint32_t i = 0; i < p->module_count; i++) {
                const struct profile_module *m = &p->modules[i];

                if (m->code_end > m->code_start)
                        l->at[l->count++] = (struct line){
                                m->code_start, m->code_end, m->code_offset, m->device, m->inode,
                                PROFILE_MAPPING_READ | PROFILE_MAPPING_EXECUTE, m->path, i, true };
        }
}

static void add_mappings(const struct profile *p, struct lines *l)
{
        for (uint32_t i = 0; i < p->mapping_count; i++) {
                const struct profile_mapping *m = &p->mappings[i];

                if (m->end > m->start)
                        l->at[l->count++] = (struct line){ m->start, m->end, m->offset, m->device,
                                                           m->inode, m->flags, m->name, i, false };
        }
}

/* The last line that begins before END, of COUNT that are sorted and do not overlap; NULL: none. */
static const struct line *before(const struct line *kept, uint32_t count, uint64_t end)
{
        uint32_t low = (uint32_t)FIND_FIRST(count, i, kept[i].start < end);

        return low ? &kept[low - 1] : NULL;
}

/* Code that nothing later took the place of.  Few modules: programs have hundreds, not millions. */
static uint32_t keep_code(struct lines *l, uint32_t modules)
{
        uint32_t kept = 0;

        qsort(l->at, modules, sizeof *l->at, by_order);
        for (uint32_t i = 0; i < modules; i++) {
                uint32_t j = 0;

                while (j < kept && !same_place(&l->at[i], &l->at[j]))
                        j++;
                if (j == kept)
                        l->at[kept++] = l->at[i];
                else if (!same_code(&l->at[i], &l->at[j]))
                        l->lost++;
        }
        qsort(l->at, kept, sizeof *l->at, by_start);
        return kept;
}

static void put_line(const struct line *line, struct str *out)
{
        size_t begin = out->length;

        str_format(out, "%08" PRIx64 "-%08" PRIx64 " %c%c%c%c %08" PRIx64 " %02x:%02x %" PRIu64 " ",
                   line->start, line->end, line->flags & PROFILE_MAPPING_READ ? 'r' : '-',
                   line->flags & PROFILE_MAPPING_WRITE ? 'w' : '-',
                   line->flags & PROFILE_MAPPING_EXECUTE ? 'x' : '-',
                   line->flags & PROFILE_MAPPING_SHARED ? 's' : 'p', line->offset,
                   (uint32_t)(line->device >> 32), (uint32_t)line->device, line->inode);
        if (line->name && *line->name) {
                while (out->length - begin < 73) /* where the kernel has them */
                        str_char(out, ' ');
                str_text(out, line->name);
        }
        str_char(out, '\n');
}

static bool known(const struct export_input *in, struct err *e)
{
        for (uint32_t i = 0; i < in->profile->module_count; i++)
                if (in->profile->modules[i].code_end)
                        return true;
        return err_set(e, ERR_EXIT_USAGE,
                       "--to maps: an earlier version of seep made this recording, without the "
                       "places of code in files; record again, or use `seep symbolize`");
}

bool export_maps(const struct export_input *in, struct str *out, struct err *e)
{
        const struct profile *p = in->profile;
        struct lines l = { .at = heap_zero((size_t)p->module_count + p->mapping_count,
                                           sizeof(struct line)) };
        uint32_t code, all, modules;
        bool good = known(in, e);

        add_modules(p, &l);
        modules = l.count;
        code = all = keep_code(&l, modules);
        add_mappings(p, &l);
        for (uint32_t i = modules; i < l.count; i++) {
                const struct line *around = before(l.at, code, l.at[i].end);

                if (!around || !same_place(around, &l.at[i]))
                        l.at[all++] = l.at[i];
        }
        qsort(l.at, all, sizeof *l.at, by_start);
        for (uint32_t i = 0; good && i < all; i++)
                put_line(&l.at[i], out);
        if (l.lost && in->remarks)
                str_format(in->remarks,
                           "%u %s unloaded and others took %s place: addresses there belong to the "
                           "last one\n", l.lost, l.lost == 1 ? "library was" : "libraries were",
                           l.lost == 1 ? "its" : "their");
        free(l.at);
        return good;
}
