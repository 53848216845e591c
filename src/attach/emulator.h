/* SPDX-License-Identifier: MIT */
/*
 * emulator.h -- programs of another processor: the agent that is built for it, and the emulator
 * that runs them.
 *
 * Some are run by the kernel itself (i386 on x86-64; arm on aarch64, where processor and kernel
 * can): nothing but the agent is another one then.
 *
 * The kernel starts a program of another processor with the help of qemu at most (binfmt_misc), and
 * then the loader of qemu itself would take our library for its own.  So qemu is started by name:
 * it gets the agent as a wish of the program's (-E LD_PRELOAD), and the session as it is.
 */
#ifndef SEEP_ATTACH_EMULATOR_H
#define SEEP_ATTACH_EMULATOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/program.h"
#include "base/err.h"

/* A processor that there are agents for. */
struct emulator {
        uint16_t machine;
        uint8_t class_, order;
        const char *name;   /* folder of the agent, beside that of this machine */
        const char *runner; /* what runs its programs */
        const char *root;   /* where Debian has its libraries on other machines ... */
        const char *system; /* ... and what it calls it */
        uint16_t kernel;    /* the processor whose kernel may run its programs, too; 0: none does */
        bool injected;      /* ... and whose seep can write the agent into those that run */
};

extern const struct emulator emulators[];
extern const uint32_t emulator_count;

/* Whose program that is; NULL: none of these. */
const struct emulator *emulator_of(const struct elf_facts *facts);

/* How a program of another processor is run. */
struct emulation {
        const struct emulator *by; /* NULL: it is one of ours */
        char *runner;              /* its file; NULL: the kernel runs it */
        char *agent;
        const char *root; /* of its libraries; NULL: it finds them */
        char *preload;    /* what its loader is told */
};

/* Whether this machine's kernel runs its programs: the first time one is started to find out. */
bool emulator_is_kernel(const struct emulator *by);

/* Whose program the process PID is, which this machine's kernel runs; NULL: one of ours, or not to
 * be seen. */
const struct emulator *emulator_of_process(pid_t pid);

/* The program PATH, which is IMAGE and is started by USER.  false: it cannot be recorded, E says
 * what is missing. */
bool emulator_find(struct emulation *out, const char *path, const struct program_image *image,
                   const struct program_user *user, struct err *e);
void emulator_free(struct emulation *m);

/* ARGV of the program FILE as the emulator wants it, with AGENT (or a link to it) for the program's
 * loader.  The array is the caller's to free(), the texts are not. */
char **emulator_argv(struct emulation *m, const char *agent, const char *file, char **argv);

#endif
