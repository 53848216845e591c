/* SPDX-License-Identifier: MIT */
/*
 * string_pool.c -- each text once: equal texts have equal pointers.
 *
 * Keeps:  texts never move: they lie in chunks that are only added.
 */
#include "names/string_pool.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/plain.h"

enum { POOL_CHUNK = 64 * 1024 };

/* FNV-1a. */
static uint64_t pool_hash(const char *text, size_t *length)
{
        uint64_t hash = 0xcbf29ce484222325ull;
        const char *c = text;

        for (; *c; c++)
                hash = (hash ^ (unsigned char)*c) * 0x100000001b3ull;
        *length = (size_t)(c - text);
        return hash;
}

static void pool_place(struct string_pool *p, char *text, uint64_t hash)
{
        size_t i = hash & (p->room - 1);

        while (p->texts[i])
                i = (i + 1) & (p->room - 1);
        p->texts[i] = text;
        p->hashes[i] = hash;
}

static void pool_widen(struct string_pool *p)
{
        struct string_pool old = *p;

        p->room = old.room ? old.room * 2 : 1024;
        p->texts = heap_zero(p->room, sizeof *p->texts);
        p->hashes = heap_zero(p->room, sizeof *p->hashes);
        for (size_t i = 0; i < old.room; i++)
                if (old.texts[i])
                        pool_place(p, old.texts[i], old.hashes[i]);
        free(old.texts);
        free(old.hashes);
}

static char *pool_copy(struct string_pool *p, const char *text, size_t bytes)
{
        char *copy;

        if (bytes > p->chunk_left) {
                p->chunk_left = bytes > POOL_CHUNK ? bytes : POOL_CHUNK;
                p->chunk = heap_zero(p->chunk_left, 1);
                p->chunks = heap_grow(p->chunks, p->chunk_count + 1, sizeof *p->chunks);
                p->chunks[p->chunk_count++] = p->chunk;
        }
        copy = memcpy(p->chunk, text, bytes);
        p->chunk += bytes;
        p->chunk_left -= bytes;
        return copy;
}

static const char *pool_find(struct string_pool *p, const char *text)
{
        size_t length;
        uint64_t hash;
        char *copy;

        if (p->count * 2 >= p->room)
                pool_widen(p);
        hash = pool_hash(text, &length);
        for (size_t i = hash & (p->room - 1); p->texts[i]; i = (i + 1) & (p->room - 1))
                if (p->hashes[i] == hash && strcmp(p->texts[i], text) == 0)
                        return p->texts[i];
        copy = pool_copy(p, text, length + 1);
        pool_place(p, copy, hash);
        p->count++;
        return copy;
}

/* Whether TEXT may have something in it that is not plain. */
static bool pool_odd(const char *text)
{
        for (; *text; text++)
                if ((unsigned char)(*text - ' ') > '~' - ' ')
                        return true;
        return false;
}

const char *string_pool_text(struct string_pool *p, const char *text)
{
        const char *found;
        char *copy;

        if (!text || !p->plain || !pool_odd(text))
                return text ? pool_find(p, text) : NULL;
        copy = heap_text(text);
        p->changed |= plain_name(copy);
        found = pool_find(p, copy);
        free(copy);
        return found;
}

void string_pool_free(struct string_pool *p)
{
        for (size_t i = 0; i < p->chunk_count; i++)
                free(p->chunks[i]);
        free(p->chunks);
        free(p->texts);
        free(p->hashes);
        *p = (struct string_pool){ 0 };
}
