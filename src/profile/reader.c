/* SPDX-License-Identifier: MIT */
/*
 * reader.c -- from the bytes of a file to a profile.
 *
 * Keeps:  trusts no byte.  A section that is damaged is left out, with everything that builds on
 *         it; the others are read.  Sections of unknown types are skipped.
 * Cost:   55 ms for a recording of cc1plus: 624,000 nodes, 108,000 sites, 1.5 MB.  No
 *         memory for an event log.
 */
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "profile/file.h"
#include "profile/image.h"
#include "profile/mapped.h"
#include "profile/packed.h"
#include "profile/parts.h"
#include "profile/section.h"
#include "profile/settle.h"

struct reading {
        struct profile *p;
        struct section_walk walk;
        struct format_header header;
        bool header_sound;
        struct columns_state columns;
        struct nodes_state nodes;
        struct str buffer;
        uint64_t raw_total;
        uint32_t good, bad, seen; /* sections that were read, that could not be, that were met */
        bool log;                 /* one of them was of an event log */
        bool meta, totals, end;
        bool packing; /* blocks, verdicts and pointers stay as they are */
        bool brief;   /* what profile_free_course() would free is passed over */
};

/* The next piece of an array: it must continue what is there. */
static bool read_piece(struct reading *r, unsigned array, struct cursor *c)
{
        uint64_t first = cursor_varint(c), count = cursor_varint(c),
                 have = format_count(r->p, array);

        if (c->bad || first != have || have > r->columns.declared[array] ||
            count > r->columns.declared[array] - have)
                return false;
        if (array == FORMAT_NODES)
                return nodes_get(&r->nodes, r->p, count, r->columns.declared[FORMAT_MODULES], c);
        return columns_get(&r->columns, r->p, array, count, c);
}

static bool read_body(struct reading *r, uint32_t type, struct cursor *c)
{
        switch (type) {
        case FORMAT_META:
                if (r->meta || !meta_get(&r->p->meta, c))
                        return false;
                return r->meta = true;
        case FORMAT_TOTALS:
                if (r->totals || !totals_get(&r->p->totals, c))
                        return false;
                return r->totals = true;
        case FORMAT_END:
                r->end = cursor_varint(c) == r->seen && !c->bad;
                return true;
        }
        return read_piece(r, type - FORMAT_FIRST_ARRAY, c);
}

/* The section S, of which C is at the count of its records, becomes part of a packed list. */
static bool keep_packed(struct reading *r, const struct section *s, struct cursor *c)
{
        unsigned array = s->type - FORMAT_FIRST_ARRAY;
        struct profile_packed *list = format_packed(r->p, array);
        uint64_t first = cursor_varint(c), count = cursor_varint(c),
                 have = format_count(r->p, array);
        size_t bytes = FORMAT_SECTION_BYTES + s->stored_bytes;

        if (c->bad || first != have || count > r->columns.declared[array] - have)
                return false;
        list->sections = heap_grow(list->sections, list->bytes + bytes, 1);
        memcpy(list->sections + list->bytes, r->walk.data + s->offset, bytes);
        list->bytes += bytes;
        list->section_count++;
        format_set_count(r->p, array, have + count);
        return true;
}

static bool is_course(uint32_t type)
{
        return type == FORMAT_FIRST_ARRAY + FORMAT_CHANGES ||
               type == FORMAT_FIRST_ARRAY + FORMAT_SHARES;
}

static bool read_section(struct reading *r, const struct section *s)
{
        const uint8_t *raw;
        struct cursor c;

        if (!s->whole)
                return false;
        /* An event log, or of a later writer: nothing to look at. */
        if (!format_is_modelled(s->type) || (r->brief && is_course(s->type)))
                return true;
        if (s->raw_bytes > FORMAT_RAW_TOTAL_MAX - r->raw_total ||
            !section_unpack(s, &r->buffer, &raw))
                return false;
        r->raw_total += s->raw_bytes;
        c = (struct cursor){ raw, raw + s->raw_bytes, false };
        if (r->packing && s->type >= FORMAT_FIRST_ARRAY && s->type != FORMAT_END &&
            format_packed(r->p, s->type - FORMAT_FIRST_ARRAY))
                return keep_packed(r, s, &c);
        return read_body(r, s->type, &c);
}

