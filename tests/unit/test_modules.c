/* SPDX-License-Identifier: MIT */
/*
 * test_modules.c -- libraries that come, go and come back: the entries that the agent gives them,
 * what a reader makes of those, and tables that are full.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "agent/agent.h"
#include "agent/arena.h"
#include "agent/maps.h"
#include "agent/module.h"
#include "agent/object.h"
#include "agent/ring.h"
#include "collect/collect.h"
#include "profile/model.h"
#include "profile/unseen.h"
#include "specimen.h"
#include "tap.h"

/* ---- the agent's surroundings ---- */

struct agent agent;
struct book agent_book;
static uint32_t room = LEDGER_MODULES_MAX;

/* As the agent's: nobody gives it back. */
void *arena_private(size_t size)
{
        return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* What is not open cannot be touched, here neither. */
void *arena_table(struct arena_table *t, uint64_t size)
{
        t->at = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        t->size = size;
        return t->at;
}

bool arena_table_open(struct arena_table *t, uint64_t bytes)
{
        return bytes <= t->size && mprotect(t->at, bytes, PROT_READ | PROT_WRITE) == 0;
}

bool arena_commit(enum ledger_part part, uint64_t bytes)
{
        return part != LEDGER_MODULES || bytes <= room * sizeof(struct ledger_module);
}

uint32_t book_string(struct book *k, const char *text)
{
        (void)k;
        uint32_t at = agent.head->string_bytes;

        strcpy((char *)arena_at(LEDGER_STRINGS) + at, text);
        agent.head->string_bytes += (uint32_t)strlen(text) + 1;
        return at;
}

void ring_write(const struct thread *t, enum ledger_event_type type, uint32_t kind, uint32_t site,
                uint64_t address, uint64_t size)
{
        (void)t, (void)type, (void)kind, (void)site, (void)address, (void)size;
}

static void open_agent(struct specimen *f, uint32_t most)
{
        specimen_open(f);
        agent.head = f->head;
        agent_book.head = f->head;
        room = most;
        module_start();
}

/* Code of FILE at START. */
static struct object load(const char *path, uint64_t ino, uint64_t start)
{
        struct object o = { .start = start,
                            .code = start + 0x1000,
                            .end = start + 0x2000,
                            .ino = ino,
                            .anonymous = !*path };
        struct maps_line line = { .start = o.code, .end = o.end, .ino = ino, .path = path };

        module_enter(&o, &line);
        return o;
}

/* The module that nodes name, when its headers say PRINT. */
static uint32_t settle(struct object *o, uint64_t print)
{
        struct ledger_module found = { .end = o->start + 0x4000,
                                       .bias = o->start,
                                       .build_id_bytes = 8 };

        memcpy(found.build_id, &print, 8);
        return module_settle(o, &found, print);
}

static struct ledger_module *entry(uint32_t number)
{
        return (struct ledger_module *)arena_at(LEDGER_MODULES) + number;
}

static void collect_all(const struct specimen *f, struct profile *p)
{
        struct view v = specimen_view(f);
        struct collect_input in = { .view = &v, .ended = true };

        collect(&in, p);
        view_close(&v);
}

/* ---- what the agent does ---- */

TEST(a_library_that_comes_back_is_the_same_wherever_it_is)
{
        struct specimen f;
        uint32_t first = MODULE_NONE;

        open_agent(&f, 10);
        for (uint64_t i = 1; i <= 100000; i++) {
                struct object o = load("/lib/a.so", 7, i << 20);
                uint32_t module = settle(&o, 42);

                if (i == 1)
                        first = module;
                if (module != first || o.module != first || entry(first)->start != i << 20 ||
                    entry(first)->bias != i << 20 || entry(first)->gone_ms)
                        break;
                module_leave(&o);
                if (!entry(first)->gone_ms)
                        break;
                if (i == 100000)
                        is_equal(f.head->module_count, 1);
        }
        is_equal(f.head->modules_not_kept, 0);
        specimen_close(&f);
}

TEST(another_content_at_the_same_path_is_another_module)
{
        struct specimen f;
        struct object o;
        uint32_t one, two;

        open_agent(&f, 10);
        o = load("/lib/a.so", 7, 1 << 20);
        one = settle(&o, 42);
        module_leave(&o);
        o = load("/lib/a.so", 7, 1 << 20);
        is_equal(o.module, one); /* as far as anybody can know */
        two = settle(&o, 43);
        is_true(two != one);
        is_true(entry(one)->gone_ms && !entry(two)->gone_ms);
        module_leave(&o);
        o = load("/lib/a.so", 8, 2 << 20); /* the first one, as another file */
        is_equal(settle(&o, 42), one);
        is_equal(o.module, one);
        is_equal(entry(one)->start, 2 << 20);
        is_equal(f.head->module_count, 2);
        specimen_close(&f);
}

TEST(two_at_a_time_are_one_module_at_two_places)
{
        struct specimen f;
        struct object a, b;

        open_agent(&f, 10);
        a = load("/lib/a.so", 7, 1 << 20);
        b = load("/lib/a.so", 7, 2 << 20);
        is_equal(settle(&b, 42), b.module);
        is_equal(settle(&a, 42), b.module);
        is_true(a.module != b.module);
        is_equal(entry(a.module)->start, 1 << 20);
        is_true(entry(a.module)->flags & LEDGER_MODULE_PLACE);
        module_leave(&a);
        module_leave(&b);
        a = load("/lib/b.so", 9, 3 << 20);
        is_true(a.module != b.module); /* what a place left is given away, what nodes name never */
        is_equal(f.head->module_count, 2);
        specimen_close(&f);
}

TEST(code_without_a_file_needs_no_more_entries_than_there_are_at_once)
{
        struct specimen f;
        struct object keep, o;

        open_agent(&f, 3);
        keep = load("", 0, 1 << 20);
        is_equal(module_settle(&keep, &(struct ledger_module){ .end = 2 << 20 }, 1), 0);
        for (uint64_t i = 2; i < 1000; i++) {
                o = load("", 0, i << 20);
                is_equal(module_settle(&o, &(struct ledger_module){ .end = (i + 1) << 20 }, 1), 0);
                module_leave(&o);
        }
        is_true(f.head->module_count <= 2);
        is_equal(f.head->modules_not_kept, 0);
        specimen_close(&f);
}

TEST(a_full_table_is_counted_and_comes_back_into_use)
{
        struct specimen f;
        struct object o[4];
        char path[32];

        open_agent(&f, 2);
        for (unsigned i = 0; i < 4; i++) {
                snprintf(path, sizeof path, "/lib/%u.so", i);
                o[i] = load(path, i, (i + 1ull) << 20);
                is_equal(settle(&o[i], 100 + i), i < 2 ? i : MODULE_NONE);
        }
        is_equal(f.head->modules_not_kept, 2);
        module_leave(&o[3]);
        module_leave(&o[0]);
        o[0] = load("/lib/0.so", 0, 9 << 20);
        is_equal(settle(&o[0], 100), 0);
        is_equal(f.head->module_count, 2);
        specimen_close(&f);
}

TEST(a_child_does_not_give_numbers_that_its_parent_gave_meanwhile)
{
        struct specimen f;
        struct object a, b;

        open_agent(&f, 10);
        a = load("/lib/a.so", 7, 1 << 20);
        settle(&a, 42);
        f.head->module_count = 3;
        module_forked();
        module_again(&a);
        b = load("/lib/b.so", 8, 2 << 20);
        is_equal(b.module, 3);
        specimen_close(&f);
}

/* ---- what a reader makes of it ---- */

TEST(addresses_of_stacks_are_those_of_the_place_where_a_module_was_last)
{
        struct specimen f;
        struct profile p;
        struct object o;
        uint32_t node;

        open_agent(&f, 10);
        o = load("/lib/a.so", 7, 0x7f0000100000);
        settle(&o, 42);
        node = specimen_node(&f, 0, 0x1234);
        /* of module 0 */
        ((struct ledger_node *)specimen_part(&f, LEDGER_NODES))[node].pc_module = 0x1234;
        specimen_site(&f, node, LEDGER_KIND_MALLOC);
        specimen_site(&f, specimen_node(&f, 0, 0x5678), LEDGER_KIND_MALLOC);
        module_leave(&o);
        o = load("/lib/a.so", 7, 0x7f0000900000);
        collect_all(&f, &p);
        is_equal(p.module_count, 1);
        is_equal(p.nodes[p.sites[1].node].pc, 0x7f0000901234);
        is_equal(p.nodes[p.sites[1].node].module, 0);
        is_equal(p.modules[0].bias, 0x7f0000900000);
        is_equal(p.nodes[p.sites[2].node].pc, 0x5678);
        is_equal(p.nodes[p.sites[2].node].module, PROFILE_NO_MODULE);
        profile_free(&p);
        specimen_close(&f);
}

TEST(a_place_that_no_stack_names_is_no_module_of_its_own)
{
        struct specimen f;
        struct profile p;
        struct ledger_module *m;

        specimen_open(&f);
        m = specimen_part(&f, LEDGER_MODULES);
        m[0] = (struct ledger_module){ .start = 0x1000,
                                       .end = 0x2000,
                                       .bias = 0x1000,
                                       .path = specimen_string(&f, "/x"),
                                       .gone_ms = 5,
                                       .build_id_bytes = 1 };
        m[1] = m[2] = m[3] = m[0];
        m[1].flags = m[2].flags = m[3].flags = LEDGER_MODULE_PLACE;
        m[2].start = m[2].bias = 0x9000;
        m[2].end = 0xa000;
        m[2].gone_ms = 0;
        f.head->module_count = 4;
        collect_all(&f, &p);
        is_equal(p.module_count, 1);
        is_equal(p.modules[0].start, 0x9000);
        is_equal(p.modules[0].gone_ms, 0);
        profile_free(&p);
        specimen_close(&f);
}

TEST(threads_without_an_entry_are_told_together)
{
        struct specimen f;
        struct profile p;
        struct ledger_thread *others;
        struct ledger_slot *slot;

        specimen_open(&f);
        f.head->thread_count = LEDGER_THREADS_MAX;
        f.head->threads_not_kept = 7;
        others = (struct ledger_thread *)specimen_part(&f, LEDGER_THREADS) + LEDGER_THREAD_OTHERS;
        for (uint32_t i = 1; i < LEDGER_THREAD_OTHERS; i++)
                (others - i)->tid = i; /* entries without memory are none */
        others->last_allocs = 100;
        others->last_alloc_bytes = 5000;
        memcpy(others->name, "one of them", 12);
        slot = specimen_slot_at(&f, specimen_slot(&f, LEDGER_THREAD_OTHERS));
        slot->allocs = 30;
        slot->base_allocs = 20;
        slot->alloc_bytes = 900;
        slot->base_alloc_bytes = 400;
        collect_all(&f, &p);
        is_equal(p.thread_count, LEDGER_THREADS_MAX);
        is_text(p.threads[LEDGER_THREAD_OTHERS].name, "other threads");
        is_equal(p.threads[LEDGER_THREAD_OTHERS].allocations, 110);
        is_equal(p.threads[LEDGER_THREAD_OTHERS].bytes_allocated, 5500);
        has_text(p.meta.warnings[0], "the table of threads is full (65533): 7 later threads are "
                                     "counted together, as 'other threads'");
        profile_free(&p);
        specimen_close(&f);
}

TEST(every_full_table_says_so_once_and_stays_in_the_file)
{
        struct specimen f;
        struct profile p;
        struct str json = { 0 };

        specimen_open(&f);
        f.head->modules_not_kept = 1;
        f.head->threads_not_kept = 2;
        f.head->regions_not_kept = 3;
        f.head->handles_not_kept = 4;
        f.head->faults_not_kept = 5;
        f.head->roots_not_kept = 6;
        f.head->marks_not_kept = 7;
        f.head->deaths_not_kept = 8;
        f.head->strings_not_kept = 9;
        collect_all(&f, &p);
        is_equal(p.meta.warning_count, 9);
        for (uint32_t i = 0; i < p.meta.warning_count; i++)
                has_text(p.meta.warnings[i], "is full");
        is_true(!unseen_any(&p)); /* names are missing, no memory */
        unseen_full_json(&p, &json);
        has_text(str_get(&json), "[{\"table\": \"modules\", \"not_kept\": 1, \"text\": \"the table "
                                 "of modules is full (32767)");
        has_text(str_get(&json), "{\"table\": \"names\", \"not_kept\": 9,");
        str_free(&json);
        profile_free(&p);
        specimen_close(&f);
}

TAP_MAIN(a_library_that_comes_back_is_the_same_wherever_it_is,
         another_content_at_the_same_path_is_another_module,
         two_at_a_time_are_one_module_at_two_places,
         code_without_a_file_needs_no_more_entries_than_there_are_at_once,
         a_full_table_is_counted_and_comes_back_into_use,
         a_child_does_not_give_numbers_that_its_parent_gave_meanwhile,
         addresses_of_stacks_are_those_of_the_place_where_a_module_was_last,
         a_place_that_no_stack_names_is_no_module_of_its_own,
         threads_without_an_entry_are_told_together,
         every_full_table_says_so_once_and_stays_in_the_file)
