/* SPDX-License-Identifier: MIT */
/*
 * recent.c -- the last few answers, for whoever asks the same again.
 *
 * Room:   outside, serve/ only.
 */
#include "serve/recent.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/heap.h"

struct reply_body *recent_find(struct recent *s, const char *order, uint64_t now_ns)
{
        for (int i = 0; i < RECENT_PLACES; i++)
                if (s->places[i].order && strcmp(s->places[i].order, order) == 0 && now_ns < s->places[i].until_ns) {
                        s->places[i].used_ns = now_ns;
                        return s->places[i].body;
                }
        return NULL;
}

static void clear(struct recent *s, int i)
{
        free(s->places[i].order);
        reply_leave(s->places[i].body);
        memset(&s->places[i], 0, sizeof s->places[i]);
}

void recent_put(struct recent *s, const char *order, struct reply_body *body, uint64_t until_ns)
{
        int place = 0;

        for (int i = 0; i < RECENT_PLACES; i++) {
                if (s->places[i].order && strcmp(s->places[i].order, order) == 0) {
                        place = i;
                        break;
                }
                if (s->places[i].used_ns < s->places[place].used_ns)
                        place = i;
        }
        clear(s, place);
        s->places[place].order = heap_text(order);
        s->places[place].body = reply_share(body);
        s->places[place].used_ns = clock_now_ns();
        s->places[place].until_ns = until_ns;
}

void recent_free(struct recent *s)
{
        for (int i = 0; i < RECENT_PLACES; i++)
                clear(s, i);
}
