/* SPDX-License-Identifier: MIT */
/*
 * test_outbox.c -- profiles that cannot be sent: how many are kept, and what is said.
 */
#include "serve/outbox.h"
#include "tap.h"

static struct str said;

static void say(const char *text)
{
        str_format(&said, "[%s]", text);
}

static struct push_http *http;
static struct push_address target;
static struct outbox box;

static bool begin(void)
{
        struct push_request request = { .url = "http://127.0.0.1:9/" };
        struct err e = { 0 };

        http = http ? http : push_http_new(&e);
        if (!http) {
                tap_skip(strdup(e.text));
                return false;
        }
        is_true(push_address_parse(&target, &request, &e));
        outbox_init(&box, &target, http, say);
        str_clear(&said);
        return true;
}

/* Profile NUMBER, of BYTES. */
static void put(uint64_t number, size_t bytes)
{
        struct push_subject s = { "p", "h", 1, number, number + 1 };
        struct str pprof = { 0 };

        str_end(&pprof, str_room(&pprof, bytes) + bytes);
        outbox_put(&box, &s, &pprof);
        str_free(&pprof);
}

static void end(void)
{
        outbox_close(&box, 0);
        push_address_free(&target);
}

TEST(the_oldest_go_when_there_are_too_many)
{
        if (!begin())
                return;
        for (uint64_t i = 1; i <= OUTBOX_MAX + 8; i++)
                put(i, 10);
        is_equal(box.count, OUTBOX_MAX);
        has_text(str_get(&box.letters[0].url), "&from=9&");
        has_text(str_get(&box.letters[OUTBOX_MAX - 1].url), "&from=40&");
        is_text(str_get(&said), "[http://127.0.0.1:9 accepts profiles too slowly, or not at all: "
                                "the oldest ones in the queue are dropped]");
        str_clear(&said);
        end();
        is_text(str_get(&said), "[40 profiles were not delivered to http://127.0.0.1:9]");
}

TEST(the_oldest_go_when_there_are_too_many_bytes)
{
        if (!begin())
                return;
        for (uint64_t i = 1; i <= 5; i++)
                put(i, OUTBOX_BYTES_MAX / 4);
        is_equal(box.count, 3);
        has_text(str_get(&box.letters[0].url), "&from=3&");
        put(6, OUTBOX_BYTES_MAX + 1); /* one is always kept: it may be taken at once */
        is_equal(box.count, 1);
        end();
}

TEST(a_full_box_is_closed_unless_the_server_is_in_trouble)
{
        if (!begin())
                return;
        for (uint64_t i = 1; i <= OUTBOX_MAX; i++) {
                is_true(outbox_is_open(&box));
                put(i, 10);
        }
        is_true(!outbox_is_open(&box));
        box.failures = 1;
        is_true(outbox_is_open(&box));
        outbox_close(&box, 3);
        is_text(str_get(&said), "[35 profiles were not delivered to http://127.0.0.1:9]");
        push_address_free(&target);
}

TEST(an_empty_box_has_nothing_to_do_and_nothing_to_say)
{
        if (!begin())
                return;
        is_true(outbox_is_empty(&box));
        is_true(outbox_due_ns(&box) == UINT64_MAX);
        outbox_step(&box);
        is_true(!push_http_is_busy(http));
        end();
        is_text(str_get(&said), "");
}

TAP_MAIN(the_oldest_go_when_there_are_too_many, the_oldest_go_when_there_are_too_many_bytes,
         a_full_box_is_closed_unless_the_server_is_in_trouble,
         an_empty_box_has_nothing_to_do_and_nothing_to_say)
