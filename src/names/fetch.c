/* SPDX-License-Identifier: MIT */
#include "names/fetch.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/heap.h"
#include "base/str.h"

#define FETCH_LIBRARY "libdebuginfod.so.1"
/* Without a byte; then the servers are left alone.  DEBUGINFOD_TIMEOUT shortens it. */
#define FETCH_PATIENCE_S 15
#define FETCH_ROUNDS_MAX 64l /* the client counts its rounds while it waits; numbers
                              * that grow faster are bytes */

struct debuginfod_client;
typedef int fetch_progress(struct debuginfod_client *, long, long);

/* What we call of the library: type, name. */
#define FETCH_CALLS(X)                                                                            \
        X(struct debuginfod_client *, begin, (void))                                              \
        X(void, end, (struct debuginfod_client *))                                                \
        X(void, set_progressfn, (struct debuginfod_client *, fetch_progress *))                   \
        X(void, set_user_data, (struct debuginfod_client *, void *))                              \
        X(void *, get_user_data, (struct debuginfod_client *))                                    \
        X(int, find_debuginfo, (struct debuginfod_client *, const unsigned char *, int, char **)) \
        X(int, find_executable, (struct debuginfod_client *, const unsigned char *, int, char **))

#define FETCH_MEMBER(type, name, arguments) type(*name) arguments;
static struct {
        FETCH_CALLS(FETCH_MEMBER)
        void *library;
} debuginfod; /* loaded once per process and kept: it starts threads */
#undef FETCH_MEMBER

struct fetch {
        struct debuginfod_client *client; /* NULL until the first question */
        const struct symbol_listener *listener;
        const char *name;       /* of what is being downloaded */
        bool off;               /* nobody answers, or the user does not want to wait */
        bool cancelled, silent; /* why a download was ended by us */
        long last;
        time_t moved; /* when bytes came last */
        int patience_s;
};

static void fetch_say(const struct fetch *f, const char *text)
{
        if (f->listener && f->listener->say)
                f->listener->say(text);
}

static bool fetch_tell(const struct fetch *f, enum symbol_fetch step, long done, long total)
{
        return f->listener && f->listener->fetch &&
               f->listener->fetch(step, f->name, done > 0 ? (uint64_t)done : 0,
                                  total > 0 ? (uint64_t)total : 0);
}

static time_t fetch_now(void)
{
        return (time_t)(clock_now_ns() / 1000000000u);
}

/* Called by the client once a second or more often; not 0 ends the download. */
static int fetch_step(struct debuginfod_client *client, long done, long total)
{
        struct fetch *f = debuginfod.get_user_data(client);

        if (total > 0 ? done != f->last : done > f->last + FETCH_ROUNDS_MAX)
                f->moved = fetch_now();
        f->last = done;
        f->cancelled = fetch_tell(f, SYMBOL_FETCH_GOING, total > 0 ? done : 0, total);
        f->silent = !f->cancelled && fetch_now() - f->moved >= f->patience_s;
        return f->cancelled || f->silent;
}

static bool fetch_load(void)
{
        bool good;

        if (debuginfod.library)
                return true;
        debuginfod.library = dlopen(FETCH_LIBRARY, RTLD_NOW | RTLD_LOCAL);
        good = debuginfod.library != NULL;
#define FETCH_LOAD(type, name, arguments)                                                    \
        if (good)                                                                            \
                *(void **)&debuginfod.name = dlsym(debuginfod.library, "debuginfod_" #name); \
        good = good && debuginfod.name;
        FETCH_CALLS(FETCH_LOAD)
#undef FETCH_LOAD
        if (!good && debuginfod.library) {
                dlclose(debuginfod.library);
                debuginfod.library = NULL;
        }
        return good;
}

static bool fetch_begin(struct fetch *f)
{
        if (!f->client && fetch_load())
                f->client = debuginfod.begin();
        if (!f->client) {
                f->off = true;
                fetch_say(f, "DEBUGINFOD_URLS names servers, but the library for asking them "
                             "(" FETCH_LIBRARY
                             ", package libdebuginfod1) is not installed: continuing without them");
                return false;
        }
        debuginfod.set_user_data(f->client, f);
        debuginfod.set_progressfn(f->client, fetch_step);
        return true;
}

struct fetch *fetch_new(const struct symbol_options *options)
{
        const char *urls = getenv("DEBUGINFOD_URLS"), *timeout = getenv("DEBUGINFOD_TIMEOUT");
        int patience_s = timeout ? atoi(timeout) : 0;
        struct fetch *f;

        if (options->no_debuginfod || !urls || !urls[strspn(urls, " ")])
                return NULL;
        f = heap_zero(1, sizeof *f);
        f->listener = options->listener;
        f->patience_s = patience_s > 0 && patience_s < FETCH_PATIENCE_S ? patience_s
                                                                        : FETCH_PATIENCE_S;
        return f;
}

void fetch_free(struct fetch *f)
{
        if (f && f->client)
                debuginfod.end(f->client);
        free(f);
}

/* "Not known there" is an answer; anything else means that asking again is a waste of time. */
static void fetch_failed(struct fetch *f, int error)
{
        struct str text = { 0 };

        if (!f->cancelled && !f->silent && (error == ENOENT || error == ENOSYS))
                return;
        f->off = true;
        if (f->cancelled)
                str_text(&text, "download cancelled: continuing with the names that are here");
        else if (f->silent)
                str_format(&text,
                           "the debuginfod servers (DEBUGINFOD_URLS) sent nothing for %d s: "
                           "continuing without them", f->patience_s);
        else
                str_format(&text,
                           "the debuginfod servers (DEBUGINFOD_URLS) do not answer (%s): "
                           "continuing without them", strerror(error));
        fetch_say(f, str_get(&text));
        str_free(&text);
}

bool fetch_file(struct fetch *f, const struct profile_module *wanted, enum fetch_what what,
                char **path)
{
        const char *slash = wanted->path ? strrchr(wanted->path, '/') : NULL;
        int fd;

        *path = NULL;
        if (!f || f->off || wanted->build_id_bytes < 2 || !fetch_begin(f))
                return false;
        f->name = slash ? slash + 1 : wanted->path ? wanted->path : "?";
        f->cancelled = f->silent = false;
        f->last = 0;
        f->moved = fetch_now();
        fetch_tell(f, SYMBOL_FETCH_BEGIN, 0, 0);
        fd = (what == FETCH_DEBUGINFO ? debuginfod.find_debuginfo : debuginfod.find_executable)(
                f->client, wanted->build_id, (int)wanted->build_id_bytes, path);
        f->cancelled |= fetch_tell(f, SYMBOL_FETCH_END, 0, 0);
        if (fd < 0) {
                fetch_failed(f, -fd);
                return false;
        }
        close(fd);
        return true;
}
