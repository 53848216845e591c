/* SPDX-License-Identifier: MIT */
/*
 * rewrite.c -- a changed profile in place of the old one, with everything else that the file holds.
 *
 * Keeps:  sections that are no part of the model (an event log, or what a later version writes)
 *         are copied byte by byte.
 */
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "profile/file.h"
#include "profile/image.h"
#include "profile/mapped.h"
#include "profile/section.h"
#include "profile/store.h"

/* The new file as pieces of the old one and of memory: an event log is copied
 * without being read into it. */
struct plan {
        struct store_part *parts;
        size_t count;
        uint32_t sections;
        uint64_t bytes;
};

static void add_part(struct plan *plan, struct store_part part)
{
        plan->parts = heap_grow(plan->parts, plan->count + 1, sizeof *plan->parts);
        plan->parts[plan->count++] = part;
        plan->bytes += part.count;
}

/* Bytes of the old file, as one part with those before if they follow them there. */
static void add_copied(struct plan *plan, const struct mapped *old, uint64_t offset, uint64_t count)
{
        struct store_part *last = &plan->parts[plan->count - 1];

        if (last->bytes || last->offset + last->count != offset) {
                add_part(plan,
                         (struct store_part){ .fd = old->fd, .offset = offset, .count = count });
                return;
        }
        last->count += count;
        plan->bytes += count;
}

/* The header and the sections of the model, which are all in NEW but for its end. */
static void plan_model(struct plan *plan, const struct str *new, size_t start)
{
        struct section_walk w = { .data = (const uint8_t *)new->data, .size = new->length,
                                  .at = start };
        struct section s = { 0 };

        for (; section_next(&w, &s) && s.type != FORMAT_END; plan->sections++)
                continue;
        add_part(plan, (struct store_part){ .bytes = new->data, .count = s.offset });
}

static void plan_rest(struct plan *plan, const struct mapped *old, size_t start)
{
        struct section_walk w = { .data = old->data, .size = old->size, .at = start,
                                  .mapped = true };
        struct section s = { 0 };

        while (s.type != FORMAT_END && section_next(&w, &s)) {
                if (format_is_modelled(s.type) || !s.whole)
                        continue;
                add_copied(plan, old, s.offset, FORMAT_SECTION_BYTES + s.stored_bytes);
                plan->sections++;
        }
}

static void plan_end(struct plan *plan, struct str *end)
{
        struct str body = { 0 };

        str_varint(&body, plan->sections++);
        section_put(end, FORMAT_END, &body, false);
        add_part(plan, (struct store_part){ .bytes = end->data, .count = end->length });
        str_free(&body);
}

/* NEW is the file of the model alone, OLD the file that it was read from, with its header. */
static bool join(struct str *new, const struct mapped *old, const struct format_header *old_header,
                 struct place *to, struct err *e)
{
        struct str end = { 0 };
        struct plan plan = { 0 };
        struct format_header h;
        bool good;

        memcpy(&h, new->data, sizeof h);
        plan_model(&plan, new, h.header_bytes);
        plan_rest(&plan, old, old_header->header_bytes);
        plan_end(&plan, &end);
        /* Arrays of a later version are copied, so their counts stay as well. */
        for (unsigned i = FORMAT_ARRAY_COUNT - FORMAT_ARRAYS_FRONT; i < FORMAT_ARRAYS_BACK; i++)
                h.back_count[i] = old_header->back_count[i];
        h.back_crc = format_crc(h.back_count,
                                offsetof(struct format_header, back_crc) - FORMAT_HEADER_LEAST);
        h.section_count = plan.sections;
        h.file_bytes = plan.bytes;
        h.crc = format_crc(&h, offsetof(struct format_header, crc));
        memcpy(new->data, &h, sizeof h);
        to->durable = true;
        good = store_at(to, plan.parts, plan.count, e);
        free(plan.parts);
        str_free(&end);
        return good;
}

bool file_rewrite(const struct profile *p, const char *from, struct place *to, struct err *e)
{
        struct str new = { 0 };
        struct format_header h;
        struct mapped old;
        bool good, sound;

        if (!mapped_open(&old, from, e))
                return false;
        good = section_header(old.data, old.size, from, &h, &sound, e) &&
               image_write(p, IMAGE_PACKED, &new, e) && join(&new, &old, &h, to, e);
        mapped_close(&old);
        str_free(&new);
        return good;
}
