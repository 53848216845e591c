/* SPDX-License-Identifier: MIT */
/*
 * page.h -- the HTML page: its data, and the page made from the template and the data.
 *
 * Room:   outside.  The page itself is made from web/ at build time (page_template);
 *         docs/PAGE.md describes the data.
 */
#ifndef SEEP_PAGE_PAGE_H
#define SEEP_PAGE_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/progress.h"
#include "base/str.h"
#include "names/symbol.h"
#include "profile/model.h"
#include "query/filter.h"

/* One recording of a page. */
struct page_recording {
        const struct profile *profile;
        struct symbols *symbols;
        const char *file;   /* its name; NULL: a running process */
        const char *moment; /* of it that is compared with the other, or (one recording twice) with
                             * another: a word of moment.h; NULL: the end */
};

enum page_source { PAGE_SOURCE_NONE, PAGE_SOURCE_USED };

struct page_request {
        const struct page_recording *recordings; /* one, the old and the new, or ... */
        uint32_t count;
        bool together; /* ... all processes of a run, of which the page shows one at a time */
        enum page_source source; /* whether the text of source files goes along */
        const struct symbol_options *names; /* where that text is looked for; NULL:
                                             * where the recording says */
        size_t data_max;         /* of the data as it stands in the page (base64),
                                  * in bytes; 0: PAGE_DATA_MAX */
        struct filter *filter;   /* NULL: all stacks.  One recording only */
        const char *at, *range;  /* numbers of then only (on-demand data); NULL: the
                                  * whole run, with its course */
        const char *filter_text; /* words for FILTER, shown as the view's; NULL none */
        bool live;               /* of a running process: more will come */
        struct progress *progress;
};

#define PAGE_DATA_MAX (10u << 20)

/* Append the data: gzip of JSON.  What had to be cut is told in it.  Two recordings with one
 * profile are written once: moments of it are compared.  false: there is no such moment (exit code
 * 2), or it does not fit in any form. */
bool page_data(const struct page_request *r, struct str *out, struct err *e);

/* Append a source file as in "source" of the data, all of its lines; false: its text is not
 * found. */
bool page_source(const struct symbol_options *names, const char *path, struct str *out);

/* Append the whole page: the template with DATA (as page_data made it) in it.  LIVE: where the page
 * asks for newer data, a path; NULL: never. */
void page_join(const void *data, size_t bytes, const char *live, struct str *out);

/* The template, made at build time. */
extern const unsigned char page_template[];
extern const size_t page_template_bytes;

#endif
