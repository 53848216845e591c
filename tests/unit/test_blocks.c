/* SPDX-License-Identifier: MIT */
#include "tap.h"

#include "forge.h"
#include "report/views.h"

static char *blocks_of(const struct profile *p, struct blocks_options options, struct filter *f)
{
        struct select_request request = { .cost = SELECT_LIVE, .filter = f };
        struct symbols *s = forge_symbols(p);
        struct str out = { 0 };
        struct selection sel;
        struct err e = { 0 };

        is_true(select_make(&sel, p, s, &request, &e));
        blocks_write(&sel, s, &options, &out);
        select_free(&sel);
        symbols_free(s);
        return out.data;
}

static void forge_blocks(struct profile *p)
{
        forge_usual(p);
        forge_thread(p, 41, "main");
        forge_thread(p, 42, "worker");
        forge_block(p, 0x1000, 4, FORGE_SITE_TINY, 1, 1000);
        forge_block(p, 0x2000, 600, FORGE_SITE_PARSE, 2, 8500);
        p->regions = heap_zero(1, sizeof *p->regions);
        p->regions[0] = (struct profile_region){ 0x7000, 0x8000, FORGE_SITE_MMAP, 1, 0, 0 };
        p->region_count = 1;
}

TEST(blocks_have_address_size_time_thread_and_stack)
{
        struct profile p;
        char *text;

        forge_blocks(&p);
        text = blocks_of(&p, (struct blocks_options){ 0 }, NULL);
        is_text(text, "2 blocks not freed, 604 B\n"
                      "\n"
                      "0x2000          600 B, at 8.5 s, age 1.5 s, thread worker (42), by malloc\n"
                      "    parse [/src/a.c:10]\n"
                      "    load [/src/l.c:7]\n"
                      "    main [/src/m.c:1]\n"
                      "\n"
                      "0x1000          4 B, at 1.0 s, age 9.0 s, thread main (41), by malloc\n"
                      "    tiny\n"
                      "    main [/src/m.c:2]\n"
                      "\n"
                      "1 region mapped by mmap, 4,096 B\n"
                      "\n"
                      "0x7000          4,096 B, at 0 ms, age 10.0 s, thread main (41), by mmap\n"
                      "    load [/src/l.c:7]\n"
                      "    main [/src/m.c:1]\n"
                      "\n");
        free(text);
        profile_free(&p);
}

TEST(the_oldest_can_come_first_and_the_rest_is_counted)
{
        struct profile p;
        char *text;

        forge_blocks(&p);
        text = blocks_of(&p, (struct blocks_options){ .oldest_first = true, .limit = 1 }, NULL);
        has_text(text, "\n\n0x1000          4 B");
        has_text(text, "1 more (-n 1)\n");
        is_true(!strstr(text, "0x2000"));
        free(text);
        profile_free(&p);
}

TEST(filters_choose_blocks_by_stack_and_thread)
{
        struct filter f = { 0 };
        struct err e = { 0 };
        struct profile p;
        char *text;

        forge_blocks(&p);
        filter_add(&f, FILTER_INCLUDE, "^main$", &e);
        filter_add(&f, FILTER_THREAD, "^work", &e);
        text = blocks_of(&p, (struct blocks_options){ .filter = &f }, &f);
        has_text(text, "1 block not freed, 600 B\n");
        is_true(!strstr(text, "0x1000") && !strstr(text, "0x7000"));
        free(text);
        filter_free(&f);
        profile_free(&p);
}

TEST(threads_are_a_table_with_the_busiest_first)
{
        struct str out = { 0 };
        struct profile p;

        forge_blocks(&p);
        p.threads[1].allocations = 5;
        p.threads[1].bytes_allocated = 100;
        p.threads[2].allocations = 12345;
        p.threads[2].bytes_allocated = 2048;
        p.threads[2].end_ms = 7000;
        p.threads[0].allocations = 7;
        p.threads[0].bytes_allocated = 70;
        free(p.threads[0].name);
        p.threads[0].name = heap_text("other threads");
        threads_write(&p, &(struct threads_options){ 0 }, &out);
        is_text(str_get(&out),
                " thread name             allocations      bytes  not freed      bytes      since\n"
                "     42 worker                12,345    2.0 KiB          0        0 B       0 ms\n"
                "     41 main                       5      100 B          0        0 B       0 ms\n"
                "      - other threads              7       70 B          0        0 B       0 "
                "ms\n");
        str_free(&out);
        profile_free(&p);
}

/* More than are sorted at once. */
TEST(very_many_blocks_come_in_order)
{
        enum { MANY = (1 << 20) + 5000, SHOWN = 3000 };
        uint64_t state = 1, wrong = 0, before = UINT64_MAX, address = 0;
        struct profile p;
        char *text, *at;
        int shown = 0;

        forge_usual(&p);
        forge_thread(&p, 41, "main");
        p.blocks = heap_zero(MANY, sizeof *p.blocks);
        for (uint64_t i = 0; i < MANY; i++) {
                state = state * 6364136223846793005ull + 1442695040888963407ull;
                p.blocks[i] = (struct profile_block){ 0x1000 + i * 16, state >> 40, FORGE_SITE_TINY,
                                                      1, 0 };
        }
        p.block_count = MANY;
        p.blocks[MANY - 1].thread = 77; /* of which nothing is known */
        text = blocks_of(&p, (struct blocks_options){ .csv = true, .limit = SHOWN }, NULL);
        for (at = strchr(text, '\n') + 1; *at; at = strchr(at, '\n') + 1, shown++) {
                uint64_t here = strtoull(at, &at, 16), size = strtoull(at + 1, &at, 10);

                wrong += size > before || (size == before && here <= address) ||
                         p.blocks[(here - 0x1000) / 16].size != size;
                before = size;
                address = here;
        }
        is_equal(shown, SHOWN);
        is_equal(wrong, 0);
        for (uint64_t i = 0, larger = 0; i < MANY; i++) {
                larger += p.blocks[i].size > before;
                wrong += larger > SHOWN;
        }
        is_equal(wrong, 0);
        free(text);
        profile_free(&p);
}

TAP_MAIN(very_many_blocks_come_in_order, blocks_have_address_size_time_thread_and_stack,
         the_oldest_can_come_first_and_the_rest_is_counted,
         filters_choose_blocks_by_stack_and_thread, threads_are_a_table_with_the_busiest_first)