static void read_sections(struct reading *r)
{
        struct section s;

        while (section_next(&r->walk, &s)) {
                bool known = format_is_modelled(s.type);

                if (read_section(r, &s))
                        r->good += known && s.type != FORMAT_END;
                else
                        r->bad++;
                r->seen++;
                r->log |= s.type == FORMAT_EVENTS && s.whole;
                if (s.type == FORMAT_END)
                        return;
        }
}

static bool is_whole(const struct reading *r)
{
        if (!r->header_sound || !r->meta || !r->totals || !r->end || r->bad || r->walk.skipped)
                return false;
        for (unsigned array = 0; array < FORMAT_ARRAY_COUNT; array++)
                if (format_count(r->p, array) != r->columns.declared[array] &&
                    !(r->brief && is_course(FORMAT_FIRST_ARRAY + array)))
                        return false;
        return r->seen == r->header.section_count;
}

static void add_warning(struct profile_meta *m, const char *text)
{
        m->warnings = heap_grow(m->warnings, m->warning_count + 1u, sizeof *m->warnings);
        m->warnings[m->warning_count++] = heap_text(text);
}

/* Say what is not there.  Before settling: counts still tell what was read. */
static void tell_damage(const struct reading *r, const char *name, struct str *text)
{
        struct str missing = { 0 };

        if (!r->header_sound)
                str_format(text, "%s is damaged in its header", name);
        else if (r->walk.size < r->header.file_bytes)
                str_format(text, "%s was cut off after %zu of %llu bytes", name, r->walk.size,
                           (unsigned long long)r->header.file_bytes);
        else
                str_format(text, "%s is damaged", name);
        if (!r->meta)
                str_text(&missing, "what was recorded and when");
        if (!r->totals)
                str_format(&missing, "%sthe totals", missing.length ? ", " : "");
        if (r->header_sound)
                settle_missing(r->p, r->columns.declared, &missing);
        if (missing.length)
                str_format(text, "; missing: %s", missing.data);
        str_text(text, ". Everything else is shown.");
        str_free(&missing);
}

static void free_reading(struct reading *r)
{
        columns_state_free(&r->columns);
        nodes_state_free(&r->nodes);
        str_free(&r->buffer);
}

/* R begins at the start of the file; LEAST blocks or more stay packed. */
static bool read_file(struct reading r, uint64_t least, const char *name, struct err *e)
{
        const struct section_walk walk = r.walk;
        struct profile *p = r.p;
        struct str text = { 0 };

        memset(p, 0, sizeof *p);
        if (!section_header(walk.data, walk.size, name, &r.header, &r.header_sound, e))
                return false;
        for (unsigned array = 0; array < FORMAT_ARRAY_COUNT; array++)
                r.columns.declared[array] = *format_header_count(&r.header, array);
        r.packing = r.columns.declared[FORMAT_BLOCKS] >= least;
        r.walk.at = r.header.header_bytes;
        read_sections(&r);
        free_reading(&r);
        if (!r.good) {
                profile_free(p);
                if (r.log && r.header_sound)
                        return err_set(e, ERR_EXIT_BAD_FILE,
                                       "%s is the event log of an unfinished recording: `seep "
                                       "events %s` prints it", name, name);
                return err_set(e, ERR_EXIT_BAD_FILE,
                               "%s is damaged: none of its %zu bytes can be used", name, walk.size);
        }
        if (!is_whole(&r)) {
                packed_undo(p); /* what is missing shows in arrays only */
                tell_damage(&r, name, &text);
                add_warning(&p->meta, text.data);
                str_free(&text);
                p->truncated = true;
                p->meta.complete = 0;
        }
        settle_profile(p, !p->truncated);
        return true;
}

