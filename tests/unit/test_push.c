/* SPDX-License-Identifier: MIT */
/*
 * test_push.c -- addresses, forms and intervals of pushed profiles.
 */
#include <stdlib.h>

#include "base/heap.h"
#include "serve/interval.h"
#include "serve/outbox.h"
#include "serve/push_address.h"
#include "tap.h"

/* ---- addresses ---- */

static const struct push_subject subject = { "/usr/bin/server", "box", 42, 1000, 1010 };
#define TIMES "&from=1000&until=1010&spyName=seep&sampleRate=100"

/* The URL for URL and LABEL (NULL none), or "error". */
static const char *url_for(const char *url, const char *label, const struct push_subject *s)
{
        static struct str out;
        struct push_request request = { .url = url,
                                        .labels = &label,
                                        .label_count = label != NULL };
        struct push_address t;
        struct err e = { 0 };

        str_clear(&out);
        if (!push_address_parse(&t, &request, &e)) {
                is_equal(e.exit_code, ERR_EXIT_USAGE);
                return "error";
        }
        push_address_url(&t, s, &out);
        is_true(!strstr(t.shown, "secret"));
        push_address_free(&t);
        return str_get(&out);
}

TEST(the_address_is_that_of_ingest)
{
        static const char labels[] =
                "?name=server%7Bprogram%3Dserver%2Chostname%3Dbox%2Cpid%3D42%7D" TIMES;
        static const char *const urls[][2] = {
                { "http://a:4040", "http://a:4040/ingest" },
                { "http://a:4040/", "http://a:4040/ingest" },
                { "http://a/ingest", "http://a/ingest" },
                { "http://a/ingest/", "http://a/ingest" },
                { "https://a/b/c/", "https://a/b/c/ingest" },
                { "http://me:secret@a/x", "http://me:secret@a/x/ingest" },
                { "http://[::1]:80", "http://[::1]:80/ingest" },
                { "http://a/ingest?", "http://a/ingest" },
                { "http://a#part", "http://a/ingest" },
        };

        for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
                struct str wanted = { 0 };

                str_format(&wanted, "%s%s", urls[i][1], labels);
                is_text(url_for(urls[i][0], NULL, &subject), str_get(&wanted));
                str_free(&wanted);
        }
}

TEST(what_is_no_address_is_refused)
{
        static const char *const wrong[] = { "",
                                             "a",
                                             "a:4040",
                                             "ftp://a",
                                             "http://",
                                             "http:///x",
                                             "http:a",
                                             "http://a b/",
                                             "http://a\nb/",
                                             "http://:80/",
                                             "http://me:s@/x",
                                             "file:///etc/passwd",
                                             "http://?name=a" };

        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
                if (!is_text(url_for(wrong[i], NULL, &subject), "error"))
                        printf("# '%s'\n", wrong[i]);
}

TEST(name_and_labels_come_from_the_url_and_the_options)
{
        is_text(url_for("http://a/?name=my.app%7Bzone%3Db%7D&units=x+y", "env=prod", &subject),
                "http://a/"
                "ingest?name=my.app%7Bprogram%3Dserver%2Chostname%3Dbox%2Cpid%3D42%2Czone%3Db%"
                "2Cenv%3Dprod%7D" TIMES "&units=x%20y");
        is_text(url_for("http://a/?format=pprof", NULL, &subject),
                "http://a/"
                "ingest?name=server%7Bprogram%3Dserver%2Chostname%3Dbox%2Cpid%3D42%7D" TIMES
                "&format=pprof");
        is_text(url_for("http://a/?name=x{hostname=pod}", "pid=1", &subject),
                "http://a/ingest?name=x%7Bprogram%3Dserver%2Chostname%3Dpod%2Cpid%3D1%7D" TIMES);
        is_text(url_for("http://a/?name=x{a=b,aa=c}", "a=d", &subject), "error");
        is_text(url_for("http://a/?name=x{a=b", NULL, &subject), "error");
        is_text(url_for("http://a/?name=%4", NULL, &subject), "error");
        is_text(url_for("http://a/", "noequals", &subject), "error");
        is_text(url_for("http://a/", "=x", &subject), "error");
        is_text(url_for("http://a/", "1a=x", &subject), "error");
        is_text(url_for("http://a/", "a b=x", &subject), "error");
        is_text(url_for("http://a/", "__name__=x", &subject), "error");
}

TEST(no_program_breaks_out_of_its_name)
{
        struct push_subject odd = subject;

        odd.program = "./a,b={c}\"d\n\xff\xc3\xa4&x=1";
        is_text(url_for("http://a", NULL, &odd),
                "http://a/"
                "ingest?name=a_b__c__d_____x_1%7Bprogram%3Da_b__c__d__%C3%A4%26x_1%2Chostname%"
                "3Dbox%2Cpid%3D42%7D" TIMES);
        odd.program = odd.host = "";
        is_text(url_for("http://a", NULL, &odd), "http://a/ingest?name=seep%7Bpid%3D42%7D" TIMES);
        odd.program = "/";
        is_text(url_for("http://a", NULL, &odd),
                "http://a/ingest?name=%2F%7Bprogram%3D%2F%2Cpid%3D42%7D" TIMES);
}

/* ---- forms ---- */

