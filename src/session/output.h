/* SPDX-License-Identifier: MIT */
/*
 * output.h -- where recordings are written: names, and what happens when the place is not usable.
 *
 * Keeps:  no file that was there before, or that somebody puts there meanwhile, is replaced unless
 *         asked to, and no link is followed but one that the user named, at the start; no two
 *         recordings share a name; what cannot be written where it should be is written elsewhere.
 */
#ifndef SEEP_SESSION_OUTPUT_H
#define SEEP_SESSION_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/place.h"
#include "base/str.h"
#include "profile/model.h"

#define OUTPUT_DEFAULT "%e.%p.seep"
#define OUTPUT_FALLBACKS 3
#define OUTPUT_EXPOSED                                                                        \
        "warning: anyone can write to the directory of the recording, and it is not sticky: " \
        "others can replace what is written there"

/* A name that this session gave. */
struct output_claim {
        char *path, *name; /* the latter: in its directory */
        int folder;        /* that directory, held open by the output; -1: it cannot be */
        uid_t owner;       /* of the file that has the name; -1 unknown */
        bool made;         /* a file of ours has it */
};

struct output_folder {
        char *path;
        int fd;
};

struct output {
        const char *pattern; /* %p pid, %e program, %n number of the recording, %% a percent sign */
        bool force;
        bool claim;          /* names are held by empty files, against other sessions
                              * that use the same pattern */
        bool together;       /* other processes' recordings go to a folder beside the main one's:
                              * output_gather() */
        char *main;          /* the name of that one; NULL: not known yet */
        bool has_children;   /* the folder was made */
        bool exposed;        /* everybody can replace what is written there */
        size_t name_room;    /* bytes that a name may have there; 0 not known */
        char *directory;     /* chosen instead of the pattern's, when that is not writable; NULL */
        bool has_named;
        struct place named;  /* what the pattern names, when it is the name; looked up at the
                              * start */
        struct output_folder *folders; /* each looked up once */
        uint32_t folder_count;
        struct output_claim *used;
        uint32_t used_count;
};

/* Before the program starts: false (exit code 2) when the name is taken, the pattern is wrong or
 * its directory is not there.  When the directory cannot be written to, another is chosen and WHY
 * (not filled otherwise) says which; false when there is none. */
bool output_prepare(struct output *o, const char *pattern, bool force, struct err *why);
void output_free(struct output *o);

/* After that: whether the name that the recording of PROGRAM will get is short enough; LOG: so is
 * that of an event log beside it.  Longer names of other processes' recordings are cut. */
bool output_check_length(struct output *o, const char *program, bool log, struct err *why);

/* After output_prepare(): recordings of other processes than the main one, and of programs that
 * it was before its last one, go to the folder NAME.d (session/children.h), unless the user gave a
 * pattern with a place for each process.  GIVEN: it is the user's, not OUTPUT_DEFAULT.
 * false (exit code 2): the folder has recordings of an earlier run; with -f these are removed. */
bool output_gather(struct output *o, bool given, struct err *why);

/* The main process is PID and runs PROGRAM, whether it is recorded or not. */
void output_set_main(struct output *o, const char *program, uint32_t pid);

/* A finished recording that nobody needs is removed. */
void output_remove(struct output *o, const char *path);

/* At the end: a folder that has become empty goes.  The path of one that stays, for messages, the
 * caller's to free(); NULL: there is none. */
char *output_settle(struct output *o);

/* A name for a recording.  IS_MAIN: of the process that the user started; others get their pid
 * added when the pattern has no place for it.  The caller's to free(). */
char *output_name(struct output *o, const char *program, uint32_t pid, uint32_t number,
                  bool is_main);

/* The process that the user started runs PROGRAM now, and the recording of what it was
 * before, BEFORE, has the name EARLIER.  When PROGRAM is to get just that name, the earlier
 * recording makes room: it is moved to the folder of the others, or to a numbered name, which is
 * returned, the caller's to free().  NULL: it stays where it is. */
char *output_make_room(struct output *o, const char *program, uint32_t pid, uint32_t number,
                       const char *before, const char *earlier);

/* `seep report` without a file opens the newest: let that be PATH. */
void output_make_newest(const char *path);

/* Write P to *PATH and give it to the user behind sudo.  ELSEWHERE: try the other directories too,
 * *PATH is then replaced and WHY tells why.  false: nothing worked, WHY is the first reason. */
bool output_write(struct output *o, const struct profile *p, char **path, bool elsewhere,
                  struct err *why);

/* Write the bytes of the file FROM, a whole recording, to PATH, which has its name from here. */
bool output_copy(struct output *o, int from, const char *path, struct err *e);

/* Another process writes PATH for us, or has done so: from now on a file of ours that
 * is there may be replaced. */
void output_written(struct output *o, const char *path);

/* For reports only, beside no recording: the current directory, or another one as in
 * output_prepare(). */
bool output_prepare_reports(struct output *o, struct err *why);

/* The recording beside which reports about PATH go: the main one's, where it is known. */
const char *output_beside(const struct output *o, const char *path);

/* Where a report about the recording PATH ("": none is made) should go; the caller's to free(). */
char *output_directory(const struct output *o, const char *path);

/* That directory, or the one of a recording that has its name from here; -1: it cannot be
 * used.  It stays the output's. */
int output_folder(struct output *o, const char *path);

/* The base name of PROGRAM, as part of a file's name. */
void output_add_program(struct str *to, const char *program);

/* Directory I (below OUTPUT_FALLBACKS) to try when the wanted one cannot be written to; may be NULL
 * or "". */
const char *output_fallback(int i);

#endif
