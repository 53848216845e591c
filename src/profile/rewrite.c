/* SPDX-License-Identifier: MIT */
/*
 * rewrite.c -- a changed profile in the place of the old one, with everything else that the file holds.
 *
 * Room:   outside.  Called by cli/ through file_rewrite().
 * Keeps:  sections that are no part of the model (an event log, or what a later version writes) are copied byte by byte.
 */
#include <string.h>

#include "base/io.h"
#include "profile/file.h"
#include "profile/image.h"
#include "profile/section.h"
#include "profile/store.h"

/* Append the sections of IMAGE, from START on, that are (or are not) MODELLED; returns how many. */
static uint32_t copy_sections(const struct str *image, size_t start, bool modelled, struct str *out)
{
        struct section_walk w = { (const uint8_t *)image->data, image->length, start, 0 };
        struct section s = { 0 };
        uint32_t count = 0;

        while (s.type != FORMAT_END && section_next(&w, &s)) {
                if (s.type == FORMAT_END || format_is_modelled(s.type) != modelled || !s.whole)
                        continue;
                str_bytes(out, image->data + s.offset, FORMAT_SECTION_BYTES + s.stored_bytes);
                count++;
        }
        return count;
}

static void add_end(uint32_t sections, struct str *out)
{
        struct str body = { 0 };

        str_varint(&body, sections);
        section_put(out, FORMAT_END, &body, false);
        str_free(&body);
}

/* NEW is the file of the model alone, OLD the file that it was read from, with its sections from OLD_START on. */
static void join(const struct str *new, const struct str *old, size_t old_start, struct str *out)
{
        struct format_header h;
        uint32_t sections;

        memcpy(&h, new->data, sizeof h);
        str_bytes(out, new->data, h.header_bytes);
        sections = copy_sections(new, h.header_bytes, true, out) + copy_sections(old, old_start, false, out);
        add_end(sections, out);
        h.section_count = sections + 1;
        h.file_bytes = out->length;
        h.crc = format_crc(&h, offsetof(struct format_header, crc));
        memcpy(out->data, &h, sizeof h);
}

bool file_rewrite(const struct profile *p, const char *from, const char *to, struct err *e)
{
        struct str old = { 0 }, new = { 0 }, whole = { 0 };
        struct format_header h;
        bool good, sound;

        good = io_read_file(from, &old) || err_sys(e, ERR_EXIT_BAD_FILE, "cannot read %s", from);
        good = good && section_header((const uint8_t *)str_get(&old), old.length, from, &h, &sound, e) &&
               image_write(p, IMAGE_PACKED, &new, e);
        if (good) {
                join(&new, &old, h.header_bytes, &whole);
                good = store_file(to, whole.data, whole.length, e);
        }
        str_free(&old);
        str_free(&new);
        str_free(&whole);
        return good;
}
