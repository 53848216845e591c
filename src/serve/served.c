/* SPDX-License-Identifier: MIT */
/*
 * served.c -- what is served: recordings, or a running process, and the data of any view of them.
 */
#include "serve/served.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/heap.h"
#include "base/quantity.h"
#include "query/filter.h"
#include "session/ask.h"

#define SERVED_FAILURES_MAX 3u /* a busy observer gets another chance */

/* ---- a running process ---- */

void served_take(struct served *x, struct profile *now)
{
        latest_take(&x->latest, now, x->request->names);
        x->recording = (struct page_recording){ .profile = x->latest.profile,
                                                .symbols = x->latest.symbols };
        x->failures = 0;
        x->looked_ns = clock_now_ns();
}

static bool look(struct served *x, struct err *e)
{
        struct profile *now = heap_zero(1, sizeof *now);

        x->looked_ns = clock_now_ns();
        if (!ask_look(x->request->pid, 0, now, e)) {
                free(now);
                return false;
        }
        served_take(x, now);
        return true;
}

static void look_again(struct served *x)
{
        struct err e = { 0 };

        if (!x->live || clock_now_ns() - x->looked_ns < SERVED_EVERY_MS * 1000000ull || look(x, &e))
                return;
        if (++x->failures >= SERVED_FAILURES_MAX || ask_is_gone(x->request->pid))
                x->live = false;
}

bool served_open(struct served *x, const struct serve_request *r, struct err *e)
{
        *x = (struct served){ .request = r, .live = r->count == 0 };
        return !x->live || look(x, e);
}

void served_close(struct served *x)
{
        latest_free(&x->latest);
}

/* ---- views ---- */

/* What a query asks for. */
struct served_view {
        char *at, *range;
        struct filter filter;
        struct str text; /* words for the filter */
        bool filtered;
};

static void view_free(struct served_view *v)
{
        free(v->at);
        free(v->range);
        filter_free(&v->filter);
        str_free(&v->text);
}

static bool take_word(char **place, const char *name, const char *value, struct err *e)
{
        if (*place)
                return err_set(e, ERR_EXIT_USAGE, "'%s' is in the query twice", name);
        *place = heap_text(value);
        return true;
}

static bool take_filter(struct served_view *v, enum filter_kind kind, const char *name,
                        const char *value, struct err *e)
{
        v->filtered = true;
        str_format(&v->text, "%s%s %s", v->text.length ? ", " : "", name, value);
        return filter_add(&v->filter, kind, value, e);
}

static bool take_parameter(void *into, const char *name, const char *value, struct err *e)
{
        static const struct {
                const char *name;
                enum filter_kind kind;
        } filters[] = { { "include", FILTER_INCLUDE },
                        { "exclude", FILTER_EXCLUDE },
                        { "module", FILTER_MODULE },
                        { "thread", FILTER_THREAD } };

        struct served_view *v = into;

        if (!*value)
                return true;
        if (strcmp(name, "at") == 0)
                return take_word(&v->at, name, value, e);
        if (strcmp(name, "range") == 0)
                return take_word(&v->range, name, value, e);
        for (size_t i = 0; i < sizeof filters / sizeof *filters; i++)
                if (strcmp(name, filters[i].name) == 0)
                        return take_filter(v, filters[i].kind, name, value, e);
        return err_set(e, ERR_EXIT_USAGE,
                       "unknown parameter '%s' in the query; known are at, range, include, "
                       "exclude, module, thread", name);
}

bool served_parameters(struct request_text query,
                       bool (*take)(void *, const char *, const char *, struct err *), void *into,
                       struct err *e)
{
        struct str name = { 0 }, value = { 0 };
        bool good = true;

        e->text[0] = 0;
        while (good && request_parameter(&query, &name, &value, e))
                good = take(into, str_get(&name), str_get(&value), e);
        str_free(&name);
        str_free(&value);
        return good && !e->text[0];
}

static const struct page_recording *recordings_of(const struct served *x, uint32_t *count)
{
        *count = x->latest.profile ? 1 : x->request->count;
        return x->latest.profile ? &x->recording : x->request->recordings;
}

static bool make_data(struct served *x, struct served_view *v, struct str *out, struct err *e)
{
        const struct serve_request *r = x->request;
        struct page_request page = {
                .source = r->source,
                .names = x->request->names,
                .filter = v->filtered ? &v->filter : NULL,
                .at = v->at,
                .range = v->range,
                .filter_text = v->filtered ? str_get(&v->text) : NULL,
                .live = x->live,
                .progress = r->progress,
        };

        page.recordings = recordings_of(x, &page.count);
        if (page.count > 1 && (v->at || v->range || v->filtered))
                return err_set(e, ERR_EXIT_USAGE,
                               "two recordings are compared here: at, range and filters work for a "
                               "single one only");
        if (v->at && v->range)
                return err_set(e, ERR_EXIT_USAGE, "either 'at' or 'range', not both");
        return page_data(&page, out, e);
}

bool served_data(struct served *x, struct request_text query, struct str *out, struct err *e)
{
        struct served_view v = { 0 };
        bool good = served_parameters(query, take_parameter, &v, e);

        if (good) {
                look_again(x);
                good = make_data(x, &v, out, e);
        }
        view_free(&v);
        return good;
}

/* ---- source text ---- */

/* Which file a query asks for. */
struct view_options {
        uint64_t recording;
        char *file;
};

static bool take_wish(void *into, const char *name, const char *value, struct err *e)
{
        struct view_options *w = into;

        if (strcmp(name, "file") == 0)
                return take_word(&w->file, name, value, e);
        if (strcmp(name, "recording") == 0 && quantity_number(value, &w->recording))
                return true;
        return err_set(e, ERR_EXIT_USAGE,
                       "'%s=%s' in the query; known are recording=NUMBER and file=PATH", name,
                       value);
}

/* Nobody gets a file by guessing its name. */
static bool is_source(const struct page_recording *r, const char *file)
{
        const struct symbol_frame *frames;

        for (uint32_t node = 1; node < r->profile->node_count; node++) {
                uint32_t count = symbols_node(r->symbols, node, &frames);

                for (uint32_t i = 0; i < count; i++)
                        if (frames[i].file && strcmp(frames[i].file, file) == 0)
                                return true;
        }
        return false;
}

static bool write_source(struct served *x, const struct view_options *w, struct str *out,
                         struct err *e)
{
        uint32_t count;
        const struct page_recording *r = recordings_of(x, &count);

        if (!w->file || w->recording >= count)
                return err_set(e, ERR_EXIT_USAGE,
                               "which source file? source?recording=0&file=PATH, of a recording "
                               "that is here");
        if (!is_source(&r[w->recording], w->file))
                return err_set(e, ERR_EXIT_USAGE, "no function of this recording is in %s",
                               w->file);
        return page_source(x->request->names, w->file, out) ||
               err_set(e, ERR_EXIT_USAGE,
                       "%s is not on this machine, or cannot be read; --sysroot says where it is",
                       w->file);
}

bool served_source(struct served *x, struct request_text query, struct str *out, struct err *e)
{
        struct view_options w = { 0 };
        bool good = served_parameters(query, take_wish, &w, e) && write_source(x, &w, out, e);

        free(w.file);
        return good;
}
