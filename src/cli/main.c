/* SPDX-License-Identifier: MIT */
/*
 * main.c -- from the command line to a command.
 *
 * Room:   outside.  `seep PROGRAM` without a command means `seep record PROGRAM`.
 * Keeps:  a command's name wins over a program of that name; `seep -- NAME` and `seep
 *         record NAME` mean the program.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <ucontext.h>
#include <unistd.h>

#include "attach/core.h"
#include "base/err.h"
#include "base/str.h"
#include "cli/command.h"
#include "cli/message.h"

#define MAIN_STACK (8u << 20)
#define MAIN_STACK_LEAST (1u << 20)

static int say_first_steps(void)
{
        fputs("seep shows where a program's memory goes.\n"
              "  seep ./program args...   run it, record every allocation, summarize at the end\n"
              "  seep report              the newest recording here, as a tree of call stacks\n"
              "  seep help                all commands, and topics such as 'seep help peak'\n"
              "  man seep                 the manual\n",
              stdout);
        return 0;
}

static bool is_program(const char *path)
{
        struct stat st;

        return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static bool is_program_in_path(const char *name)
{
        const char *path = getenv("PATH");
        bool found = false;

        while (path && *path && !found) {
                size_t length = strcspn(path, ":");
                struct str file = {0};

                str_bytes(&file, path, length);
                str_format(&file, "%s%s", length ? "/" : "./", name);
                found = is_program(str_get(&file));
                str_free(&file);
                path += length + (path[length] == ':');
        }
        return found;
}

static int say_unknown_word(const char *word)
{
        const char *near = command_suggest(word);

        if (is_program(word))
                message("'%s' is neither a seep command nor in PATH: did you mean ./%s?", word,
                        word);
        else if (near)
                message("'%s' is neither a seep command nor a program in PATH: did you mean 'seep "
                        "%s'?", word, near);
        else
                message("'%s' is neither a seep command nor a program in PATH", word);
        message("'seep help' lists the commands");
        return near && !is_program(word) ? ERR_EXIT_USAGE : ERR_EXIT_NOT_FOUND;
}

static bool is_recording(const char *word)
{
        size_t length = strlen(word);

        return length > 5 && strcmp(word + length - 5, ".seep") == 0;
}

static bool is_assignment(const char *word)
{
        size_t length = strspn(word,
                               "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789");

        return length > 0 && word[length] == '=' && (word[0] < '0' || word[0] > '9');
}

/* Words that are meant for another place, unless a program has such a name.  0: WORD is none of
 * them. */
static int say_misplaced_word(const char *word)
{
        if (!core_is(word) && (is_program(word) || is_program_in_path(word)))
                return 0;
        if (is_recording(word))
                message("'%s' is not a program: did you mean 'seep report %s'?", word, word);
        else if (core_is(word))
                message("'%s' is a core file, not a program: did you mean 'seep leaks %s'?", word,
                        word);
        else if (is_assignment(word))
                message("'%s' is not a program; to set a variable: seep env %s PROGRAM", word,
                        word);
        else
                return 0;
        return ERR_EXIT_USAGE;
}

/* What neighbouring tools call it.  NULL: WORD is none of their words. */
static const char *ours_for(const char *word)
{
        static const struct {
                const char *theirs, *ours;
        } words[] = { { "run", "record" },
                      { "flamegraph", "html" },
                      { "tree", "report --tree" },
                      { "table", "report --flat" },
                      { "summary", "report --summary" },
                      { "stats", "report --summary" },
                      { "live", "top" },
                      { "view", "html" },
                      { "print", "report" },
                      { "analyze", "report" },
                      { "gui", "html --open" },
                      { "memcheck", "check --" },
                      { "massif", "record" },
                      { "show", "report" } };

        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
                if (strcmp(words[i].theirs, word) == 0)
                        return words[i].ours;
        return NULL;
}

/* A program of such a name is meant, unless it would get a recording.  0: WORD is no word of
 * neighbours. */
static int say_neighbour(const char *word, const char *next)
{
        const char *ours = ours_for(word);

        if (!ours || (is_program_in_path(word) && !(next && is_recording(next))))
                return 0;
        message("'%s' is '%s' here: seep %s%s%s", word, ours, ours, next ? " " : "",
                next ? next : "");
        return ERR_EXIT_USAGE;
}

/* ---- options in front of a command ---- */

