/* SPDX-License-Identifier: MIT */
/*
 * file.h -- the `.seep` file: a profile on disk.  docs/FORMAT.md describes every byte.
 */
#ifndef SEEP_PROFILE_FILE_H
#define SEEP_PROFILE_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/place.h"
#include "profile/model.h"

/* Write P to PATH, as the user wrote it: whole or not at all.  An existing PATH is replaced. */
bool file_write(const struct profile *p, const char *path, struct err *e);

/* The same at a place that was looked up before; it stays the caller's to close. */
bool file_write_at(const struct profile *p, struct place *to, struct err *e);

/* Write P, mostly uncompressed, to the empty file FD: for another process that reads it at once.
 * Of an event log no more than where it is. */
bool file_put(const struct profile *p, int fd, struct err *e);

/* The same with what the file FROM (which may have that place) holds besides the model: an event
 * log. */
bool file_rewrite(const struct profile *p, const char *from, struct place *to, struct err *e);

/* Fill P (any contents) from PATH.  A truncated or damaged file gives what was whole: true,
 * P->truncated set, a warning in P->meta.warnings, meta.complete 0.  false (exit code 4) when
 * nothing can be read; P is then empty.  After true every index in P points to something that is
 * there, and no string is NULL but those of symbols. */
bool file_read(struct profile *p, const char *path, struct err *e);

/* The same for whoever walks over blocks (profile/packed.h): when there are LEAST or more, they,
 * their verdicts and pointers stay packed unless the file is damaged. */
bool file_take(struct profile *p, const char *path, uint64_t least, struct err *e);

/* The same without what profile_free_course() frees: for whoever asks about the end only. */
bool file_take_end(struct profile *p, const char *path, uint64_t least, struct err *e);

/* What was recorded and when, and the totals; nothing else of P is there.  false: that is not
 * in the file, or damaged. */
bool file_glance(struct profile *p, const char *path, struct err *e);

/* Blocks, verdicts and pointers as file_read() gives them, for who looks here and there. */
void file_unpack(struct profile *p);

/* What lies where in a file; for `seep info`. */
struct file_section {
        const char *name; /* static */
        uint32_t type;
        uint64_t offset, stored_bytes, raw_bytes;
        bool whole; /* all there, checksum right */
};

struct file_layout {
        uint64_t bytes;
        uint32_t format_version;
        struct file_section *sections;
        uint32_t count;
};

/* Fails as file_read() does for what is no recording.  Release with file_sections_free(). */
bool file_sections(struct file_layout *l, const char *path, struct err *e);
void file_sections_free(struct file_layout *l);

#endif
