/* SPDX-License-Identifier: MIT */
/* sqlite_types.c -- rows about types of blocks, and about all blocks of a site. */
#include "export/sqlite_parts.h"
#include "profile/packed.h"
#include "query/type_blocks.h"

static void put_type(struct sqlite_parts *m, const struct type_blocks *t, uint64_t id,
                     const struct type_known *known)
{
        if (!known->name)
                return;
        rows_number(&m->rows, id);
        rows_text(&m->rows, t->names[known->name - 1]);
        rows_text(&m->rows, types_way_word((enum types_way)known->way));
        rows_next(&m->rows);
}

void sqlite_put_types(struct sqlite_parts *m)
{
        struct packed_walk w;
        struct type_blocks t;

        if (!rows_wanted(&m->rows, "site_type") && !rows_wanted(&m->rows, "block_type"))
                return;
        type_blocks_make(&t, m->p, m->symbols, m->chosen);
        if (rows_begin(&m->rows, "site_type")) {
                for (uint32_t i = 1; i < m->p->site_count; i++)
                        if (m->chosen[i] && m->sel->leaders[i] == i)
                                put_type(m, &t, i, &t.sites[i]);
                rows_end(&m->rows);
        }
        if (rows_begin(&m->rows, "block_type")) {
                packed_open(&w, m->p);
                while (packed_next(&w)) {
                        uint32_t site = w.block->site;

                        if (site < m->p->site_count && m->chosen[site])
                                put_type(m, &t, w.index + 1, type_of_block(&t, w.index));
                }
                packed_close(&w);
                rows_end(&m->rows);
        }
        type_blocks_free(&t);
}