static const struct option_entry *option_named(const struct option_entry *entries, const char *word)
{
        size_t length = strcspn(word, "=") - 2;

        for (; entries->help; entries++) {
                if (word[1] != '-' && entries->letter && entries->letter == word[1])
                        return entries;
                if (word[1] == '-' && entries->name && strlen(entries->name) == length &&
                    strncmp(entries->name, word + 2, length) == 0)
                        return entries;
        }
        return NULL;
}

/* Where the options of `seep record` in front of a program end; 0: with "--", and
 * whatever follows is a program. */
static int first_operand(int argc, char **argv)
{
        for (int i = 1; i < argc; i++) {
                const struct option_entry *entry;

                if (strcmp(argv[i], "--") == 0)
                        return 0;
                if (argv[i][0] != '-' || !argv[i][1])
                        return i;
                entry = option_named(record_options, argv[i]);
                if (entry && entry->argument && entry->argument[0] != '[' &&
                    !strchr(argv[i], '=') && (argv[i][1] == '-' || !argv[i][2]))
                        i++; /* its value */
        }
        return 0;
}

/* ARGV[0] is replaced by the word that getopt shows in its place. */
static int run_program(int argc, char **argv)
{
        char name[] = "record";

        argv[0] = name;
        return command_run(command_find(name), argc, argv);
}

/* `seep -q diff a b` is `seep diff -q a b`, and never a recording of the program diff: AT is where
 * the command is.  Options that it does not have are refused. */
static int run_behind_options(int argc, char **argv, int at)
{
        const struct command *command = command_find(argv[at]);
        char *name = argv[at];

        for (int i = 1; i < at; i++)
                if (argv[i][0] == '-' && !option_named(command->options, argv[i])) {
                        message("'%s' is a seep command, which has no option %s; to record the "
                                "program of that name: seep record %s -- %s", name, argv[i],
                                argv[i], name);
                        return ERR_EXIT_USAGE;
                }
        memmove(argv + 2, argv + 1, (size_t)(at - 1) * sizeof *argv);
        argv[1] = name;
        return command->run == cmd_help ? cmd_help(argc - 1, argv + 1)
                                        : command_run(command, argc - 1, argv + 1);
}

static int run_word(int argc, char **argv)
{
        const char *word = argv[1];
        const struct command *command = command_find(word);
        int status;

        if (command && (command->run == cmd_help || command_is_hidden(command)))
                return command->run(argc - 1, argv + 1);
        if (command)
                return command_run(command, argc - 1, argv + 1);
        status = say_misplaced_word(word);
        if (!status)
                status = say_neighbour(word, argc > 2 ? argv[2] : NULL);
        if (status)
                return status;
        if (word[0] == '-') {
                int at = first_operand(argc, argv);

                command = at ? command_find(argv[at]) : NULL;
                if (command && !command_is_hidden(command))
                        return run_behind_options(argc, argv, at);
        }
        if (word[0] == '-' || strchr(word, '/') || is_program_in_path(word))
                return run_program(argc, argv);
        return say_unknown_word(word);
}

/* The command line as a whole, where a function without parameters finds it. */
static struct {
        int argc;
        char **argv;
        int status;
} line;

static void run_line(void)
{
        if (line.argc < 2)
                line.status = say_first_steps();
        else if (strcmp(line.argv[1], "--version") == 0 || strcmp(line.argv[1], "-V") == 0)
                line.status = printf("seep %s\n", SEEP_VERSION) < 0;
        else if (strcmp(line.argv[1], "--help") == 0 || strcmp(line.argv[1], "-h") == 0)
                line.status = cmd_help(1, line.argv);
        else
                line.status = run_word(line.argc, line.argv);
}

/* A small limit on the stack (ulimit -s) is meant for the program that is recorded, which inherits
 * it; the libraries that read debug information need more. */
static void run_on_own_stack(void)
{
        static ucontext_t here, there;
        void *stack = mmap(NULL, MAIN_STACK, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);

        if (stack == MAP_FAILED || getcontext(&there) != 0) {
                run_line();
                return;
        }
        there.uc_stack = (stack_t){ .ss_sp = stack, .ss_size = MAIN_STACK };
        there.uc_link = &here;
        makecontext(&there, run_line, 0);
        swapcontext(&here, &there);
}

int main(int argc, char **argv)
{
        struct rlimit limit;

        line.argc = argc;
        line.argv = argv;
        if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < MAIN_STACK_LEAST)
                run_on_own_stack();
        else
                run_line();
        return command_close(line.status);
}
