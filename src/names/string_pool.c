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
        uint32_t number = TABLE_NUMBER(&p->numbers, table_hash_text(text), n,
                                       strcmp(p->texts[n], text) == 0);

        if (number == p->count) {
                p->texts = heap_next(p->texts, p->count, sizeof *p->texts);
                p->texts[p->count++] = pool_copy(p, text, strlen(text) + 1);
        }
        return p->texts[number];
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
        table_free(&p->numbers);
        *p = (struct string_pool){ 0 };
}
