/* SPDX-License-Identifier: MIT */
/* test_resources.c -- things with a handle. */
#include "report/views.h"

#include "export/report_json.h"
#include "forge.h"
#include "tap.h"

enum { FD = LEDGER_KIND_TYPE_FIRST, TEXTURE };

static void add_handle(struct profile *p, uint64_t handle, uint64_t amount, uint32_t site)
{
        p->handles = heap_grow(p->handles, p->handle_count + 1, sizeof *p->handles);
        p->handles[p->handle_count++] = (struct profile_handle){ .handle = handle,
                                                                 .amount = amount,
                                                                 .site = site };
}

/* load opened 5 files and closed 3; parse holds a texture of 4096 and opened a file that it
 * closed. */
static void with_resources(struct profile *p)
{
        struct profile_site *site;

        forge_usual(p);
        p->types = heap_zero(2, sizeof *p->types);
        p->types[0] = heap_text("fd");
        p->types[1] = heap_text("texture");
        p->type_count = 2;
        site = forge_site(p, 3, FD, 2, 2);
        site->allocs = 5;
        site->frees = 3;
        add_handle(p, 4, 1, FORGE_SITE_MMAP + 1);
        add_handle(p, 9, 1, FORGE_SITE_MMAP + 1);
        forge_site(p, 7, TEXTURE, 4096, 1);
        add_handle(p, 0x7f0000001000, 4096, FORGE_SITE_MMAP + 2);
        site = forge_site(p, 7, FD, 0, 0);
        site->allocs = site->frees = 1;
}

static void choose(struct selection *sel, const struct profile *p, struct symbols *s,
                   bool resources)
{
        struct err e = { 0 };

        is_true(select_make(sel, p, s,
                            &(struct select_request){ .cost = SELECT_LIVE, .resources = resources },
                            &e));
}

TEST(resources_are_listed_by_type_and_stack_with_their_handles)
{
        struct profile p;
        struct symbols *s;
        struct selection sel;
        struct str out = { 0 };

        with_resources(&p);
        s = forge_symbols(&p);
        choose(&sel, &p, s, true);
        resources_write(&sel, s, 0, &out);
        is_true(strncmp(str_get(&out), "fd: 2 not released, 6 acquired, 4 released\n", 43) == 0);
        has_text(str_get(&out), "\n   1. 2 not released, 5 acquired, 3 released\n      handles 4, "
                                "9\n        load [/src/l.c:7]\n");
        has_text(str_get(&out), "\n   2. 0 not released, 1 acquired, 1 released\n        ");
        has_text(str_get(&out),
                 "\ntexture: 1 not released, amount 4,096, 1 acquired, 0 released\n");
        has_text(str_get(&out), "      handles 0x7f0000001000\n");
        select_free(&sel);
        symbols_free(s);
        profile_free(&p);
        str_free(&out);
}

TEST(a_line_sums_up_what_was_not_released)
{
        struct profile p;
        struct str out = { 0 };

        with_resources(&p);
        is_true(resources_held(&p, &out));
        is_text(str_get(&out), "2 fd, 1 texture");
        profile_free(&p);
        str_clear(&out);
        forge_usual(&p);
        is_true(!resources_held(&p, &out));
        is_text(str_get(&out), "");
        profile_free(&p);
        str_free(&out);
}

TEST(resources_are_in_no_sum_of_the_heap)
{
        struct profile p;
        struct symbols *s;
        struct selection sel;

        with_resources(&p);
        s = forge_symbols(&p);
        choose(&sel, &p, s, false);
        is_equal(sel.heap.total_bytes, 1000);
        is_equal(sel.mapped.total_bytes, 4096);
        select_free(&sel);
        symbols_free(s);
        profile_free(&p);
}

TEST(json_lists_them_apart_from_the_sites)
{
        struct profile p;
        struct symbols *s;
        struct selection sel, resources;
        struct str out = { 0 };

        with_resources(&p);
        s = forge_symbols(&p);
        choose(&sel, &p, s, false);
        choose(&resources, &p, s, true);
        report_json_write(&sel, &resources, s, &out);
        has_text(str_get(&out), "\"resources\": [\n  {\"type\": \"fd\", \"id\": 8, "
                                "\"allocations\": 5, \"frees\": 3");
        has_text(str_get(&out), "\"handles\": [4, 9]");
        has_text(str_get(&out), "{\"type\": \"texture\", \"id\": 9");
        is_true(!strstr(str_get(&out), "\"kind\": \"fd\""));
        select_free(&sel);
        select_free(&resources);
        symbols_free(s);
        profile_free(&p);
        str_free(&out);
}

TAP_MAIN(resources_are_listed_by_type_and_stack_with_their_handles,
         a_line_sums_up_what_was_not_released, resources_are_in_no_sum_of_the_heap,
         json_lists_them_apart_from_the_sites)
