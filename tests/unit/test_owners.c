/* SPDX-License-Identifier: MIT */
/*
 * The heap by owner and by site, on the search that forge_leaks.h draws.
 */
#include "tap.h"

#include "forge_leaks.h"
#include "query/owners.h"
#include "report/views.h"
#include "sample.h"

static char *owners_of(const struct profile *p, struct owners_options options)
{
        struct symbols *s = forge_symbols(p);
        struct str out = { 0 };

        owners_write(p, s, &options, &out);
        symbols_free(s);
        return out.data;
}

/* 365 + 35 bytes are held: data 300 + 4, mapping 62, stack 31 + ..., thread-local 1, register 1,
 * ignored 1; 600 are lost. */
TEST(owners_and_the_rest_add_up_to_the_heap)
{
        struct profile p;
        char *text;

        forge_leaky(&p);
        text = owners_of(&p, (struct owners_options){ 0 });
        is_text(text, "the heap by what keeps it alive; in all 1000 B in 16 blocks\n"
                      "  share      bytes      blocks  owner\n"
                      "   30 %      304 B           4  data of prog\n"
                      "  6.2 %       62 B           2  memory mapped by load [/src/l.c:7]\n"
                      "  3.1 %       31 B           1  stack of thread main (100), inner\n"
                      "  0.1 %        1 B           1  registers of thread main (100)\n"
                      "  0.1 %        1 B           1  thread-local data of prog\n"
                      "  0.1 %        1 B           1  SEEP_IGNORE\n"
                      "   60 %      600 B           6  lost: kept by nothing (see 'seep leaks')\n");
        free(text);
        text = owners_of(&p, (struct owners_options){ .limit = 1 });
        has_text(text, "   30 %      304 B           4  data of prog\n"
                       "  9.5 %       95 B           5  4 more owners (-n 1)\n");
        free(text);
        profile_free(&p);
}

TEST(what_two_owners_keep_is_a_row_of_its_own)
{
        struct profile p;
        char *text;

        forge_leaky(&p);
        forge_pointer(&p, 13, 24, 5);
        text = owners_of(&p, (struct owners_options){ 0 });
        has_text(text, "   20 %      204 B           3  data of prog\n");
        has_text(text,
                 "   10 %      100 B           1  shared by several of them\n"
                 "  of it      100 B           1    allocated by parse [/src/a.c:10], kept by\n"
                 "                                    data of prog\n"
                 "                                    memory mapped by load [/src/l.c:7]\n");
        free(text);
        text = owners_of(&p, (struct owners_options){ .json = true });
        has_text(text, "\"shared_parts\": [\n  {\"address\": \"0x10500\", \"site\": 1, \"heads\": "
                       "1, \"retained\": {\"blocks\": 1, \"bytes\": 100}, \"owners\": "
                       "[{\"kind\": \"data\", ");
        free(text);
        profile_free(&p);
}

TEST(what_two_owners_keep_of_one_call_stack_is_told_once)
{
        struct profile p;
        char *text;

        forge_leaky(&p);
        forge_pointer(&p, 13, 24, 4);
        forge_pointer(&p, 13, 32, 5);
        text = owners_of(&p, (struct owners_options){ 0 });
        has_text(text, "   20 %      200 B           2  shared by several of them\n"
                       "  of it      200 B           2    allocated by parse [/src/a.c:10], the "
                       "largest kept by\n"
                       "                                    data of prog\n"
                       "                                    memory mapped by load [/src/l.c:7]\n"
                       "  0.1 %        1 B           1  SEEP_IGNORE\n");
        free(text);
        profile_free(&p);
}

TEST(sites_fit_the_terminal)
{
        struct profile p;
        char *text;

        forge_leaky(&p);
        text = owners_of(&p, (struct owners_options){ .sites = true, .columns = 80 });
        has_text(text, "#6           93 B  inner [/src/w.c:61] <- work\n");
        for (const char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1)
                is_true(end - line <= 80);
        free(text);
        profile_free(&p);
}

/* 13 keeps 14, which is of the same site; 3 keeps 4 and 5. */
TEST(sites_have_what_their_blocks_keep)
{
        struct profile p;
        char *text;

        forge_leaky(&p);
        forge_pointer(&p, 13, 24, 3); /* now the mapping and the global hold 3 */
        p.holds[0].to = 9;
        text = owners_of(&p, (struct owners_options){ .sites = true });
        is_text(text,
                "what is freed with the blocks of a call stack; in all 1000 B in 16 blocks\n"
                "  share      bytes      blocks  site    own bytes  allocated by\n"
                "   39 %      393 B           6  #6           93 B  inner [/src/w.c:61] <- work "
                "[/src/w.c:66]\n"
                "   30 %      300 B           3  #1          300 B  parse [/src/a.c:10] <- load "
                "[/src/l.c:7]\n"
                "  0.4 %        4 B           1  #4            4 B  tiny <- main [/src/m.c:2]\n"
                "  0.3 %        3 B           3  #5            3 B  small [/src/s.c:5] <- main "
                "[/src/m.c:3]\n");
        free(text);
        profile_free(&p);
}

TEST(programs_get_the_same_sums)
{
        struct profile p;
        char *text;

        forge_leaky(&p);
        text = owners_of(&p, (struct owners_options){ .json = true });
        has_text(text, "\"total\": {\"blocks\": 16, \"bytes\": 1000},\n \"owners\": [\n  "
                       "{\"kind\": \"data\", ");
        has_text(text, "\"pointers\": 2, \"retained\": {\"blocks\": 4, \"bytes\": 304}},\n");
        has_text(text, "],\n \"shared\": {\"blocks\": 0, \"bytes\": 0},\n \"shared_parts\": [],\n "
                       "\"ignored\": {\"blocks\": 1, \"bytes\": 1},\n"
                       " \"lost\": {\"blocks\": 6, \"bytes\": 600}}\n");
        free(text);
        text = owners_of(&p, (struct owners_options){ .json = true, .sites = true });
        has_text(text, "{\"id\": 6, \"function\": \"inner\", \"file\": \"/src/w.c\", \"line\": 61, "
                       "\"live\": {\"blocks\": 3, \"bytes\": 93}, "
                       "\"retained\": {\"blocks\": 3, \"bytes\": 93}}");
        free(text);
        profile_free(&p);
}

TEST(any_valid_recording_has_owners)
{
        uint32_t graphs = 0;

        for (uint64_t seed = 1; seed <= 300; seed++) {
                const struct profile_scan *scan;
                struct profile p;

                sample_profile(&p, seed, 40);
                scan = profile_scanned(&p);
                for (int i = 0; scan && scan->flags & PROFILE_SCAN_GRAPH && i < 4; i++) {
                        char *text = owners_of(&p, (struct owners_options){ .sites = i & 1,
                                                                            .json = i & 2 });

                        graphs += text != NULL && *text != 0;
                        free(text);
                }
                profile_free(&p);
        }
        is_true(graphs > 40);
}

TAP_MAIN(any_valid_recording_has_owners, owners_and_the_rest_add_up_to_the_heap,
         what_two_owners_keep_is_a_row_of_its_own,
         what_two_owners_keep_of_one_call_stack_is_told_once, sites_fit_the_terminal,
         sites_have_what_their_blocks_keep, programs_get_the_same_sums)
