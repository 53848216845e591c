/* SPDX-License-Identifier: MIT */
/*
 * shelf.c -- the ELF files below a directory, by build id.
 *
 * Room:   outside.
 */
#include "names/shelf.h"

#include <fts.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "names/binary.h"

static int shelf_compare(const void *a, const void *b)
{
        const struct shelf_entry *x = a, *y = b;
        int order = memcmp(x->id, y->id, sizeof x->id);

        if (order)
                return order;
        if (x->id_bytes != y->id_bytes)
                return x->id_bytes < y->id_bytes ? -1 : 1;
        return x->path && y->path ? strcmp(x->path, y->path) : 0;
}

static void shelf_add(struct shelf *s, const char *path)
{
        struct shelf_entry entry = { 0 };

        entry.id_bytes = binary_build_id(path, entry.id);
        if (!entry.id_bytes)
                return;
        entry.path = heap_text(path);
        s->entries = heap_grow(s->entries, s->count + 1, sizeof *s->entries);
        s->entries[s->count++] = entry;
}

void shelf_read(struct shelf *s, const char *dir)
{
        char *root = heap_text(dir), *roots[] = { root, NULL };
        FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL);
        uint32_t seen = 0;
        FTSENT *entry;

        s->read = true;
        while (walk && !s->cut && (entry = fts_read(walk))) {
                if (entry->fts_info != FTS_F)
                        continue;
                s->cut = ++seen > SHELF_FILES;
                if (!s->cut)
                        shelf_add(s, entry->fts_path);
        }
        if (walk)
                fts_close(walk);
        if (s->count)
                qsort(s->entries, s->count, sizeof *s->entries, shelf_compare);
        free(root);
}

void shelf_free(struct shelf *s)
{
        for (size_t i = 0; i < s->count; i++)
                free(s->entries[i].path);
        free(s->entries);
        *s = (struct shelf){ 0 };
}

bool shelf_walk(const struct shelf *s, const struct profile_module *wanted, places_visit *visit, void *context)
{
        struct shelf_entry key = { .id_bytes = wanted->build_id_bytes };
        size_t low = 0, high = s->count;

        if (wanted->build_id_bytes == 0 || wanted->build_id_bytes > sizeof key.id)
                return false;
        memcpy(key.id, wanted->build_id, wanted->build_id_bytes);
        while (low < high) {
                size_t middle = low + (high - low) / 2;

                if (memcmp(s->entries[middle].id, key.id, sizeof key.id) < 0)
                        low = middle + 1;
                else
                        high = middle;
        }
        for (; low < s->count && memcmp(s->entries[low].id, key.id, sizeof key.id) == 0; low++)
                if (s->entries[low].id_bytes == key.id_bytes && visit(context, s->entries[low].path))
                        return true;
        return false;
}
