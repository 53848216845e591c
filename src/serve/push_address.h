/* SPDX-License-Identifier: MIT */
/*
 * push_address.h -- where profiles are sent, and under which name: the address of Pyroscope's
 * /ingest.
 *
 * Room:   outside, serve/ only.  Pure.
 * Keeps:  the server's rules: names of [A-Za-z0-9_./-], labels as {key=value,...} without quotes.
 *         What a program is called cannot break out of them.
 */
#ifndef SEEP_SERVE_PUSH_ADDRESS_H
#define SEEP_SERVE_PUSH_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "serve/push.h"

struct push_address {
        char *address;     /* with the password, up to and with /ingest */
        char *shown;       /* the same for people: without user and password */
        char *name;        /* of the application; NULL: that of the program */
        struct str labels; /* "key=value,..." */
        struct str rest;   /* of the query: "&key=value...", as it was given */
};

/* Whose profile it is, and of when: seconds since 1970. */
struct push_subject {
        const char *program, *host;
        uint32_t pid;
        uint64_t from, until;
};

/* false with E filled: no URL of that kind, or no such label (exit code 2). */
bool push_address_parse(struct push_address *t, const struct push_request *r, struct err *e);
void push_address_free(struct push_address *t);

/* Append the whole URL. */
void push_address_url(const struct push_address *t, const struct push_subject *s, struct str *out);

#endif
