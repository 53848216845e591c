/* SPDX-License-Identifier: MIT */
/*
 * The answers of `seep why` on the search that forge_leaks.h draws.  Modules there have no files:
 * variables are told by their place.
 */
#include "tap.h"

#include "export/report_json.h"
#include "forge_leaks.h"
#include "query/why.h"
#include "report/views.h"
#include "sample.h"

static uint64_t address_of(uint32_t block)
{
        return 0x10000 + block * 0x100;
}

/* What is said about ADDRESS, or about SITE unless 0; the caller's to free.  *HELD unless NULL. */
static char *say(const struct profile *p, uint64_t address, uint32_t site, bool all, bool json,
                 bool *held)
{
        struct symbols *s = forge_symbols(p);
        struct why_options options = { 0 };
        struct str out = { 0 };
        struct err e = { 0 };
        struct why w;
        bool good = site ? why_site(&w, p, s, site, &e) : why_address(&w, p, s, address, &e);

        if (good && all)
                why_groups(&w);
        if (good)
                (json ? why_json : why_text)(&w, &options, &out);
        else
                str_format(&out, "%d: %s", e.exit_code, e.text);
        if (held)
                *held = good && w.held;
        why_free(&w);
        symbols_free(s);
        return out.data;
}

static void says(const struct profile *p, uint64_t address, const char *wanted)
{
        char *text = say(p, address, 0, false, false, NULL);

        if (!has_text(text, wanted))
                printf("# said: %s# wanted: %s\n", text, wanted);
        free(text);
}

TEST(the_path_goes_from_the_root_to_the_block)
{
        struct profile p;
        bool held;
        char *text;

        forge_leaky(&p);
        text = say(&p, address_of(5), 0, false, false, &held);
        is_true(held);
        is_text(text, "0x10500: 100 bytes, allocated at 50 ms by\n"
                      "  parse [/src/a.c:10] <- load [/src/l.c:7] (site #1)\n"
                      "\n"
                      "data at prog+0x600010\n"
                      "  ->                100 B, parse [/src/a.c:10]                  0x10300\n"
                      "  -> +0x8           100 B, parse [/src/a.c:10]                  0x10400\n"
                      "  -> +0x0           100 B, parse [/src/a.c:10]                  0x10500\n"
                      "\n"
                      "would free 100 B in 1 block if it went away\n"
                      "2 root pointers lead to it (--all lists them)\n");
        free(text);
        profile_free(&p);
}

TEST(every_kind_of_root_has_words)
{
        struct profile p;

        forge_leaky(&p);
        says(&p, address_of(15), "stack of inner [/src/w.c:61], frame 0 of thread main (100)\n");
        says(&p, address_of(12), "register rdx of thread main (100)\n  -> ");
        says(&p, address_of(10), "thread-local data of prog of thread main (100)\n  -> +0x10 ");
        says(&p, address_of(13), "memory mapped by load [/src/l.c:7]\n  -> +0x8 ");
        says(&p, address_of(11),
             "held, because the program said so with SEEP_IGNORE:\n  1 B, small");
        p.roots[FORGE_ROOT_TLS].kind = PROFILE_ROOT_THREAD;
        says(&p, address_of(10),
             "thread data of the C library (keys, argument, result) of thread main (100)\n");
        p.roots[FORGE_ROOT_MAPPING].kind = PROFILE_ROOT_API;
        says(&p, address_of(13), "SEEP_ROOT 0x20000, 4.0 KiB\n");
        p.roots[FORGE_ROOT_MAPPING].kind = PROFILE_ROOT_OTHER;
        says(&p, address_of(13), "memory of unknown origin\n");
        p.roots[FORGE_ROOT_MAPPING].kind = PROFILE_ROOT_PENDING;
        says(&p, address_of(13), "block that realloc is moving\n");
        profile_free(&p);
}

