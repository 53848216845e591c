/* SPDX-License-Identifier: MIT */
/* push_http_none.c -- in place of push_http.c in a build without libcurl. */
#include "serve/push_http.h"

struct push_http *push_http_new(struct err *e)
{
        err_set(e, ERR_EXIT_USAGE,
                "cannot push: this seep was built without libcurl; a build with its headers "
                "(Debian: libcurl4-openssl-dev) can");
        return NULL;
}

void push_http_free(struct push_http *h)
{
        (void)h;
}

void push_http_start(struct push_http *h, const char *url, const char *type, const struct str *body)
{
        (void)h;
        (void)url;
        (void)type;
        (void)body;
}

bool push_http_is_busy(const struct push_http *h)
{
        (void)h;
        return false;
}

bool push_http_wait(struct push_http *h, int fd, uint64_t patience_ms)
{
        (void)h;
        (void)fd;
        (void)patience_ms;
        return false;
}

bool push_http_end(struct push_http *h, struct push_result *r)
{
        (void)h;
        (void)r;
        return false;
}
