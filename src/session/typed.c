/* SPDX-License-Identifier: MIT */
/*
 * typed.c -- the command line as it was typed.
 *
 * Room:   outside.
 */
#include "session/typed.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define INTERPRETER_WORDS 8u /* interpreters may be scripts: four of them, each with an option */

/* PROGRAM as typed, or as PATH led to it. */
static bool is_program_word(const char *word, const char *program)
{
        const char *slash = strrchr(word, '/');

        return strcmp(word, program) == 0 || (slash && !strchr(program, '/') && strcmp(slash + 1, program) == 0);
}

/* For a script the kernel puts the interpreter and its option in front of the command line: show it as it was typed.
 * Programs that were not typed are named after their file. */
void typed_arguments(struct profile_meta *m)
{
        uint32_t at = 1;

        if (m->arg_count == 0 || strcmp(m->program, m->exe) == 0 || strcmp(m->program, m->args[0]) == 0)
                return;
        while (at < m->arg_count && at <= INTERPRETER_WORDS && !is_program_word(m->args[at], m->program))
                at++;
        if (at >= m->arg_count || at > INTERPRETER_WORDS)
                return;
        for (uint32_t i = 0; i < at; i++)
                free(m->args[i]);
        m->arg_count -= at;
        memmove(m->args, m->args + at, m->arg_count * sizeof *m->args);
}