TEST(a_lost_block_is_said_to_be_lost)
{
        struct profile p;
        bool held = true;
        char *text;

        forge_leaky(&p);
        text = say(&p, address_of(0), 0, false, false, &held);
        is_true(!held);
        has_text(text, "\nnothing holds it: definitely lost\n\nlost with it: 300 B in 3 blocks, "
                       "itself included\n");
        free(text);
        text = say(&p, address_of(2), 0, false, false, &held);
        is_true(!held);
        has_text(text, "nothing holds it: indirectly lost, with a block that is definitely lost:\n"
                       "  100 B, parse [/src/a.c:10]                                    0x10000\n"
                       "  -> +0x0           100 B, parse [/src/a.c:10]                  0x10100\n"
                       "  -> +0x8           100 B, parse [/src/a.c:10]                  0x10200\n");
        free(text);
        says(&p, address_of(7),
             "nothing holds it: definitely lost (1 pointer in lost blocks only)\n");
        profile_free(&p);
}

TEST(a_possibly_lost_block_is_held_by_a_pointer_into_it)
{
        struct profile p;
        bool held = false;
        char *text;

        forge_leaky(&p);
        text = say(&p, address_of(9), 0, false, false, &held);
        is_true(held);
        has_text(text, "possibly lost: only pointers into the middle of blocks hold it\n");
        has_text(text, "data at prog+0x600020\n  ->  (inside)");
        free(text);
        profile_free(&p);
}

TEST(an_address_inside_a_block_is_told_apart)
{
        struct profile p;

        forge_leaky(&p);
        says(&p, address_of(3) + 99,
             "0x10363 is 0x63 bytes into 0x10300, a block of 100 bytes, allocated");
        profile_free(&p);
}

TEST(what_is_no_block_is_described)
{
        struct profile p;
        char *text;

        forge_leaky(&p);
        p.modules[0].start = 0x400000;
        says(&p, address_of(3) + 100,
             "2: no block at 0x10364 was live then: freed, or never one; the nearest is 0x10300 of "
             "100 bytes, which ends "
             "right before it");
        says(&p, address_of(3) + 102, "which ends 0x2 bytes before it");
        says(&p, 0x650000, "never one; it is in prog");
        says(&p, 0xfff0, "the nearest is 0x10000 of 100 bytes, 0x10 bytes after it");
        says(&p, 0x600100, "it is in data at prog+0x600100");
        says(&p, 0x20100, "it is in memory mapped by load [/src/l.c:7]; ");
        says(&p, 0x7fff0150, "it is in stack of main [/src/m.c:4], frame 1 of thread main (100)");
        text = say(&p, 0x7fff0150, 0, false, false, NULL);
        is_true(strstr(text, "the nearest") == NULL); /* is far away */
        free(text);
        p.block_count = p.verdict_count = p.hold_count = p.pointer_count = 0;
        says(&p, 0x1, "there were no live blocks at all");
        profile_free(&p);
}

/* A list of 10000 blocks: nobody wants to read it. */
TEST(a_long_list_is_shortened)
{
        enum { COUNT = 10000 };
        struct profile p;
        char *text;

        forge_usual(&p);
        forge_scan(&p, 10, PROFILE_SCAN_EXIT, PROFILE_SCAN_GRAPH);
        for (uint32_t i = 0; i < COUNT; i++)
                forge_judged(&p, 0x10000 + i * 0x100, 100, FORGE_SITE_PARSE, PROFILE_LEAK_REACHABLE,
                             0);
        for (uint32_t i = 0; i + 1 < COUNT; i++)
                forge_pointer(&p, i, 8, i + 1);
        forge_root(&p, PROFILE_ROOT_DATA, 0, 0x600000, 0x602000);
        forge_hold(&p, 0, 0x600010, 0);
        text = say(&p, address_of(COUNT - 1), 0, false, false, NULL);
        has_text(text, "     ... 9,995 more steps of the same kind (+0x8)\n  -> +0x8 ");
        has_text(text, "0x280f00\n\n");
        is_true(strlen(text) < 1000);
        free(text);
        text = say(&p, address_of(5), 0, false, false, NULL);
        is_true(strstr(text, "more steps") == NULL);
        free(text);
        profile_free(&p);
}

