/* SPDX-License-Identifier: MIT */
#include "top/history.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"

/* ---- numbers ---- */

uint32_t history_number(struct history *h, uint64_t key)
{
        return lookup_number(&h->numbers, key, 0);
}

struct history_numbers *history_place(struct history_moment *m, uint32_t number)
{
        if (number >= m->count) {
                uint32_t count = number < m->count * 2 ? m->count * 2 : number + 64;

                m->all = heap_grow(m->all, count, sizeof *m->all);
                for (uint32_t i = m->count; i < count; i++)
                        m->all[i] = (struct history_numbers){ .birth_ms = HISTORY_UNKNOWN };
                m->count = count;
        }
        return &m->all[number];
}

struct history_numbers history_of(const struct history_moment *m, uint32_t number)
{
        return m && number < m->count ? m->all[number] : (struct history_numbers){
                .birth_ms = HISTORY_UNKNOWN };
}

/* ---- moments ---- */

struct history_moment history_copy(const struct history_moment *m)
{
        struct history_moment copy = *m;

        copy.all = heap_zero(m->count, sizeof *m->all);
        if (m->count)
                memcpy(copy.all, m->all, m->count * sizeof *m->all);
        return copy;
}

void history_moment_free(struct history_moment *m)
{
        free(m->all);
        *m = (struct history_moment){ 0 };
}

static void drop(struct history *h, uint32_t index)
{
        history_moment_free(&h->moments[index]);
        h->moment_count--;
        memmove(&h->moments[index], &h->moments[index + 1],
                (h->moment_count - index) * sizeof *h->moments);
}

void history_add(struct history *h, struct history_moment *m)
{
        uint32_t n = h->moment_count;

        if (n >= 3 && h->moments[n - 2].ms - h->moments[n - 3].ms < HISTORY_STEP_MS)
                drop(h, n - 2);
        h->moments = heap_grow(h->moments, h->moment_count + 1, sizeof *h->moments);
        h->moments[h->moment_count++] = *m;
        while (h->moment_count > 2 && h->moments[1].ms + HISTORY_SPAN_MS <= m->ms)
                drop(h, 0);
        *m = (struct history_moment){ 0 };
}

const struct history_moment *history_at(const struct history *h, uint64_t ms, bool blocks)
{
        const struct history_moment *found = NULL;

        for (uint32_t i = 0; i < h->moment_count; i++)
                if ((!blocks || h->moments[i].blocks) && (!found || h->moments[i].ms <= ms))
                        found = &h->moments[i];
        return found;
}

const struct history_moment *history_newest(const struct history *h)
{
        return h->moment_count ? &h->moments[h->moment_count - 1] : NULL;
}

const struct history_moment *history_previous(const struct history *h, bool blocks)
{
        for (uint32_t i = h->moment_count; i > 1; i--)
                if (!blocks || h->moments[i - 2].blocks)
                        return &h->moments[i - 2];
        return NULL;
}

void history_clear(struct history *h)
{
        while (h->moment_count)
                drop(h, h->moment_count - 1);
}

void history_free(struct history *h)
{
        history_clear(h);
        free(h->moments);
        lookup_free(&h->numbers);
        *h = (struct history){ 0 };
}
