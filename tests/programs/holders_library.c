/* SPDX-License-Identifier: MIT */
/*
 * holders_library.c -- variables of a shared library that hold blocks; see holders.c.
 */
#include <stdlib.h>

#include "holders.h"

struct page {
        long number;
        struct page *next;
};

enum { GLOBAL_LINE = __LINE__ + 1 };
struct page *library_pages;
enum { STATIC_LINE = __LINE__ + 1 };
static struct page *library_hidden;
enum { THREAD_LINE = __LINE__ + 1 };
__thread struct page *library_thread_pages;

static struct page *page_new(struct page *next)
{
        struct page *page = malloc(sizeof *page);

        page->number = 1;
        page->next = next;
        return page;
}

void library_fill(void)
{
        library_pages = page_new(page_new(NULL));
        library_hidden = page_new(NULL);
        library_thread_pages = page_new(page_new(NULL));
}

void library_tell(void)
{
        PATH("library_global", "data", "library_pages", GLOBAL_LINE, "-");
        STEP(library_pages, "-");
        STEP(library_pages->next, ".next");
        PATH_END();
        PATH("library_static", "data", "library_hidden", STATIC_LINE, "-");
        STEP(library_hidden, "-");
        PATH_END();
        PATH("library_thread", "tls", "library_thread_pages", THREAD_LINE, "-");
        STEP(library_thread_pages, "-");
        STEP(library_thread_pages->next, ".next");
        PATH_END();
}
