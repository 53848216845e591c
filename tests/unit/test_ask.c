/* SPDX-License-Identifier: MIT */
/*
 * test_ask.c -- finding and asking whoever records a process: sessions, doors, and answers that are
 * none.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "session/ask.h"
#include "session/endpoint.h"
#include "tap.h"

TEST(the_path_is_the_rest_of_a_session)
{
        is_text(ask_session_path("6:exec:0:a:0:0:7b:0:0:0:0:/run/seep-x/hello"),
                "/run/seep-x/hello");
        is_text(ask_session_path("6:exec:0:a:0:0:7b:0:0:0:0:/with:colon"), "/with:colon");
        is_text(ask_session_path("6:exec:80000:a:0:0:7b:0:0:0:0:b:lib/a:|^/b$:/run/x"), "/run/x");
        is_text(ask_session_path("6:exec:80000:a:0:0:7b:0:0:0:0:3::/::/run/x"), "/run/x");
        is_true(!ask_session_path("6:exec:80000:a:0:0:7b:0:0:0:0:b:lib/a:|^/b$"));
        is_true(!ask_session_path("6:exec:80000:a:0:0:7b:0:0:0:0:b:lib:/run/x"));
        is_true(!ask_session_path(""));
        is_true(!ask_session_path("6:exec:0:a:0:0:7b:0:0:0:0:"));
        is_true(!ask_session_path("6:exec:0:a:0:0:7b:0:0:0:0"));
        is_true(!ask_session_path("6:exec:0:a:0:0:7b:0:0:0:0:relative"));
        is_true(!ask_session_path("::::::"));
}

/* Somebody who listens at the door of this process, and gives one answer. */
struct porter {
        int endpoint;
        struct wire_reply reply;
        size_t reply_bytes;
        struct wire_request got;
};

static void *answer_once(void *context)
{
        struct porter *p = context;
        int fd = accept(p->endpoint, NULL, NULL);

        if (fd >= 0 && recv(fd, &p->got, sizeof p->got, 0) == (ssize_t)sizeof p->got)
                is_equal(send(fd, &p->reply, p->reply_bytes, MSG_NOSIGNAL), p->reply_bytes);
        close(fd);
        return NULL;
}

static bool ask(struct porter *p, const char *label, struct wire_reply *out, struct err *e)
{
        struct sockaddr_un name;
        socklen_t length = endpoint_name((uint32_t)getpid(), &name);
        pthread_t thread;
        bool good;

        p->endpoint = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        is_true(bind(p->endpoint, (struct sockaddr *)&name, length) == 0 &&
                listen(p->endpoint, 1) == 0);
        is_equal(pthread_create(&thread, NULL, answer_once, p), 0);
        good = ask_snapshot((uint32_t)getpid(), label, out, e);
        pthread_join(thread, NULL);
        close(p->endpoint);
        return good;
}

TEST(a_request_has_the_process_and_the_label)
{
        struct porter p = { .reply = { .magic = WIRE_REQUEST_MAGIC, .seq = 4, .text = "file" },
                            .reply_bytes = sizeof p.reply };
        struct wire_reply reply;
        struct err e = { 0 };

        is_true(ask(&p, "a\nlabel", &reply, &e));
        is_equal(p.got.magic, WIRE_REQUEST_MAGIC);
        is_equal(p.got.type, WIRE_REQUEST_SNAPSHOT);
        is_equal(p.got.pid, getpid());
        is_text(p.got.label, "a label");
        is_equal(reply.seq, 4);
        is_text(reply.text, "file");
}

TEST(a_long_label_is_cut_between_characters)
{
        struct porter p = { .reply = { .magic = WIRE_REQUEST_MAGIC },
                            .reply_bytes = sizeof p.reply };
        struct wire_reply reply;
        struct err e = { 0 };
        char label[200] = "";

        memset(label, 'x', 126);
        strcpy(label + 126, "\xc3\xa9 and more"); /* the first half of it would be byte 127 */
        is_true(ask(&p, label, &reply, &e));
        is_equal(strlen(p.got.label), 126);
}

TEST(an_answer_of_another_kind_is_none)
{
        struct porter p = { .reply = { .magic = WIRE_REQUEST_MAGIC + 1 },
                            .reply_bytes = sizeof p.reply };
        struct wire_reply reply;
        struct err e = { 0 };

        is_true(!ask(&p, "", &reply, &e));
        is_equal(e.exit_code, ERR_EXIT_CANNOT_TRACE);
        p.reply.magic = WIRE_REQUEST_MAGIC;
        p.reply_bytes = 20;
        is_true(!ask(&p, "", &reply, &e));
        p.reply_bytes = sizeof p.reply;
        memset(p.reply.text, 'x', sizeof p.reply.text);
        is_true(ask(&p, "", &reply, &e));
        is_equal(strlen(reply.text), sizeof reply.text - 1);
}

TEST(who_is_not_recorded_is_told_from_who_is_not_there)
{
        struct wire_reply reply;
        struct err e = { 0 };

        is_true(!ask_snapshot((uint32_t)getpid(), "", &reply, &e));
        has_text(e.text, "not being recorded");
        is_equal(e.exit_code, ERR_EXIT_CANNOT_TRACE);
        is_true(!ask_snapshot(0x7fffffff, "", &reply, &e));
        has_text(e.text, "no process");
}

TEST(a_door_has_one_owner)
{
        int first = endpoint_open(4000000000u), second = endpoint_open(4000000000u);

        is_true(first >= 0);
        is_equal(second, -1);
        close(first);
        first = endpoint_open(4000000000u);
        is_true(first >= 0);
        close(first);
}

TEST(open_doors_are_listed_once)
{
        static uint32_t pids[4096];
        int one = endpoint_open(4000000001u), other = endpoint_open(4000000002u);
        uint32_t count = endpoint_list(pids, 4096), found[2] = { 0 };

        for (uint32_t i = 0; i < count; i++)
                if (pids[i] == 4000000001u || pids[i] == 4000000002u)
                        found[pids[i] - 4000000001u]++;
        is_equal(found[0], 1);
        is_equal(found[1], 1);
        is_equal(endpoint_list(pids, 1), 1);
        close(one);
        close(other);
}

TAP_MAIN(the_path_is_the_rest_of_a_session, a_request_has_the_process_and_the_label,
         a_long_label_is_cut_between_characters, an_answer_of_another_kind_is_none,
         who_is_not_recorded_is_told_from_who_is_not_there, a_door_has_one_owner,
         open_doors_are_listed_once)
