/* SPDX-License-Identifier: MIT */
/*
 * place.h -- output files: a name in a directory that is held open; the file is written whole or
 * not at all.
 *
 * Room:   outside; every file that a user finds is made here.
 * Keeps:  a path is looked up once.  From then on the directory is a descriptor and the name
 *         one word in it, so that neither a link put there later nor another directory in the
 *         place of this one leads elsewhere.  Nothing of what another user put in the way is
 *         followed, filled or replaced, unless the user named it.  A failure leaves the old
 *         file and no temporary one.
 *
 * Contents go to a file without a name (O_TMPFILE), or where a file system has none such to one
 * with a name that nobody guesses.  It gets its name at the end: by linkat(), which refuses a name
 * that is taken, or by renameat() over a file that may be replaced; neither follows a link.
 */
#ifndef SEEP_BASE_PLACE_H
#define SEEP_BASE_PLACE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"

enum place_rule {
        PLACE_NEW,  /* the name must be free */
        PLACE_OURS, /* we made the name up: a file of ours is replaced, but no link
                     * and no file of another user */
        PLACE_NAMED /* the user wrote it: a link is followed, now; the file that is there,
                     * whose ever it is, is replaced; a pipe or a device is written into.  Once
                     * looked up it is PLACE_OURS */
};

struct place {
        enum place_rule rule;
        bool give;    /* with sudo the file belongs to who typed it */
        bool durable; /* it survives a crash of the machine */
        bool into;    /* a file in a directory that takes no new ones is overwritten */
        char *path;   /* for messages */
        char *name;
        int directory;
        int device;  /* what is no file and is written into; -1 */
        uid_t owner; /* of the file that has the name, besides ourselves; -1 nobody */
        int fd;      /* between place_begin() and place_end(); -1 */
        char temporary[48]; /* the name of FD until then; "" none */
};

#define PLACE_NONE ((struct place){ .directory = -1, .device = -1, .fd = -1 })

/* Look PATH up.  false: errno says why not, EEXIST when RULE forbids what is there; see
 * place_refuse().  Either way place_close(). */
bool place_open(struct place *p, const char *path, enum place_rule rule);

/* NAME in DIRECTORY, which stays the caller's and may be closed; nothing is looked up
 * before place_check() or later. */
bool place_at(struct place *p, int directory, const char *name, enum place_rule rule);

/* Whether the name is free, or what has it may be replaced.  false: errno, EEXIST or EISDIR when
 * not. */
bool place_check(const struct place *p);

/* Put an empty file there, so that nobody else takes the name.  false: errno;
 * EEXIST when somebody has. */
bool place_claim(struct place *p);

/* Remove the file, if it is ours and still empty. */
void place_withdraw(struct place *p);

/* A file for the contents, to be written to; -1: errno.  The descriptor stays the place's. */
int place_begin(struct place *p);

/* Instead of both: the file itself, made where there is none, to be written behind what it has.
 * -1: errno.  The descriptor is the caller's. */
int place_append(const struct place *p);

/* The contents are whole: the file gets its name.  false: errno; after EEXIST with PLACE_NEW
 * another name may be tried. */
bool place_end(struct place *p);
void place_rename(struct place *p, const char *name);

/* What was begun is given up. */
void place_close(struct place *p);

/* Word errno as a refusal to write PATH.  Returns false. */
bool place_refuse(const char *path, int exit_code, struct err *e);

/* Directories by descriptor.  -1: errno. */
int place_folder(const char *path);
bool place_takes_files(int directory);

/* Whether rights and file system let a file be made there.  Whether it has room shows when one is
 * written: this leaves no trace on the disk, which takes longer than all else at a start. */
bool place_lets_in(int directory);

/* Everybody may rename and remove what is in it: a directory that is neither ours alone nor
 * sticky. */
bool place_is_exposed(int directory);

/* With sudo FD belongs to who typed it. */
void place_give(int fd);

/* Whether UID is ours, or with sudo that of who typed it. */
bool place_is_own(uid_t uid);

#endif
