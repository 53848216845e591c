/* SPDX-License-Identifier: MIT */
/*
 * leak_headers.c -- libraries that keep a header in front of what they hand out, programs that lose
 * some of it, and what only looks like that.
 *
 * Room:   tests only.  See leak.h.
 */
#include "leak.h"

#define EACH 120u

/* Everything that is in use hangs on these. */
static void *volatile held[4096];
static unsigned held_count;

static void hold(const void *p)
{
        held[held_count++] = (void *)p;
}

static void *blank(size_t size)
{
        return leak_blank(malloc(size), size);
}

/* Of so many blocks some are lost, and of a few the pointer was moved on. */
static const char *fate(unsigned i)
{
        return i % 10 == 3 ? DEFINITE : i % 40 == 7 ? POSSIBLE : REACHABLE;
}

static void meet_fate(const char *kind, char *p, size_t moved)
{
        if (strcmp(kind, DEFINITE))
                hold(strcmp(kind, POSSIBLE) ? p : p + moved);
}

/* ---- two counts in front, as Rust's Arc and shared_ptr's relatives have them ---- */

LEAK_ALONE static void *counted_new(const char *kind, size_t size)
{
        size_t *p = blank(16 + size);

        p[0] = 1 + size % 3;
        p[1] = 1;
        leak_note(kind, __func__, 16 + size);
        return p + 2;
}

static void counted(void)
{
        for (unsigned i = 0; i < EACH; i++)
                meet_fate(fate(i), counted_new(fate(i), 100 + i), 48);
}

/* ---- strings of several sizes of headers, which are no multiples of 8 (sds) ---- */

LEAK_ALONE static char *text_new(const char *kind, size_t length)
{
        unsigned type = length < 32      ? 0
                        : length < 256   ? 1
                        : length < 65536 ? 2
                                         : 3,
                 field = 1u << (type ? type - 1 : 0);
        size_t header = type ? 2 * field + 1 : 1;
        char *p = blank(header + length + 1);

        if (type) {
                memcpy(p, &length, field);
                memcpy(p + field, &length, field);
        }
        p[header - 1] = (char)(type ? type : length << 3);
        memset(p + header, 'x', length);
        leak_note(kind, __func__, header + length + 1);
        return p + header;
}

static void texts(void)
{
        static const size_t lengths[] = { 5, 20, 30, 60, 200, 300, 5000 };

        for (unsigned i = 0; i < 4 * EACH; i++) {
                size_t length = lengths[i % (sizeof lengths / sizeof *lengths)];

                meet_fate(fate(i), text_new(fate(i), length), length / 2);
        }
        for (unsigned i = 0; i < 10; i++)
                hold(text_new(REACHABLE, 66000 + i));
}

/* Strings that were made at a place of their own, one each: the others speak for them. */
static void single_texts(void)
{
        texts();
        hold(text_new(REACHABLE, 7));
        hold(text_new(REACHABLE, 70));
        text_new(DEFINITE, 71);
        hold(text_new(POSSIBLE, 72) + 4);
}

/* ---- a tree of contexts: headers point to headers, programs have what is behind (talloc) ---- */

struct chunk {
        struct chunk *next, *prev, *parent, *child;
        size_t size, flags[7];
};

LEAK_ALONE static void *context_new(void *parent, size_t size)
{
        struct chunk *c = blank(sizeof *c + size),
                     *above = parent ? (struct chunk *)parent - 1 : NULL;

        c->parent = above;
        c->next = above ? above->child : NULL;
        c->size = size;
        if (c->next)
                c->next->prev = c;
        if (above)
                above->child = c;
        return c + 1;
}

/* The one at the top is held by its owner alone, its children by what is in it, too. */
LEAK_ALONE static void *kept_contexts(void)
{
        void **top = context_new(NULL, 16 * sizeof *top);

        leak_note(REACHABLE, __func__, sizeof(struct chunk) + 16 * sizeof *top);
        for (unsigned i = 0; i < 16; i++) {
                top[i] = context_new(top, 24 + i);
                leak_note(REACHABLE, __func__, sizeof(struct chunk) + 24 + i);
        }
        return top;
}

