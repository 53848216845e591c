/* SPDX-License-Identifier: MIT */
#include "top/past.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"

uint64_t past_key(uint64_t key, uint64_t part)
{
        key = (key ^ part) * 0x9e3779b97f4a7c15ull;
        return key ^ key >> 29;
}

uint64_t past_key_text(uint64_t key, const char *text)
{
        for (; *text; text++)
                key = past_key(key, (unsigned char)*text);
        return key;
}

/* ---- numbers ---- */

static struct past_key *find_key(const struct past *h, uint64_t key)
{
        size_t i = past_key(key, key >> 32) & (h->key_room - 1);

        while (h->keys[i].number && h->keys[i].key != key)
                i = (i + 1) & (h->key_room - 1);
        return &h->keys[i];
}

static void widen(struct past *h)
{
        struct past_key *old = h->keys;
        size_t room = h->key_room;

        h->key_room = room ? room * 2 : 1024;
        h->keys = heap_zero(h->key_room, sizeof *h->keys);
        for (size_t i = 0; i < room; i++)
                if (old[i].number)
                        *find_key(h, old[i].key) = old[i];
        free(old);
}

uint32_t past_number(struct past *h, uint64_t key)
{
        struct past_key *place;

        if (h->key_count * 2 >= h->key_room)
                widen(h);
        place = find_key(h, key);
        if (!place->number)
                *place = (struct past_key){ key, ++h->key_count };
        return place->number - 1;
}

struct past_numbers *past_place(struct past_moment *m, uint32_t number)
{
        if (number >= m->count) {
                uint32_t count = number < m->count * 2 ? m->count * 2 : number + 64;

                m->all = heap_grow(m->all, count, sizeof *m->all);
                for (uint32_t i = m->count; i < count; i++)
                        m->all[i] = (struct past_numbers){ .birth_ms = PAST_UNKNOWN };
                m->count = count;
        }
        return &m->all[number];
}

struct past_numbers past_of(const struct past_moment *m, uint32_t number)
{
        return m && number < m->count ? m->all[number] : (struct past_numbers){ .birth_ms = PAST_UNKNOWN };
}

/* ---- moments ---- */

struct past_moment past_copy(const struct past_moment *m)
{
        struct past_moment copy = *m;

        copy.all = heap_zero(m->count, sizeof *m->all);
        if (m->count)
                memcpy(copy.all, m->all, m->count * sizeof *m->all);
        return copy;
}

void past_moment_free(struct past_moment *m)
{
        free(m->all);
        *m = (struct past_moment){ 0 };
}

static void drop(struct past *h, uint32_t index)
{
        past_moment_free(&h->moments[index]);
        h->moment_count--;
        memmove(&h->moments[index], &h->moments[index + 1], (h->moment_count - index) * sizeof *h->moments);
}

void past_add(struct past *h, struct past_moment *m)
{
        uint32_t n = h->moment_count;

        if (n >= 3 && h->moments[n - 2].ms - h->moments[n - 3].ms < PAST_STEP_MS)
                drop(h, n - 2);
        h->moments = heap_grow(h->moments, h->moment_count + 1, sizeof *h->moments);
        h->moments[h->moment_count++] = *m;
        while (h->moment_count > 2 && h->moments[1].ms + PAST_SPAN_MS <= m->ms)
                drop(h, 0);
        *m = (struct past_moment){ 0 };
}

const struct past_moment *past_at(const struct past *h, uint64_t ms, bool blocks)
{
        const struct past_moment *found = NULL;

        for (uint32_t i = 0; i < h->moment_count; i++)
                if ((!blocks || h->moments[i].blocks) && (!found || h->moments[i].ms <= ms))
                        found = &h->moments[i];
        return found;
}

const struct past_moment *past_newest(const struct past *h)
{
        return h->moment_count ? &h->moments[h->moment_count - 1] : NULL;
}

const struct past_moment *past_previous(const struct past *h, bool blocks)
{
        for (uint32_t i = h->moment_count; i > 1; i--)
                if (!blocks || h->moments[i - 2].blocks)
                        return &h->moments[i - 2];
        return NULL;
}

void past_clear(struct past *h)
{
        while (h->moment_count)
                drop(h, h->moment_count - 1);
}

void past_free(struct past *h)
{
        past_clear(h);
        free(h->moments);
        free(h->keys);
        *h = (struct past){ 0 };
}