bool image_read(struct profile *p, const void *data, size_t size, const char *name, struct err *e)
{
        return read_file((struct reading){ .p = p, .walk = { .data = data, .size = size } },
                         UINT64_MAX, name, e);
}

static bool read_mapped(struct reading r, const char *path, uint64_t least, struct err *e)
{
        struct mapped m;
        bool good;

        memset(r.p, 0, sizeof *r.p);
        if (!mapped_open(&m, path, e))
                return false;
        r.walk = (struct section_walk){ .data = m.data, .size = m.size, .mapped = true };
        good = read_file(r, least, path, e);
        mapped_close(&m);
        return good;
}

bool file_read(struct profile *p, const char *path, struct err *e)
{
        return read_mapped((struct reading){ .p = p }, path, UINT64_MAX, e);
}

bool file_take(struct profile *p, const char *path, uint64_t least, struct err *e)
{
        return read_mapped((struct reading){ .p = p }, path, least, e);
}

bool file_take_end(struct profile *p, const char *path, uint64_t least, struct err *e)
{
        return read_mapped((struct reading){ .p = p, .brief = true }, path, least, e);
}

bool file_glance(struct profile *p, const char *path, struct err *e)
{
        struct reading r = { .p = p };
        struct section s;
        struct mapped m;

        memset(p, 0, sizeof *p);
        if (!mapped_open(&m, path, e))
                return false;
        r.walk = (struct section_walk){ .data = m.data, .size = m.size, .mapped = true };
        if (section_header(m.data, m.size, path, &r.header, &r.header_sound, e)) {
                r.walk.at = r.header.header_bytes;
                while (!(r.meta && r.totals) && section_next(&r.walk, &s) && s.type != FORMAT_END)
                        if (s.type == FORMAT_META || s.type == FORMAT_TOTALS)
                                read_section(&r, &s);
        }
        free_reading(&r);
        mapped_close(&m);
        if (r.meta && r.totals) {
                settle_profile(p, true);
                return true;
        }
        profile_free(p);
        return e->exit_code
                       ? false
                       : err_set(e, ERR_EXIT_BAD_FILE, "%s is damaged in its first part", path);
}

void file_unpack(struct profile *p)
{
        if (!p->packed_blocks.sections && !p->packed_verdicts.sections &&
            !p->packed_pointers.sections)
                return;
        packed_undo(p);
        settle_leaks(p, !p->truncated);
        settle_orders(p);
}

static void add_section(struct file_layout *l, const struct section *s, bool good)
{
        const char *name = format_section_name(s->type);

        l->sections = heap_grow(l->sections, l->count + 1u, sizeof *l->sections);
        l->sections[l->count++] = (struct file_section){ name ? name : "unknown", s->type,
                                                         s->offset, s->stored_bytes, s->raw_bytes,
                                                         good };
}

bool file_sections(struct file_layout *l, const char *path, struct err *e)
{
        struct format_header h;
        struct mapped m;
        bool sound, good;

        memset(l, 0, sizeof *l);
        if (!mapped_open(&m, path, e))
                return false;
        good = section_header(m.data, m.size, path, &h, &sound, e);
        if (good) {
                struct section_walk w = { .data = m.data, .size = m.size, .at = h.header_bytes,
                                          .mapped = true };
                struct section s = { 0 };

                l->bytes = m.size;
                l->format_version = FORMAT_VERSION;
                while (s.type != FORMAT_END && section_next(&w, &s))
                        add_section(l, &s, s.whole);
        }
        mapped_close(&m);
        return good;
}

void file_sections_free(struct file_layout *l)
{
        free(l->sections);
        memset(l, 0, sizeof *l);
}
