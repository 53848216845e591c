/* SPDX-License-Identifier: MIT */
/*
 * spawn.h -- starting a program with the agent preloaded, and otherwise as if seep were not there.
 *
 * Keeps:  the program gets our terminal, process group, descriptors, working directory, limits,
 *         signal mask and dispositions as we got them; its environment differs in LD_PRELOAD,
 *         SEEP_SESSION and SEEP_FILLER only, which the agent hides from it.
 */
#ifndef SEEP_ATTACH_SPAWN_H
#define SEEP_ATTACH_SPAWN_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "attach/program.h"
#include "base/err.h"

/* Signals as they were before we changed any; spawn_start() puts them back in the child. */
struct spawn_signals {
        sigset_t mask;
        struct sigaction child; /* SIGCHLD */
        struct sigaction size;  /* SIGXFSZ */
};

struct spawn_request {
        const char *file;     /* from program_find() */
        char **argv;
        const char *agent;    /* from spawn_find_agent(); NULL: none is preloaded */
        bool emulated;        /* FILE is an emulator, and ARGV tells it of the agent (emulator.h) */
        const char *session;  /* value of SEEP_SESSION */
        const char *user;     /* run as this user; NULL as ourselves */
        const struct spawn_signals *signals;
        /* The child is there and waits to become the program; NULL: nobody wants to know.
         * False: it must not. */
        bool (*born)(void *context, pid_t pid, struct err *e);
        void *context;
};

/* The agent's file: $SEEP_AGENT_DIR, beside this program (installed or in the build
 * tree).  The caller's to free(). */
char *spawn_find_agent(struct err *e);

/* The same for a program of another processor (emulator.h). */
char *spawn_find_foreign(const char *processor, struct err *e);

/* The same with the functions of graphics processors (record --track-gpu). */
char *spawn_find_gpu_agent(struct err *e);

/* The same for what is written into processes that run: libseep-inject.so (inject.h). */
char *spawn_find_image(struct err *e);

/* The same for processes of another processor whose programs the kernel runs. */
char *spawn_find_foreign_image(const char *processor, struct err *e);

/* Who NAME is (NULL: who we are); false when there is no such user or we may not become it. */
bool spawn_user(const char *name, struct program_user *out, struct err *e);

/* Returns the child's pid once it has become the program; -1 with exit code 126 or 127 when it
 * could not. */
pid_t spawn_start(const struct spawn_request *r, struct err *e);

#endif
