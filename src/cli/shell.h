/* SPDX-License-Identifier: MIT */
/*
 * shell.h -- `seep shell`: its state, and what its parts do.
 *
 * Room:   outside, cli/ only.  cmd_shell.c has the options, shell_target.c what is looked at,
 *         shell_verbs.c the commands, shell_plan.c which words of seep they stand for,
 *         shell_own.c those that seep has no words for, shell_run.c runs them, shell_prompt.c reads
 *         lines from a terminal.
 * Keeps:  a command is a command of seep with its process or recording put in, and runs in a
 *         process of its own: whatever becomes of it, the prompt comes back.  Nothing that happens
 *         to the shell changes the programs that it looks at.
 */
#ifndef SEEP_CLI_SHELL_H
#define SEEP_CLI_SHELL_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"
#include "cli/shell_line.h"

/* What commands in their own processes leave for those that come after them: in shared memory. */
struct shell_memory {
        uint64_t searched_ms; /* when the last `scan` looked, in the time of the recording */
        uint64_t leaks, bytes; /* that it found */
        bool searched;
};

/* A process or a recording that the shell was started with, or has met. */
struct shell_target {
        char *name;     /* as on the command line: a file, or the number of a process */
        uint32_t pid;   /* 0: a file */
        bool far;       /* a process of the target that the shell is connected to */
        int pidfd;      /* -1: a file, or the kernel has none */
        uint32_t recorder; /* the seep that is its parent; 0 unknown */
        char *program;  /* of a process, made plain */
        char *recording; /* of a process: the file that it is, or will be in; NULL unknown */
        int look;       /* the last recording of a moment, in memory; -1 none */
        bool gone;      /* a far process has ended: LOOK is its recording, if there is one ... */
        uint32_t number; /* ... as the target calls it */
        bool ended;     /* the process has; it was told */
        struct shell_memory *memory;
};

struct shell_far;

struct shell {
        struct shell_target **targets;
        uint32_t count, chosen;
        char *searchpath; /* "A:B"; "" none */
        bool script;      /* lines come from stdin, which commands must not read */
        bool left;        /* quit */
        int status;       /* of the last command that failed */
        int nested;       /* files that are read by `source` */
        pid_t started;    /* the seep that records the program we started; 0 none */
        int news;         /* of it; -1 none */
        struct shell_far *far; /* processes are those of another machine; NULL: of this one */
        const struct names *names; /* where names come from, besides the search path */
};

/* ---- what is looked at (shell_target.c) ---- */

/* WORD is the number of a process (of the target, if there is one) or the name of a file.  NULL:
 * E. */
struct shell_target *shell_target_named(struct shell *s, const char *word, struct err *e);

/* The chosen one.  NULL: E tells that there is none. */
struct shell_target *shell_target_chosen(struct shell *s, struct err *e);

struct shell_target *shell_target_of(struct shell *s, uint32_t pid); /* NULL: unknown */

/* A new one; NAME is copied.  PID 0: a file. */
struct shell_target *shell_target_add(struct shell *s, const char *name, uint32_t pid);

/* Also those that are recorded together with the ones that we know. */
void shell_target_others(struct shell *s);

/* Tell of processes that have ended since the last time. */
void shell_target_watch(struct shell *s);

/* After a command: keep what it could see, when the recording will be in no file. */
void shell_target_look(struct shell_target *t);

/* Append what stands for T in a command of seep: a number, or the file that is left of it. */
void shell_target_operand(const struct shell_target *t, struct str *out);

bool shell_target_is_live(const struct shell_target *t);
void shell_target_free(struct shell *s);

/* ---- the commands (shell_verbs.c) ---- */

/* Words of a command of seep, for words_free(). */
struct shell_words {
        char **at;
        int count;
};