/* Steps of different kinds in turn: no run, but long all the same. */
TEST(a_long_path_of_many_kinds_is_shortened_too)
{
        enum { COUNT = 1001 };
        struct profile p;
        char *text;

        forge_usual(&p);
        forge_scan(&p, 10, PROFILE_SCAN_EXIT, PROFILE_SCAN_GRAPH);
        for (uint32_t i = 0; i < COUNT; i++)
                forge_judged(&p, 0x10000 + i * 0x100, 100, FORGE_SITE_PARSE, PROFILE_LEAK_REACHABLE,
                             0);
        for (uint32_t i = 0; i + 1 < COUNT; i++)
                forge_pointer(&p, i, i % 2 * 8, i + 1);
        forge_root(&p, PROFILE_ROOT_DATA, 0, 0x600000, 0x602000);
        forge_hold(&p, 0, 0x600010, 0);
        text = say(&p, address_of(COUNT - 1), 0, false, false, NULL);
        has_text(text, "     ... 971 more steps\n");
        free(text);
        profile_free(&p);
}

TEST(all_roots_are_listed_by_owner)
{
        struct profile p;
        char *text;

        forge_leaky(&p);
        text = say(&p, address_of(5), 0, true, false, NULL);
        has_text(text, "2 root pointers lead to it\n"
                       "\n"
                       "   pointers      steps  in\n"
                       "          1          3  data of prog\n"
                       "          1          1  stack of thread main (100), main\n");
        free(text);
        profile_free(&p);
}

TEST(the_typical_block_of_a_site_is_held_as_most_are)
{
        struct profile p;
        char *text;

        forge_leaky(&p);
        /* three of six are in the global's list */
        text = say(&p, 0, FORGE_SITE_PARSE, false, false, NULL);
        has_text(text, "site #1: 6 live blocks; 3 are held like this:\n0x10400: 100 bytes");
        has_text(text, "all of the site: would free 300 B in 3 blocks if they went away\n");
        free(text);
        text = say(&p, 0, FORGE_SITE_PARSE_20, false, false, NULL);
        has_text(text, "site #2: 1 live block; this one is lost like this:\n");
        free(text);
        text = say(&p, 0, 99, false, false, NULL);
        has_text(text, "2: there is no site #99: sites are numbered from 1 to 7");
        free(text);
        text = say(&p, 0, FORGE_SITE_MMAP, false, false, NULL);
        has_text(text, "2: no block of site #7 was live");
        free(text);
        profile_free(&p);
}

/* Three ways from one global, two lost blocks: most are held. */
TEST(the_owner_of_most_blocks_counts_before_the_way)
{
        struct profile p;
        char *text;

        forge_usual(&p);
        forge_scan(&p, 10, PROFILE_SCAN_EXIT, PROFILE_SCAN_GRAPH);
        for (uint32_t i = 0; i < 5; i++)
                forge_judged(&p, 0x10000 + i * 0x100, 100, FORGE_SITE_PARSE,
                             i < 3 ? PROFILE_LEAK_REACHABLE : PROFILE_LEAK_DEFINITE, 0);
        forge_judged(&p, 0x10500, 100, FORGE_SITE_PARSE_20, PROFILE_LEAK_REACHABLE, 0);
        forge_judged(&p, 0x10600, 100, FORGE_SITE_SMALL, PROFILE_LEAK_REACHABLE, 0);
        forge_pointer(&p, 5, 0, 1);
        forge_pointer(&p, 6, 0, 2);
        forge_root(&p, PROFILE_ROOT_DATA, 0, 0x600000, 0x602000);
        forge_hold(&p, 0, 0x600010, 0);
        forge_hold(&p, 0, 0x600018, 5);
        forge_hold(&p, 0, 0x600020, 6);
        text = say(&p, 0, FORGE_SITE_PARSE, false, false, NULL);
        has_text(text,
                 "site #1: 5 live blocks;\n3 have the same owner, of them 1 is held like this:\n");
        free(text);
        profile_free(&p);
}

