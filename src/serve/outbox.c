/* SPDX-License-Identifier: MIT */
#include "serve/outbox.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"

/* ---- a profile as the form that Pyroscope's /ingest takes: multipart/form-data (RFC 7578) ---- */

/* sample type of the pprof, unit, how the server joins several: what was allocated adds
 * up, what is in use does not */
#define FORM_TYPES(X)                                                   \
        X("alloc_objects", "objects", "sum")                            \
        X("alloc_space", "bytes", "sum")                                \
        X("inuse_objects", "objects", "average")                        \
        X("inuse_space", "bytes", "average")

/* Nothing is cumulative: allocations are those of the interval.  Nothing is to be
 * scaled by a sample rate. */
#define FORM_TYPE(name, unit, aggregation)                                     \
        ",\"" name "\":{\"units\":\"" unit "\",\"aggregation\":\"" aggregation \
        "\",\"display-name\":\"" name "\",\"sampled\":false,\"cumulative\":false}"

static const char form_config[] = FORM_TYPES(FORM_TYPE);

#define FORM_BOUNDARY_ROOM 48

/* Something that does not stand in PROFILE. */
static void choose_boundary(const struct str *profile, char out[FORM_BOUNDARY_ROOM])
{
        uint64_t random[2] = { clock_now_ns(), 0 };

        do {
                if (getrandom(random, sizeof random, 0) < 0)
                        random[1]++; /* any other will do: it need not be a secret */
                snprintf(out, FORM_BOUNDARY_ROOM, "seep-%016" PRIx64 "%016" PRIx64, random[0],
                         random[1]);
        } while (profile->length && memmem(profile->data, profile->length, out, strlen(out)));
}

static void begin_part(struct str *out, const char *boundary, const char *name, const char *file,
                       const char *type)
{
        str_format(out,
                   "--%s\r\nContent-Disposition: form-data; name=\"%s\"; filename=\"%s\"\r\n"
                   "Content-Type: %s\r\n\r\n", boundary, name, file, type);
}

void push_form(const struct str *profile, struct str *body, struct str *type)
{
        char boundary[FORM_BOUNDARY_ROOM];

        choose_boundary(profile, boundary);
        begin_part(body, boundary, "profile", "profile.pprof", "application/octet-stream");
        str_bytes(body, str_get(profile), profile->length);
        str_text(body, "\r\n");
        begin_part(body, boundary, "sample_type_config", "sample_type_config.json",
                   "application/json");
        str_format(body, "{%s}\r\n--%s--\r\n", form_config + 1, boundary);
        str_format(type, "multipart/form-data; boundary=%s", boundary);
}

/* ---- what waits to be sent ---- */

#define OUTBOX_FIRST_MS 1000u
#define OUTBOX_LAST_MS 60000u
#define OUTBOX_HURRY_MS 300u

void outbox_init(struct outbox *o, const struct push_address *t, struct push_http *h,
                 void (*say)(const char *))
{
        *o = (struct outbox){ .to = t, .http = h, .say = say, .told = -1 };
}