struct shell_verb {
        const char *name, *operands, *purpose;
        const char *keys; /* what may stand behind it: "all|leak|new"; NULL nothing is known */
        /* Into words of seep.  false: E. */
        bool (*plan)(struct shell *s, const struct shell_line *line, struct shell_words *out,
                     struct err *e);
        /* In place of that: in a process of its own.  Returns the status. */
        int (*beside)(struct shell *s, const struct shell_line *line);
        /* In place of both: in the shell itself. */
        int (*here)(struct shell *s, const struct shell_line *line);
};

extern const struct shell_verb shell_verbs[]; /* by name; the last has none */

/* The one that WORD is or begins.  NULL: E says which it might be. */
const struct shell_verb *shell_verb_find(const char *word, struct err *e);

/* The place in VALUES ("all|leak|new") of the one that WORD is or begins; -1: E. */
int shell_choose(const char *values, const char *word, struct err *e);

/* ---- which words of seep they stand for (shell_plan.c) ---- */

#define SHELL_DUMP_KEYS \
        "allocations|average|badfree|bytes-leaked|leaks|mismatched|stacks|total|tsc|usage"
#define SHELL_SCAN_MODES "all|leak|new"
#define SHELL_SET_KEYS "depth|process|searchpath"
#define SHELL_SHOW_KEYS "info|searchpath"

typedef bool shell_planner(struct shell *s, const struct shell_line *line, struct shell_words *out,
                           struct err *e);
shell_planner shell_plan_command, shell_plan_diff, shell_plan_dump, shell_plan_export,
        shell_plan_control, shell_plan_depth, shell_plan_detach, shell_plan_snapshot,
        shell_plan_tag;

/* Whether WORD is the number of a process that is, or could be, meant. */
bool shell_is_pid(const char *word);

/* ---- those that seep has no words for (shell_own.c) ---- */

typedef int shell_doer(struct shell *s, const struct shell_line *line);
shell_doer shell_help, shell_proclist, shell_save, shell_scan, shell_show, shell_status;
shell_doer shell_quit, shell_set, shell_source;

/* ---- running them (shell_run.c) ---- */

/* Ctrl-C at the prompt, or while a command runs. */
extern volatile sig_atomic_t shell_interrupted;

/* We were told to end. */
extern volatile sig_atomic_t shell_leaving;

/* All commands of TEXT, one after another; *WORKED (may be NULL): all of them did.  Returns the
 * status of the last one that failed. */
int shell_do(struct shell *s, const char *text, bool *worked);

/* WORDS of seep, which are freed, for a command that is done here. */
int shell_run_words(struct shell *s, const struct shell_line *line, struct shell_words *words);

/* Lines of FD, which is closed, until its end. */
int shell_do_file(struct shell *s, int fd);

/* ---- a program that we start (shell_start.c) ---- */

/* Run `seep record ARGV` beside us, and wait until it is recorded.  0, or the status after a
 * message. */
int shell_start_program(struct shell *s, char **argv);

/* The process of T has ended: wait until its recording is written, and learn where. */
void shell_start_ended(struct shell *s, struct shell_target *t);

/* Before we leave: what goes on. */
void shell_start_tell(const struct shell *s);

/* ---- processes of another machine (shell_far.c) ---- */

/* Whether WORD is the address of a target, and neither a process nor a file. */
bool shell_far_is_address(const char *word);

/* Connect to ADDRESS; the process that was started there is the first target.  shell_far_close() is
 * due after success. */
bool shell_far_open(struct shell *s, const char *address, const char *token_file, struct err *e);
void shell_far_close(struct shell *s);

/* Which processes there are, and which have ended: whose recordings are fetched. */
bool shell_far_look(struct shell *s, struct err *e);

/* Where news of that come while nobody asks (-1 nowhere), and taking them. */
int shell_far_bell(struct shell *s);
void shell_far_rung(struct shell *s);

/* The recording of T is in a file here: the target need not keep it. */
bool shell_far_stored(struct shell *s, const struct shell_target *t, struct err *e);

/* What messages call the target. */
const char *shell_far_name(const struct shell *s);

/* ---- a terminal (shell_prompt.c) ---- */

/* Read and do lines until the user leaves. */
void shell_prompt(struct shell *s);

#endif
