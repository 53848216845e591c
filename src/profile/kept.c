/* SPDX-License-Identifier: MIT */
#include "profile/kept.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/heap.h"
#include "base/str.h"
#include "profile/cursor.h"
#include "profile/image.h"
#include "profile/mapped.h"
#include "profile/section.h"

#define PIECE (16u << 20) /* bytes of a recording in one section */
#define RECORDING_MOST (UINT64_C(4) << 30)

/* ---- writing ---- */

static void add_piece(struct str *out, const struct kept_search *s, uint64_t at, const char *bytes)
{
        uint64_t count = s->bytes - at < PIECE ? s->bytes - at : PIECE;
        struct str body = { 0 };

        str_varint(&body, s->ms);
        str_varint(&body, s->when);
        str_varint(&body, s->seq);
        str_varint(&body, s->bytes);
        str_varint(&body, at);
        str_bytes(&body, bytes + at, count);
        section_put(out, FORMAT_SEARCH, &body, true);
        str_free(&body);
}

bool kept_add(struct profile *p, int fd, const struct kept_search *s)
{
        struct kept_search search = *s;
        struct str out = { 0 };
        struct stat st;
        char *bytes;

        if (fstat(fd, &st) < 0 || st.st_size <= 0 || (uint64_t)st.st_size > RECORDING_MOST)
                return false;
        bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes == MAP_FAILED)
                return false;
        search.bytes = (uint64_t)st.st_size;
        for (uint64_t at = 0; at < search.bytes; at += PIECE, p->kept.section_count++)
                add_piece(&out, &search, at, bytes);
        munmap(bytes, (size_t)st.st_size);
        p->kept.sections = heap_grow(p->kept.sections, p->kept.bytes + out.length, 1);
        memcpy(p->kept.sections + p->kept.bytes, out.data, out.length);
        p->kept.bytes += out.length;
        str_free(&out);
        return true;
}

/* ---- reading ---- */

/* The pieces of a file, one after another. */
struct reading {
        struct mapped file;
        struct section_walk walk;
        struct str buffer;
        struct kept_search search; /* of the present piece ... */
        uint64_t at;               /* ... where in its recording it lies ... */
        struct cursor bytes;       /* ... and what it is */
};

static bool reading_open(struct reading *r, const char *path, struct err *e)
{
        struct format_header h;
        bool sound;

        *r = (struct reading){ 0 };
        if (!mapped_open(&r->file, path, e))
                return false;
        if (!section_header(r->file.data, r->file.size, path, &h, &sound, e)) {
                mapped_close(&r->file);
                return false;
        }
        r->walk = (struct section_walk){ .data = r->file.data, .size = r->file.size,
                                         .at = h.header_bytes };
        return true;
}

static void reading_close(struct reading *r)
{
        str_free(&r->buffer);
        mapped_close(&r->file);
}

static bool next_piece(struct reading *r)
{
        struct section s;
        const uint8_t *raw;

        while (section_next(&r->walk, &s)) {
                if (s.type != FORMAT_SEARCH || !s.whole || !section_unpack(&s, &r->buffer, &raw))
                        continue;
                r->bytes = (struct cursor){ raw, raw + s.raw_bytes, false };
                r->search.ms = cursor_varint(&r->bytes);
                r->search.when = (uint32_t)cursor_varint(&r->bytes);
                r->search.seq = (uint32_t)cursor_varint(&r->bytes);
                r->search.bytes = cursor_varint(&r->bytes);
                r->at = cursor_varint(&r->bytes);
                if (!r->bytes.bad && r->search.bytes && r->search.bytes <= RECORDING_MOST &&
                    r->at < r->search.bytes)
                        return true;
        }
        return false;
}

void kept_find(struct kept_list *l, const char *path)
{
        struct reading r;
        struct err e;

        *l = (struct kept_list){ 0 };
        if (!reading_open(&r, path, &e))
                return;
        while (l->count < KEPT_MOST && next_piece(&r)) {
                if (r.at)
                        continue;
                l->at = heap_next(l->at, l->count, sizeof *l->at);
                l->at[l->count++] = r.search;
        }
        reading_close(&r);
}

void kept_free(struct kept_list *l)
{
        free(l->at);
        *l = (struct kept_list){ 0 };
}

/* Pieces of the search that R is at the start of, as far as they follow each other. */
static void join(struct reading *r, struct str *out)
{
        do
                str_bytes(out, (const char *)r->bytes.at, (size_t)(r->bytes.end - r->bytes.at));
        while (out->length < r->search.bytes && next_piece(r) && r->at == out->length);
}

bool kept_read(struct profile *p, const char *path, uint32_t number, struct err *e)
{
        struct str image = { 0 };
        struct reading r;
        uint32_t found = 0;
        bool good;

        *p = (struct profile){ 0 };
        if (!reading_open(&r, path, e))
                return false;
        while (next_piece(&r))
                if (!r.at && found++ == number) {
                        join(&r, &image);
                        break;
                }
        reading_close(&r);
        good = image.length ? image_read(p, image.data, image.length, path, e)
                            : err_set(e, ERR_EXIT_BAD_FILE,
                                      "%s: the search that it kept cannot be read", path);
        str_free(&image);
        return good;
}
