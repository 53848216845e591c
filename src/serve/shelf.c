/* SPDX-License-Identifier: MIT */
/*
 * shelf.c -- the last few answers, for whoever asks the same again.
 *
 * Room:   outside, serve/ only.
 */
#include "serve/shelf.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/heap.h"

struct reply_body *shelf_find(struct shelf *s, const char *order, uint64_t now_ns)
{
        for (int i = 0; i < SHELF_PLACES; i++)
                if (s->places[i].order && strcmp(s->places[i].order, order) == 0 && now_ns < s->places[i].until_ns) {
                        s->places[i].used_ns = now_ns;
                        return s->places[i].body;
                }
        return NULL;
}

static void clear(struct shelf *s, int i)
{
        free(s->places[i].order);
        reply_leave(s->places[i].body);
        memset(&s->places[i], 0, sizeof s->places[i]);
}

void shelf_put(struct shelf *s, const char *order, struct reply_body *body, uint64_t until_ns)
{
        int place = 0;

        for (int i = 0; i < SHELF_PLACES; i++) {
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

void shelf_free(struct shelf *s)
{
        for (int i = 0; i < SHELF_PLACES; i++)
                clear(s, i);
}
