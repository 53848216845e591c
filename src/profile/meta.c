/* SPDX-License-Identifier: MIT */
/*
 * meta.c -- the META and TOTALS sections: strings and numbers in the order of format.h.
 *
 * Keeps:  later versions may append fields; what is missing at the end of TOTALS reads as 0, what
 *         is left over is ignored.
 */
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "profile/parts.h"

static void put_text(struct str *body, const char *text)
{
        size_t length = text ? strlen(text) : 0;

        str_varint(body, length + 1);
        str_bytes(body, text, length);
}

static void put_list(struct str *body, char *const *texts, uint32_t count)
{
        str_varint(body, count);
        for (uint32_t i = 0; i < count; i++)
                put_text(body, texts[i]);
}

void meta_put(const struct profile_meta *m, struct str *body)
{
#define PUT_TEXT(member) put_text(body, m->member);
#define PUT_NUMBER(member) str_varint(body, m->member);
#define PUT_LIST(member, count) put_list(body, m->member, m->count);
        FORMAT_META_TEXTS(PUT_TEXT)
        FORMAT_META_NUMBERS(PUT_NUMBER)
        FORMAT_META_LISTS(PUT_LIST)
        FORMAT_META_LATE(PUT_NUMBER)
#undef PUT_TEXT
#undef PUT_NUMBER
#undef PUT_LIST
}

static char *get_name(struct cursor *c)
{
        char *text = cursor_text(c);

        return text ? text : heap_text("");
}

static char **get_list(struct cursor *c, uint32_t *count)
{
        uint64_t wanted = cursor_varint(c);
        char **texts;

        if (wanted > cursor_left(c)) /* a text takes a byte at least */
                c->bad = true;
        if (c->bad)
                wanted = 0;
        texts = heap_zero(wanted, sizeof *texts);
        for (uint64_t i = 0; i < wanted; i++)
                texts[i] = get_name(c);
        *count = (uint32_t)wanted;
        return texts;
}

static uint64_t get_number(struct cursor *c, size_t width)
{
        uint64_t value = cursor_varint(c);

        if (width == 4 && value > UINT32_MAX)
                c->bad = true;
        return value;
}

bool meta_get(struct profile_meta *m, struct cursor *c)
{
        struct profile holder = { 0 };
        struct profile_meta *n = &holder.meta;

#define GET_TEXT(member) n->member = get_name(c);
#define GET_NUMBER(member) n->member = (__typeof__(n->member))get_number(c, sizeof n->member);
#define GET_LIST(member, count) n->member = get_list(c, &n->count);
        FORMAT_META_TEXTS(GET_TEXT)
        FORMAT_META_NUMBERS(GET_NUMBER)
        FORMAT_META_LISTS(GET_LIST)
#define GET_LATE(member) \
        n->member = cursor_left(c) ? (__typeof__(n->member))get_number(c, sizeof n->member) : 0;
        FORMAT_META_LATE(GET_LATE)
#undef GET_LATE
#undef GET_TEXT
#undef GET_NUMBER
#undef GET_LIST
        if (c->bad) {
                profile_free(&holder);
                return false;
        }
        *m = *n;
        return true;
}

static void put_numbers(struct str *body, const uint64_t *numbers, size_t count)
{
        str_varint(body, count);
        for (size_t i = 0; i < count; i++)
                str_varint(body, numbers[i]);
}

/* A later writer may have more classes: those are added to the last one. */
static void get_numbers(struct cursor *c, uint64_t *numbers, size_t count)
{
        uint64_t stored = cursor_left(c) ? cursor_varint(c) : 0;

        for (uint64_t i = 0; i < stored && !c->bad; i++)
                numbers[i < count ? i : count - 1] += cursor_varint(c);
}

void totals_put(const struct profile_totals *t, struct str *body)
{
#define PUT_NUMBER(member) str_varint(body, t->member);
#define PUT_NUMBERS(member) put_numbers(body, t->member, sizeof t->member / sizeof *t->member);
        FORMAT_TOTALS_NUMBERS(PUT_NUMBER)
        FORMAT_TOTALS_LISTS(PUT_NUMBERS)
        FORMAT_TOTALS_LATE(PUT_NUMBER)
#undef PUT_NUMBER
#undef PUT_NUMBERS
}

bool totals_get(struct profile_totals *t, struct cursor *c)
{
        struct profile_totals n = { 0 };

#define GET_NUMBER(member) n.member = cursor_left(c) ? cursor_varint(c) : 0;
#define GET_NUMBERS(member) get_numbers(c, n.member, sizeof n.member / sizeof *n.member);
        FORMAT_TOTALS_NUMBERS(GET_NUMBER)
        FORMAT_TOTALS_LISTS(GET_NUMBERS)
        FORMAT_TOTALS_LATE(GET_NUMBER)
#undef GET_NUMBER
#undef GET_NUMBERS
        if (c->bad)
                return false;
        *t = n;
        return true;
}