TEST(a_form_has_two_parts_between_boundaries_of_its_own)
{
        static const char bytes[] = "\x1f\x8b\0--seep-\r\n--";
        struct str profile = { 0 }, body = { 0 }, type = { 0 }, wanted = { 0 };
        const char *boundary;

        str_bytes(&profile, bytes, sizeof bytes - 1);
        push_form(&profile, &body, &type);
        is_true(strncmp(str_get(&type), "multipart/form-data; boundary=seep-", 35) == 0);
        boundary = str_get(&type) + 30;
        is_equal(strlen(boundary), 37);
        str_format(&wanted,
                   "--%s\r\nContent-Disposition: form-data; name=\"profile\"; "
                   "filename=\"profile.pprof\"\r\n"
                   "Content-Type: application/octet-stream\r\n\r\n",
                   boundary);
        str_bytes(&wanted, bytes, sizeof bytes - 1);
        str_format(&wanted,
                   "\r\n--%s\r\nContent-Disposition: form-data; name=\"sample_type_config\"; "
                   "filename=\"sample_type_config.json\"\r\n"
                   "Content-Type: "
                   "application/"
                   "json\r\n\r\n{\"alloc_objects\":{\"units\":\"objects\",\"aggregation\":\"sum\"",
                   boundary);
        is_true(body.length > wanted.length && memcmp(body.data, wanted.data, wanted.length) == 0);
        str_clear(&wanted);
        str_format(&wanted, "}}\r\n--%s--\r\n", boundary);
        is_true(body.length > wanted.length &&
                memcmp(body.data + body.length - wanted.length, wanted.data, wanted.length) == 0);
        str_free(&profile);
        str_free(&body);
        str_free(&type);
        str_free(&wanted);
}

TEST(an_empty_profile_makes_a_form_too)
{
        struct str nothing = { 0 }, body = { 0 }, type = { 0 };

        push_form(&nothing, &body, &type);
        has_text(str_get(&body), "octet-stream\r\n\r\n\r\n--seep-");
        str_free(&body);
        str_free(&type);
}

/* ---- intervals ---- */

/* A profile with the stacks main>a and main>b; FIRST: which of them is site 1. */
static void make_profile(struct profile *p, int first)
{
        *p = (struct profile){ .node_count = 5, .site_count = 3, .module_count = 1 };
        p->nodes = heap_zero(5, sizeof *p->nodes);
        p->sites = heap_zero(3, sizeof *p->sites);
        p->modules = heap_zero(1, sizeof *p->modules);
        p->modules[0].path = heap_text("/bin/x");
        p->nodes[2] = (struct profile_node){ .pc = 0x100, .parent = 0 };
        p->nodes[first ? 4 : 3] = (struct profile_node){ .pc = 0x200, .parent = 2 };
        p->nodes[first ? 3 : 4] = (struct profile_node){ .pc = 0x300, .parent = 2 };
        p->sites[1] = (struct profile_site){ .node = 3, .kind = 1 };
        p->sites[2] = (struct profile_site){ .node = 4, .kind = 1 };
}

static void count(struct profile_site *s, uint64_t allocs, uint64_t bytes)
{
        s->allocs = allocs;
        s->alloc_bytes = bytes;
        s->live_blocks = 1;
        s->live_bytes = 77;
}

TEST(an_interval_has_what_came_since_the_last)
{
        struct interval i = { 0 };
        struct profile p;

        make_profile(&p, 0);
        count(&p.sites[1], 10, 1000);
        count(&p.sites[2], 1, 5);
        interval_take(&i, &p);
        is_equal(p.sites[1].allocs, 10);
        is_equal(p.sites[2].alloc_bytes, 5);
        profile_free(&p);
        make_profile(&p, 1); /* the same stacks under other numbers */
        count(&p.sites[2], 13, 1300);
        count(&p.sites[1], 1, 5);
        interval_take(&i, &p);
        is_equal(p.sites[2].allocs, 3);
        is_equal(p.sites[2].alloc_bytes, 300);
        is_equal(p.sites[1].allocs, 0);
        is_equal(p.sites[1].live_blocks, 1);
        is_equal(p.sites[1].live_bytes, 77);
        profile_free(&p);
        interval_free(&i);
}

TEST(numbers_that_are_behind_do_not_count_twice)
{
        static const uint64_t seen[] = { 10, 8, 12 }, wanted[] = { 10, 0, 2 };
        struct interval i = { 0 };
        struct profile p;

        for (int step = 0; step < 3; step++) {
                make_profile(&p, 0);
                count(&p.sites[1], seen[step], seen[step]);
                interval_take(&i, &p);
                is_equal(p.sites[1].allocs, wanted[step]);
                profile_free(&p);
        }
        interval_free(&i);
}

TEST(another_library_at_the_same_address_is_another_stack)
{
        struct interval i = { 0 };
        struct profile p;

        for (int step = 0; step < 2; step++) {
                make_profile(&p, 0);
                if (step)
                        p.modules[0].path[5] = 'y';
                count(&p.sites[1], 4, 40);
                interval_take(&i, &p);
                is_equal(p.sites[1].allocs, 4);
                profile_free(&p);
        }
        interval_free(&i);
}

TAP_MAIN(the_address_is_that_of_ingest, what_is_no_address_is_refused,
         name_and_labels_come_from_the_url_and_the_options, no_program_breaks_out_of_its_name,
         a_form_has_two_parts_between_boundaries_of_its_own, an_empty_profile_makes_a_form_too,
         an_interval_has_what_came_since_the_last, numbers_that_are_behind_do_not_count_twice,
         another_library_at_the_same_address_is_another_stack)
