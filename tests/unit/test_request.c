/* SPDX-License-Identifier: MIT */
/*
 * test_request.c -- requests as browsers send them are understood, anything else is refused.
 */
#include <stdlib.h>

#include "serve/request.h"
#include "tap.h"

static struct request r;

/* Parsed from a copy of exactly its length, which is kept until the next. */
static enum request_state parse_bytes(const char *text, size_t length)
{
        static char *copy;

        free(copy);
        copy = malloc(length ? length : 1);
        memcpy(copy, text, length);
        return request_parse(&r, copy, length);
}

static enum request_state parse(const char *text)
{
        return parse_bytes(text, strlen(text));
}

#define HOST "Host: 127.0.0.1:80\r\n"

TEST(a_request_of_a_browser_is_understood)
{
        static const char text[] = "GET /token/data?at=1.5s&x= HTTP/1.1\r\nHost: "
                                   "localhost:1234\r\nUser-Agent: any (thing; else)\r\n"
                                   "if-none-match:\t \"0123\" \r\nAccept: */*\r\n\r\nGET ";

        is_equal(parse(text), REQUEST_WHOLE);
        is_equal(r.method, REQUEST_GET);
        is_true(request_is(&r.path, "/token/data"));
        is_true(request_is(&r.query, "at=1.5s&x="));
        is_true(request_is(&r.host, "localhost:1234"));
        is_true(request_is(&r.if_none_match, "\"0123\""));
        is_true(!r.close);
        is_equal(r.bytes, sizeof text - 1 - strlen("GET "));
}

TEST(what_is_not_there_is_null)
{
        is_equal(parse("HEAD / HTTP/1.1\r\n\r\n"), REQUEST_WHOLE);
        is_equal(r.method, REQUEST_HEAD);
        is_true(!r.query.at && !r.host.at && !r.if_none_match.at);
        is_true(!request_is(&r.host, ""));
}

TEST(a_request_may_come_byte_by_byte)
{
        static const char text[] = "GET /a HTTP/1.1\r\n" HOST "\r\n";

        for (size_t i = 0; i < sizeof text - 1; i++)
                is_equal(parse_bytes(text, i), REQUEST_PART);
        is_equal(parse(text), REQUEST_WHOLE);
}

TEST(other_methods_are_known_as_such)
{
        is_equal(parse("POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello"), REQUEST_WHOLE);
        is_equal(r.method, REQUEST_OTHER);
        is_true(r.close);
        is_equal(parse("get / HTTP/1.1\r\n\r\n"), REQUEST_WHOLE);
        is_equal(r.method, REQUEST_OTHER);
        is_equal(parse("GETS / HTTP/1.1\r\n\r\n"), REQUEST_WHOLE);
        is_equal(r.method, REQUEST_OTHER);
}

TEST(whoever_wants_to_close_is_let_go)
{
        is_equal(parse("GET / HTTP/1.0\r\n\r\n"), REQUEST_WHOLE);
        is_true(r.close);
        is_equal(parse("GET / HTTP/1.1\r\nConnection: close\r\n\r\n"), REQUEST_WHOLE);
        is_true(r.close);
        is_equal(parse("GET / HTTP/1.1\r\nConnection: keep-alive, CLOSE \r\n\r\n"), REQUEST_WHOLE);
        is_true(r.close);
        is_equal(parse("GET / HTTP/1.1\r\nConnection: closed\r\n\r\n"), REQUEST_WHOLE);
        is_true(!r.close);
        is_equal(parse("GET / HTTP/1.1\r\nContent-Length: 0\r\n\r\n"), REQUEST_WHOLE);
        is_true(!r.close);
}