LEAK_ALONE static void lost_contexts(void)
{
        void *top = context_new(NULL, 50);

        leak_note(DEFINITE, __func__, sizeof(struct chunk) + 50);
        for (unsigned i = 0; i < 16; i++) {
                context_new(top, 70 + i);
                leak_note(INDIRECT, __func__, sizeof(struct chunk) + 70 + i);
        }
}

static void contexts(void)
{
        hold(kept_contexts());
        lost_contexts();
}

/* ---- a list from behind one header to behind the next ---- */

LEAK_ALONE static void **link_new(const char *kind, void *next)
{
        void **p = blank(16 + 40);

        p[1] = (void *)1;
        p[2] = next;
        leak_note(kind, __func__, 16 + 40);
        return p + 2;
}

static void links(void)
{
        void **list = NULL;

        for (unsigned i = 0; i < EACH; i++)
                list = link_new(REACHABLE, list);
        hold(list);
        list = NULL;
        for (unsigned i = 0; i < EACH; i++)
                list = link_new(i == EACH - 1 ? DEFINITE : INDIRECT, list);
}

/* ---- members that are in a list: the list points to them, nobody to the whole ---- */

struct ring {
        struct ring *next, *prev;
};

static struct ring ring = { &ring, &ring };

struct member {
        size_t number, weight, colour;
        struct ring ring;
        char name[40];
};

LEAK_ALONE static void member_new(const char *kind, int in_ring)
{
        struct member *m = blank(sizeof *m);

        m->number = 5;
        if (in_ring) {
                m->ring = (struct ring){ ring.next, &ring };
                ring.next->prev = &m->ring;
                ring.next = &m->ring;
        }
        leak_note(kind, __func__, sizeof *m);
}

static void members(void)
{
        for (unsigned i = 0; i < EACH; i++)
                member_new(i % 9 ? REACHABLE : DEFINITE, i % 9);
}

/* ---- no headers ---- */

/* Too few to know. */
LEAK_ALONE static void *few_new(void)
{
        size_t *p = blank(16 + 333);

        p[0] = p[1] = 1;
        leak_note(POSSIBLE, __func__, 16 + 333);
        return p + 2;
}

/* A value behind a name, the same in all. */
LEAK_ALONE static char *value_new(unsigned i)
{
        char *p = blank(60);

        snprintf(p, 60, "name=value %u", i);
        leak_note(POSSIBLE, __func__, 60);
        return p + 5;
}

/* An option without its dash. */
LEAK_ALONE static char *option_new(unsigned i)
{
        char *p = blank(50);

        snprintf(p, 50, "-%u", i);
        leak_note(POSSIBLE, __func__, 50);
        return p + 1;
}

/* What is left to do of an array of numbers. */
LEAK_ALONE static double *numbers_new(unsigned i)
{
        double *p = blank(80);

        for (unsigned k = 0; k < 10; k++)
                p[k] = 0.5 + i + k;
        leak_note(POSSIBLE, __func__, 80);
        return p + 1;
}

/* Pointers that were moved on, each as far as it came. */
LEAK_ALONE static char *buffer_new(unsigned i)
{
        char *p = blank(600);

        leak_note(POSSIBLE, __func__, 600);
        return p + 8 + 8 * (i * 37 % 70);
}

/* Half of them have a pointer to the start, too: this is how they are kept. */
LEAK_ALONE static void half_new(const char *kind)
{
        char *p = blank(90);

        leak_note(kind, __func__, 90);
        hold(strcmp(kind, POSSIBLE) ? p : p + 16);
}

static void others(void)
{
        for (unsigned i = 0; i < 7; i++)
                hold(few_new());
        for (unsigned i = 0; i < EACH; i++) {
                hold(value_new(i));
                hold(option_new(i));
                hold(numbers_new(i));
                hold(buffer_new(i));
                half_new(i % 2 ? POSSIBLE : REACHABLE);
        }
}

static const struct leak_case cases[] = {
        { "counted", counted },   { "texts", texts }, { "single_texts", single_texts },
        { "contexts", contexts }, { "links", links }, { "members", members },
        { "others", others },     { NULL, NULL },
};

int main(int argc, char **argv)
{
        (void)argc;
        return leak_main(argv, cases);
}
