/* SPDX-License-Identifier: MIT */
/*
 * test_client.c -- one HTTP connection: requests, answers and deadlines, over a pair of sockets.
 */
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "serve/client.h"
#include "tap.h"

static struct client c;
static int far; /* the client's own end */

static void begin(void)
{
        int ends[2];

        is_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
        client_init(&c, ends[0]);
        far = ends[1];
}

static void end(void)
{
        client_free(&c);
        close(far);
}

static void send_text(const char *text)
{
        is_equal(send(far, text, strlen(text), 0), strlen(text));
}

/* Everything that came so far. */
static const char *received(void)
{
        static char text[4096];
        ssize_t got = recv(far, text, sizeof text - 1, MSG_DONTWAIT);

        text[got > 0 ? got : 0] = 0;
        return text;
}

static struct reply_body *body_of(const char *text)
{
        struct str s = { 0 };

        str_text(&s, text);
        return reply_body(REPLY_OK, REPLY_HTML, &s);
}

static void answer(const char *text)
{
        struct reply_body *b = body_of(text);

        client_answer(&c, b);
        is_equal(b->users, c.state == CLIENT_WRITING || c.state == CLIENT_GONE ? 2 : 1);
        reply_leave(b);
}

TEST(a_request_is_answered_and_the_next_one_waited_for)
{
        struct request r;

        begin();
        is_equal(client_events(&c), POLLIN);
        send_text("GET /a HT");
        is_true(!client_read(&c, &r));
        send_text("TP/1.1\r\n\r\n");
        is_true(client_read(&c, &r));
        is_true(request_is(&r.path, "/a"));
        answer("hello");
        is_equal(c.state, CLIENT_READING);
        is_true(strstr(received(), "Content-Length: 5\r\n"));
        is_true(!client_next(&c, &r));
        end();
}

TEST(requests_that_come_together_are_answered_one_by_one)
{
        struct request r;

        begin();
        send_text("GET /a HTTP/1.1\r\n\r\nHEAD /b HTTP/1.1\r\n\r\nGET /c HTT");
        is_true(client_read(&c, &r));
        answer("one");
        is_true(strstr(received(), "\r\n\r\none"));
        is_true(client_next(&c, &r));
        is_true(request_is(&r.path, "/b"));
        answer("two");
        is_true(!strstr(received(), "two"));
        is_true(!client_next(&c, &r));
        is_equal(c.in.length, strlen("GET /c HTT"));
        end();
}

TEST(who_wants_to_close_is_read_to_the_end)
{
        struct request r;
        char byte;

        begin();
        send_text("GET /a HTTP/1.0\r\n\r\nand more");
        is_true(client_read(&c, &r));
        answer("one");
        is_equal(c.state, CLIENT_LEAVING);
        is_true(strstr(received(), "Connection: close"));
        is_equal(recv(far, &byte, 1, 0), 0);
        send_text("still here");
        is_true(!client_read(&c, &r));
        is_equal(c.state, CLIENT_LEAVING);
        shutdown(far, SHUT_WR);
        is_true(!client_read(&c, &r));
        is_equal(c.state, CLIENT_GONE);
        end();
}

TEST(an_answer_goes_as_fast_as_the_client_takes_it)
{
        enum { BYTES = 3000000 };
        struct str large = { 0 };
        struct reply_body *b;
        struct request r;
        size_t got = 0;
        static char part[100000];

        begin();
        for (int i = 0; i < BYTES; i++)
                str_char(&large, (char)('a' + i % 26));
        b = reply_body(REPLY_OK, REPLY_DATA, &large);
        send_text("GET / HTTP/1.1\r\n\r\n");
        is_true(client_read(&c, &r));
        client_answer(&c, b);
        is_equal(c.state, CLIENT_WRITING);
        is_equal(client_events(&c), POLLOUT);
        while (got < BYTES) {
                ssize_t n = recv(far, part, sizeof part, 0);
                size_t head = got ? 0 : (size_t)(strstr(part, "\r\n\r\n") + 4 - part);

                if (!is_true(n > 0 &&
                             memcmp(part + head, b->text.data + got, (size_t)n - head) == 0))
                        break;
                got += (size_t)n - head;
                if (c.state == CLIENT_WRITING)
                        client_write(&c);
        }
        is_equal(c.state, CLIENT_READING);
        is_equal(b->users, 1);
        reply_leave(b);
        end();
}

TEST(the_same_bytes_are_not_sent_again)
{
        struct reply_body *b = body_of("hello");
        struct str text = { 0 };
        struct request r;
        char tag[20];

        begin();
        reply_tag(b, tag);
        str_format(&text, "GET / HTTP/1.1\r\nIf-None-Match: %s\r\n\r\n", tag);
        send_text(str_get(&text));
        is_true(client_read(&c, &r));
        answer("hello");
        is_true(strncmp(received(), "HTTP/1.1 304 ", 13) == 0);
        send_text(str_get(&text));
        is_true(client_read(&c, &r));
        answer("hello there");
        is_true(strstr(received(), "\r\n\r\nhello there"));
        str_free(&text);
        reply_leave(b);
        end();
}

TEST(every_state_but_our_own_work_has_a_deadline)
{
        struct request r;
        uint64_t first;

        begin();
        is_true(c.deadline_ns != UINT64_MAX);
        send_text("GET /");
        is_true(!client_read(&c, &r));
        first = c.deadline_ns;
        send_text(" HTTP/1.1\r\n");
        is_true(!client_read(&c, &r));
        is_true(c.deadline_ns == first); /* a byte now and then does not help */
        send_text("\r\n");
        is_true(client_read(&c, &r));
        client_wait(&c, strdup("data?"));
        is_true(c.deadline_ns == UINT64_MAX);
        is_equal(client_events(&c), POLLRDHUP);
        answer("x");
        is_true(c.deadline_ns != UINT64_MAX && !c.order);
        end();
}

TEST(who_is_late_is_told_and_who_is_silent_is_not)
{
        struct request r;

        begin();
        send_text("GET / HTTP/1.1\r\n");
        is_true(!client_read(&c, &r));
        client_expire(&c);
        is_true(strncmp(received(), "HTTP/1.1 408 ", 13) == 0);
        is_equal(c.state, CLIENT_LEAVING);
        client_expire(&c);
        is_equal(c.state, CLIENT_GONE);
        end();
        begin();
        client_expire(&c);
        is_equal(c.state, CLIENT_GONE);
        is_text(received(), "");
        end();
}

TEST(who_goes_away_in_the_middle_is_gone)
{
        struct request r;

        begin();
        send_text("GET / HTTP/1.1\r\n\r\n");
        is_true(client_read(&c, &r));
        close(far);
        answer("x");
        is_equal(c.state, CLIENT_GONE);
        far = dup(0);
        end();
}

TAP_MAIN(a_request_is_answered_and_the_next_one_waited_for,
         requests_that_come_together_are_answered_one_by_one, who_wants_to_close_is_read_to_the_end,
         an_answer_goes_as_fast_as_the_client_takes_it, the_same_bytes_are_not_sent_again,
         every_state_but_our_own_work_has_a_deadline, who_is_late_is_told_and_who_is_silent_is_not,
         who_goes_away_in_the_middle_is_gone)