TEST(what_is_no_http_is_refused)
{
        static const char *const wrong[] = {
                "\r\n",
                "\r\n\r\n",
                "GET\r\n\r\n",
                "GET /\r\n\r\n",
                "GET / \r\n\r\n",
                "GET / HTTP/2\r\n\r\n",
                "GET / HTTP/1.1 \r\n\r\n",
                "GET  / HTTP/1.1\r\n\r\n",
                " GET / HTTP/1.1\r\n\r\n",
                "GET a HTTP/1.1\r\n\r\n",
                "GET http://127.0.0.1/ HTTP/1.1\r\n\r\n",
                "GET /a\tb HTTP/1.1\r\n\r\n",
                "GET /\x80 HTTP/1.1\r\n\r\n",
                "G\x01T / HTTP/1.1\r\n\r\n",
                "GET / HTTP/1.1\n\n",
                "GET / HTTP/1.1\r\nHost: a\n\r\n",
                "GET / HTTP/1.1\r\nHost\r\n\r\n",
                "GET / HTTP/1.1\r\n: a\r\n\r\n",
                "GET / HTTP/1.1\r\nHost : a\r\n\r\n",
                "GET / HTTP/1.1\r\n Host: a\r\n\r\n",
                "GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n",
                "GET / HTTP/1.1\r\nHost: a\x01\r\n\r\n",
                "GET / HTTP/1.1\r\nHost: a\r\r\n\r\n",
                "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
                "GET / HTTP/1.1\r\nIf-None-Match: a\r\nIf-None-Match: b\r\n\r\n",
                "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
                "\x16\x03\x01\x02\n",
        };

        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
                if (!is_equal(parse(wrong[i]), REQUEST_WRONG))
                        printf("# number %zu\n", i);
        is_equal(parse_bytes("GET /\0 HTTP/1.1\r\n\r\n", 20), REQUEST_WRONG);
        is_equal(parse_bytes("GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n", 30), REQUEST_WRONG);
}

TEST(a_head_has_a_limit)
{
        struct str text = { 0 };

        while (text.length <= REQUEST_BYTES_MAX)
                str_char(&text, 'G');
        is_equal(parse_bytes(text.data, REQUEST_BYTES_MAX - 1), REQUEST_PART);
        is_equal(parse_bytes(text.data, REQUEST_BYTES_MAX), REQUEST_LARGE);
        is_equal(parse_bytes(text.data, REQUEST_BYTES_MAX + 1), REQUEST_LARGE);
        str_clear(&text);
        str_text(&text, "GET / HTTP/1.1\r\n");
        for (uint32_t i = 0; i < REQUEST_HEADERS_MAX; i++)
                str_text(&text, "A: b\r\n");
        is_equal(parse_bytes(text.data, text.length), REQUEST_PART);
        str_text(&text, "\r\n");
        is_equal(parse_bytes(text.data, text.length), REQUEST_WHOLE);
        text.length -= 2;
        str_text(&text, "A: b\r\n\r\n");
        is_equal(parse_bytes(text.data, text.length), REQUEST_LARGE);
        str_free(&text);
}

/* The parameters of QUERY as "[name=value]...", or "error". */
static const char *parameters(const char *query)
{
        static struct str out;
        struct request_text rest = { query, strlen(query) };
        struct str name = { 0 }, value = { 0 };
        struct err e = { 0 };

        str_clear(&out);
        str_text(&out, "");
        while (request_parameter(&rest, &name, &value, &e))
                str_format(&out, "[%s=%s]", str_get(&name), str_get(&value));
        str_free(&name);
        str_free(&value);
        if (e.text[0])
                is_equal(e.exit_code, ERR_EXIT_USAGE);
        return e.text[0] ? "error" : str_get(&out);
}

TEST(a_query_is_taken_apart)
{
        is_text(parameters(""), "");
        is_text(parameters("a=b"), "[a=b]");
        is_text(parameters("a=b&c=d"), "[a=b][c=d]");
        is_text(parameters("&&a=b&&c&"), "[a=b][c=]");
        is_text(parameters("a=b=c"), "[a=b=c]");
        is_text(parameters("=x"), "[=x]");
        is_text(parameters("a=%5E+f%28%c3%A4%29%26"), "[a=^ f(\xc3\xa4)&]");
        is_text(parameters("%61=b"), "[a=b]");
}

TEST(half_a_character_is_an_error)
{
        is_text(parameters("a=%"), "error");
        is_text(parameters("a=%4"), "error");
        is_text(parameters("a=%4g"), "error");
        is_text(parameters("a=%00"), "error");
        is_text(parameters("%zz=b"), "error");
        is_text(parameters("a=%4&b=1"), "error");
}

TAP_MAIN(a_request_of_a_browser_is_understood, what_is_not_there_is_null,
         a_request_may_come_byte_by_byte, other_methods_are_known_as_such,
         whoever_wants_to_close_is_let_go, what_is_no_http_is_refused, a_head_has_a_limit,
         a_query_is_taken_apart, half_a_character_is_an_error)
