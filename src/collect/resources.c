/* SPDX-License-Identifier: MIT */
/*
 * resources.c -- things with a handle that a program holds: file descriptors, textures, locks.
 *
 * Room:   outside.
 */
#include "collect/resources.h"

#include <stdlib.h>

#include "base/heap.h"
#include "collect/marks.h"

#define RESOURCES_NAME_BYTES 128u

void resources_types(const struct view *v, struct profile *p)
{
        p->type_count = v->head.type_count < LEDGER_TYPES_MAX ? v->head.type_count : LEDGER_TYPES_MAX;
        p->types = heap_zero(p->type_count, sizeof *p->types);
        for (uint32_t i = 0; i < p->type_count; i++)
                p->types[i] = marks_text(v, v->head.type_name[i], RESOURCES_NAME_BYTES);
}

void resources_handles(const struct view *v, const uint32_t *site_map, uint32_t site_count, struct profile *p)
{
        uint32_t count = v->head.handle_count;
        struct ledger_handle *raw = view_table(v, LEDGER_HANDLES, &count, sizeof *raw);

        p->handles = heap_zero(count, sizeof *p->handles);
        for (uint32_t i = 0; i < count; i++) {
                uint32_t site = raw[i].site < site_count ? site_map[raw[i].site] : 0;

                if (!site || !LEDGER_KIND_IS_RESOURCE(p->sites[site].kind))
                        continue;
                p->handles[p->handle_count++] = (struct profile_handle){
                        .handle = raw[i].handle,
                        .amount = raw[i].amount,
                        .site = site,
                        .thread = raw[i].thread < p->thread_count ? raw[i].thread : 0,
                        .birth_ms = raw[i].birth_ms,
                };
        }
        free(raw);
}