TEST(programs_get_the_same_facts)
{
        struct profile p;
        char *text;

        forge_leaky(&p);
        text = say(&p, address_of(5) + 8, 0, true, true, NULL);
        has_text(text, "\"block\": {\"address\": \"0x10500\", \"size\": 100, \"site\": 1, "
                       "\"function\": \"parse\", \"file\": \"/src/a.c\", "
                       "\"line\": 10, \"offset\": 8, \"birth_ms\": 50},\n \"held\": true, "
                       "\"leak\": \"reachable\"");
        has_text(text, "\"root\": {\"kind\": \"data\", \"address\": \"0x600010\", \"module\": "
                       "\"/usr/bin/prog\", \"offset\": 6291472}");
        has_text(text, "\"steps\": 3, \"path\": [");
        has_text(text, "\"type\": null, \"offset\": 8, \"member\": null, \"interior\": false, "
                       "\"left_out\": 0},\n");
        has_text(text, "\"retained\": {\"blocks\": 1, \"bytes\": 100}");
        has_text(text, "\"root_pointers\": 2");
        has_text(text, "{\"kind\": \"stack\", \"address\": \"0x7fff0180\", \"tid\": 100, "
                       "\"thread\": \"main\", \"frame\": 1, \"function\": \"main\", "
                       "\"file\": \"/src/m.c\", \"line\": 4, \"module\": \"/usr/bin/prog\", "
                       "\"offset\": 384, \"pointers\": 1, \"steps\": 1}");
        free(text);
        text = say(&p, address_of(2), 0, false, true, NULL);
        has_text(
                text,
                "\"held\": false, \"leak\": \"indirect\", \"head\": \"0x10000\",\n \"root\": null");
        free(text);
        text = say(&p, 0, FORGE_SITE_PARSE, false, true, NULL);
        has_text(text, "\"site\": {\"id\": 1, \"live_blocks\": 6, \"looked_at\": 6, "
                       "\"same_owner\": 3, \"alike\": 3},\n"
                       " \"site_retained\": {\"blocks\": 3, \"bytes\": 300}");
        free(text);
        profile_free(&p);
}

TEST(a_recording_without_a_graph_says_what_to_do)
{
        struct profile p;
        struct err e = { 0 };

        forge_leaky(&p);
        is_true(why_possible(&p, "a.seep", &e));
        p.scans[0].flags = 0;
        is_true(!why_possible(&p, "a.seep", &e));
        is_equal(e.exit_code, ERR_EXIT_CANNOT_TRACE);
        has_text(e.text, "a.seep does not show what holds a block: with 16 blocks the pointers "
                         "between them were not kept; record with --keep-graph");
        p.truncated = true;
        is_true(!why_possible(&p, "a.seep", &e));
        is_equal(e.exit_code, ERR_EXIT_BAD_FILE);
        free(p.scans[0].trouble);
        p.scans[0].trouble = heap_text("it must not be read");
        is_true(!why_possible(&p, "a.seep", &e));
        has_text(e.text, "it must not be read");
        profile_free(&p);
}

/* Numbers that no real program gives: nothing may be read outside of its array (under
 * AddressSanitizer this fails loudly). */
TEST(any_valid_recording_has_an_answer)
{
        uint32_t answers = 0;

        for (uint64_t seed = 1; seed <= 300; seed++) {
                struct profile p;

                sample_profile(&p, seed, 40);
                for (uint64_t i = 0; i < p.block_count && why_possible(&p, "x", &(struct err){ 0 });
                     i += 7) {
                        char *text = say(&p, p.blocks[i].address, 0, true, i % 2, NULL);

                        answers += text != NULL && *text != 0;
                        free(text);
                        text = say(&p, p.blocks[i].address - 1, p.blocks[i].site, true, i % 2,
                                   NULL);
                        is_true(text != NULL);
                        free(text);
                }
                profile_free(&p);
        }
        is_true(answers > 100);
}

TAP_MAIN(any_valid_recording_has_an_answer, the_path_goes_from_the_root_to_the_block,
         every_kind_of_root_has_words, a_lost_block_is_said_to_be_lost,
         a_possibly_lost_block_is_held_by_a_pointer_into_it,
         an_address_inside_a_block_is_told_apart, what_is_no_block_is_described,
         a_long_list_is_shortened, a_long_path_of_many_kinds_is_shortened_too,
         all_roots_are_listed_by_owner, the_typical_block_of_a_site_is_held_as_most_are,
         the_owner_of_most_blocks_counts_before_the_way, programs_get_the_same_facts,
         a_recording_without_a_graph_says_what_to_do)
