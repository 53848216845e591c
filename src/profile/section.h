/* SPDX-License-Identifier: MIT */
/* section.h -- the sections of a file in memory, one after another; damaged ones are skipped. */
#ifndef SEEP_PROFILE_SECTION_H
#define SEEP_PROFILE_SECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "profile/format.h"

struct section {
        uint32_t type, flags;
        uint64_t offset; /* of its head in the file */
        uint64_t stored_bytes, raw_bytes;
        const uint8_t *body;
        bool whole; /* all stored bytes are there and have the right checksum */
};

struct section_walk {
        const uint8_t *data;
        size_t size, at;
        uint64_t skipped; /* bytes that belong to no section */
        bool mapped;      /* DATA is a file in memory: what lies behind is let go,
                           * since event logs are large */
        size_t passed;    /* how far that was done */
};

/* The next section at or after w->at whose head is good; false at the end. */
bool section_next(struct section_walk *w, struct section *s);

/* *RAW becomes the body of a whole section: unpacked in BUFFER, or where it lies.  false: it
 * is not what its head says. */
bool section_unpack(const struct section *s, struct str *buffer, const uint8_t **raw);

/* Append a section of TYPE, compressed if PACK and that makes it smaller. */
void section_put(struct str *out, uint32_t type, const struct str *body, bool pack);

/* Is it the head of a section, unharmed? */
bool section_head_good(const struct format_section *head);
bool section_body_good(const struct format_section *head, const void *body);

/* Check the header of SIZE bytes at DATA, called NAME in messages.  true: *H can be used; *SOUND
 * says whether its checksum was right (if not, only the magic is sure, and *H promises the
 * maximum).  false: not ours, or too new. */
bool section_header(const uint8_t *data, size_t size, const char *name, struct format_header *h,
                    bool *sound, struct err *e);

#endif