static void say(const struct outbox *o, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
static void say(const struct outbox *o, const char *format, ...)
{
        char text[1024];
        va_list arguments;

        va_start(arguments, format);
        vsnprintf(text, sizeof text, format, arguments);
        va_end(arguments);
        o->say(text);
}

/* ---- what is in it ---- */

static void drop(struct outbox *o, uint32_t which)
{
        struct outbox_letter *l = &o->letters[which];

        str_free(&l->url);
        str_free(&l->type);
        str_free(&l->body);
        o->count--;
        memmove(l, l + 1, (o->count - which) * sizeof *l);
        o->letters[o->count] = (struct outbox_letter){ 0 };
}

static uint64_t bytes_in(const struct outbox *o)
{
        uint64_t bytes = 0;

        for (uint32_t i = 0; i < o->count; i++)
                bytes += o->letters[i].body.length;
        return bytes;
}

/* The one on its way stays. */
static void make_room(struct outbox *o, size_t bytes)
{
        uint32_t first = push_http_is_busy(o->http);

        while (o->count > first &&
               (o->count == OUTBOX_MAX || bytes_in(o) + bytes > OUTBOX_BYTES_MAX)) {
                drop(o, first);
                o->dropped++;
                if (!o->told_drop)
                        say(o,
                            "%s accepts profiles too slowly, or not at all: the oldest ones in the "
                            "queue are dropped", o->to->shown);
                o->told_drop = true;
        }
}

void outbox_put(struct outbox *o, const struct push_subject *s, const struct str *pprof)
{
        struct outbox_letter letter = { 0 };

        if (o->given_up) {
                o->dropped++;
                return;
        }
        push_address_url(o->to, s, &letter.url);
        push_form(pprof, &letter.body, &letter.type);
        make_room(o, letter.body.length);
        o->letters[o->count++] = letter;
}

bool outbox_is_empty(const struct outbox *o)
{
        return o->count == 0;
}

bool outbox_is_open(const struct outbox *o)
{
        return o->failures || o->given_up ||
               (o->count < OUTBOX_MAX && bytes_in(o) < OUTBOX_BYTES_MAX / 2);
}

static void drop_all(struct outbox *o)
{
        o->dropped += o->count;
        while (o->count)
                drop(o, o->count - 1);
}

/* ---- what becomes of it ---- */

/* May the same profile be taken a little later? */
static bool is_passing(long status)
{
        return status == 0 || status == 408 || status == 425 || status == 429 || status >= 500;
}

static void tell_trouble(struct outbox *o, const struct push_result *r)
{
        if (o->told == r->status)
                return;
        o->told = r->status;
        if (r->status == 0)
                say(o, "cannot push to %s now: %s; recording continues, and pushing is retried",
                    o->to->shown, r->why);
        else if (is_passing(r->status))
                say(o,
                    "%s accepts no profiles now (status %ld%s%s); recording continues, and pushing "
                    "is retried", o->to->shown, r->status, r->why[0] ? ": " : "", r->why);
        else
                say(o,
                    "%s rejects profiles with status %ld%s%s; they are dropped. Is the URL right, "
                    "and do you have write access?", o->to->shown, r->status,
                    r->why[0] ? ": " : "", r->why);
}

static uint64_t pause_ms(const struct outbox *o, const struct push_result *r)
{
        uint64_t ms = OUTBOX_FIRST_MS << (o->failures < 6 ? o->failures : 6);

        if (o->finishing)
                return OUTBOX_HURRY_MS;
        if (r->again_s)
                return r->again_s * 1000;
        return ms < OUTBOX_LAST_MS ? ms : OUTBOX_LAST_MS;
}

static void take_answer(struct outbox *o, const struct push_result *r)
{
        bool good = r->status >= 200 && r->status < 300;

        if (!good)
                tell_trouble(o, r);
        if (good || !is_passing(r->status)) {
                drop(o, 0);
                o->dropped += !good;
                o->told = good ? -1 : o->told;
                o->failures = 0;
                o->due_ns = 0;
                return;
        }
        if (o->finishing && r->status == 0) {
                o->given_up = true;
                drop_all(o);
                return;
        }
        o->due_ns = clock_now_ns() + pause_ms(o, r) * 1000000u;
        o->failures++;
}

uint64_t outbox_due_ns(const struct outbox *o)
{
        return o->count && !push_http_is_busy(o->http) ? o->due_ns : UINT64_MAX;
}

void outbox_step(struct outbox *o)
{
        struct push_result r;

        if (push_http_is_busy(o->http) && push_http_end(o->http, &r))
                take_answer(o, &r);
        if (o->count && !push_http_is_busy(o->http) && clock_now_ns() >= o->due_ns)
                push_http_start(o->http, str_get(&o->letters[0].url), str_get(&o->letters[0].type),
                                &o->letters[0].body);
}

void outbox_finish(struct outbox *o)
{
        o->finishing = true;
        o->due_ns = 0;
}

void outbox_close(struct outbox *o, uint32_t unseen)
{
        drop_all(o);
        o->dropped += unseen;
        if (o->dropped)
                say(o, "%" PRIu64 " %s not delivered to %s", o->dropped,
                    o->dropped == 1 ? "profile was" : "profiles were", o->to->shown);
        o->dropped = 0;
}
