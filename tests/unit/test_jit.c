/* SPDX-License-Identifier: MIT */
#include "tap.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/heap.h"
#include "collect/jit.h"
#include "names/symbol.h"

#include "sample.h"

/* A profile with a node for each address, none of which lies in a file. */
static void make(struct profile *p, const uint64_t *pcs, uint32_t count)
{
        *p = (struct profile){ .node_count = count + 2 };
        p->nodes = heap_zero(p->node_count, sizeof *p->nodes);
        for (uint32_t i = 0; i < p->node_count; i++)
                p->nodes[i] = (struct profile_node){ i < 2 ? 0 : pcs[i - 2], 0, PROFILE_NO_MODULE,
                                                     1 };
}

static void parse(struct profile *p, const char *text)
{
        char *copy = heap_text(text);

        jit_parse(copy, strlen(copy), p);
        free(copy);
}

static void check(const char *map, uint64_t pc, const char *expected)
{
        static const struct symbol_options options = { .no_cache = true, .no_debuginfod = true };
        const uint64_t pcs[] = { 0x1000, 0x1010, 0x1020, 0x1fff, 0x2000, UINT64_MAX };
        const struct symbol_frame *frames;
        struct symbols *s;
        struct profile p;

        make(&p, pcs, 6);
        parse(&p, map);
        s = symbols_new(&p, &options);
        for (uint32_t i = 2; i < p.node_count; i++)
                if (p.nodes[i].pc == pc) {
                        is_equal(symbols_node(s, i, &frames), 1);
                        is_text(frames[0].function, expected);
                }
        for (uint32_t i = 1; i < p.jit_count; i++)
                is_true(p.jit[i - 1].start + p.jit[i - 1].bytes <= p.jit[i].start);
        symbols_free(s);
        profile_free(&p);
}

TEST(a_line_names_its_addresses_and_no_others)
{
        check("1000 20 f\n", 0x1000, "f");
        check("1000 20 f\n", 0x1010, "f");
        check("1000 20 f\n", 0x1020, NULL);
        check("0x1000 0x1000 with blanks and 0x\n", 0x1fff, "with blanks and 0x");
        check("ffffffffffffff00 ff near the end\n", UINT64_MAX, NULL);
}

TEST(functions_of_scripts_are_called_as_people_call_them)
{
        check("1000 20 py::leak:/srv/me/p.py\n", 0x1000, "leak (p.py)");
        check("1000 20 py::Tree.walk.<locals>.<lambda>:p.py\n", 0x1000,
              "Tree.walk.<locals>.<lambda> (p.py)");
        check("1000 20 py::_load:<frozen importlib._bootstrap>\n", 0x1000,
              "_load (<frozen importlib._bootstrap>)");
        check("1000 20 py::\n", 0x1000, "py::");
        check("1000 20 LazyCompile:*grow /srv/me/my files/grow.js:10:15\n", 0x1000,
              "grow (grow.js)");
        check("1000 20 JS:~get size node:internal/util:52:36\n", 0x1000, "get size (util)");
        check("1000 20 JS:^ file:///srv/me/a.mjs:7:3\n", 0x1000, "<anonymous:7> (a.mjs)");
        check("1000 20 Script:~ /srv/me/grow.js:1:1\n", 0x1000, "<script> (grow.js)");
        check("1000 20 LazyCompile:~f file.js:1\n", 0x1000, "f (file.js)");
        check("1000 20 Builtin:ArrayPush\n", 0x1000, "Builtin:ArrayPush");
        check("1000 20 JS:*\n", 0x1000, "JS:*");
        check("1000 20 Lcom/acme/Main;::leak\n", 0x1000, "com.acme.Main.leak");
        check("1000 20 L;::\n", 0x1000, "L;::");
}

TEST(the_last_line_for_an_address_counts)
{
        const char map[] = "1000 1000 old\n1010 10 new\n";

        check(map, 0x1000, "old");
        check(map, 0x1010, "new");
        check(map, 0x1020, "old");
        check("1010 10 inner\n1000 1000 outer\n", 0x1010, "outer");
}

TEST(nonsense_is_passed_over)
{
        const char map[] = "\n \nx\n1000\n1000 20\n1000 20 \n1000 0 none\nffffffffffffffff 2 "
                           "wraps\n-1 -1 signs\n"
                           "1000 20 \x1b[31mred\n1020 10 cut off";

        check(map, 0x1000, "?[31mred");
        check(map, 0x1020, NULL);
        check(map, UINT64_MAX, NULL);
        check("", 0x1000, NULL);
}

/* Every address against every line, for maps that no compiler would write. */
TEST(overlapping_lines_agree_with_a_plain_search)
{
        uint64_t state = 7;

        for (int round = 0; round < 200; round++) {
                uint64_t pcs[40], starts[30], ends[30];
                char text[30 * 64] = "";
                struct profile p;

                for (int i = 0; i < 40; i++)
                        pcs[i] = sample_random(&state) % 500;
                for (int i = 0; i < 30; i++) {
                        starts[i] = sample_random(&state) % 500;
                        ends[i] = starts[i] + 1 + sample_random(&state) % 100;
                        sprintf(text + strlen(text), "%llx %llx f%d\n",
                                (unsigned long long)starts[i],
                                (unsigned long long)(ends[i] - starts[i]), i);
                }
                make(&p, pcs, 40);
                parse(&p, text);
                for (int i = 0; i < 40; i++) {
                        const char *expected = NULL, *found = NULL;
                        char name[16];

                        for (int j = 0; j < 30; j++)
                                if (starts[j] <= pcs[i] && pcs[i] < ends[j]) {
                                        sprintf(name, "f%d", j);
                                        expected = name;
                                }
                        for (uint32_t j = 0; j < p.jit_count; j++)
                                if (pcs[i] - p.jit[j].start < p.jit[j].bytes)
                                        found = p.jit[j].name;
                        is_text(found, expected);
                }
                profile_free(&p);
        }
}

/* The map of a process that is gone, last written SECONDS from now: whether it is believed. */
static bool is_believed(pid_t pid, long seconds)
{
        char name[64];
        struct jit j;
        bool found;
        int fd;

        snprintf(name, sizeof name, "/tmp/perf-%d.map", (int)pid);
        fd = open(name, O_WRONLY | O_CREAT | O_EXCL, 0600);
        futimens(fd, (struct timespec[2]){ { .tv_sec = time(NULL) + seconds },
                                           { .tv_sec = time(NULL) + seconds } });
        close(fd);
        jit_init(&j, (uint32_t)pid);
        jit_look(&j);
        found = j.fd >= 0;
        jit_close(&j);
        unlink(name);
        return found;
}

TEST(an_old_map_is_not_that_of_a_process_that_is_gone_already)
{
        pid_t pid = fork();

        if (!pid)
                _exit(0);
        waitpid(pid, NULL, 0);
        is_true(!is_believed(pid, -3600));
        is_true(is_believed(pid, 3600));
}

TAP_MAIN(a_line_names_its_addresses_and_no_others,
         an_old_map_is_not_that_of_a_process_that_is_gone_already,
         functions_of_scripts_are_called_as_people_call_them, the_last_line_for_an_address_counts,
         nonsense_is_passed_over, overlapping_lines_agree_with_a_plain_search)
