/* SPDX-License-Identifier: MIT */
/* deliver.h -- the destination of a result: a file (-o FILE), or stdout. */
#ifndef SEEP_CLI_DELIVER_H
#define SEEP_CLI_DELIVER_H

#include <stdbool.h>

#include "base/err.h"
#include "base/place.h"
#include "base/str.h"
#include "cli/pager.h"

struct deliver {
        const char *output; /* NULL or "-": stdout */
        bool force;         /* an existing file is replaced */
        bool plain;         /* no pager */
        bool raw;           /* a format that escapes what strangers wrote, where that goes to no
                             * terminal; else nothing that one obeys goes out (base/plain.h) */
        bool quiet;         /* no warnings */
        bool looked_up;
        struct place place; /* of OUTPUT; looked up before the work, and never again */
};

/* Before the work: nobody waits for what cannot be written.  Done by the functions below, else.  It
 * ends with the result, or with deliver_drop(). */
bool deliver_prepare(struct deliver *d, struct err *e);
void deliver_drop(struct deliver *d);

/* A file appears whole or not at all. */
bool deliver_text(struct deliver *d, const struct str *text, struct err *e);

/* Tell about a directory where others can replace what is written. */
void deliver_warn(const struct place *p);

/* A result that is written while it is made, because it may be longer than memory. */
struct deliver_stream {
        struct str_sink sink; /* of deliver_gather() */
        struct err trouble;   /* ... and why its stream could not begin */
        bool begun;
        struct str text; /* to be appended to */
        struct deliver *to;
        int fd, failure; /* errno */
        bool paged;
        struct pager pager;
        void (*before)(int); /* what SIGPIPE did */
};

#define DELIVER_AT_ONCE (64u << 10)

bool deliver_begin(struct deliver_stream *s, struct deliver *d, struct err *e);

/* After each piece of text.  false: there is no use in more, the reader has gone or nothing can be
 * written. */
bool deliver_more(struct deliver_stream *s);

/* It will not become whole: what was written to a file so far goes away with deliver_end(). */
void deliver_give_up(struct deliver_stream *s);

/* A reader that goes away early is no error. */
bool deliver_end(struct deliver_stream *s, struct err *e);

/* The same for a result that is mostly short, and is then shown as deliver_text() does: it is
 * appended to S->text, and written from the moment on at which it is long (str_drain). */
void deliver_gather(struct deliver_stream *s, struct deliver *d);
bool deliver_finish(struct deliver_stream *s, struct err *e);

/* In place of deliver_finish() when there is no result. */
void deliver_forget(struct deliver_stream *s);

/* What is told about a recording never takes its place, nor that of another one.  false: PATH is
 * one. */
bool deliver_may_replace(const char *path, struct err *e);

/* Whether the result is coloured. */
bool deliver_color(const struct deliver *d, enum pager_color wanted);

#endif
