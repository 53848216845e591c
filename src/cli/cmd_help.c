/* SPDX-License-Identifier: MIT */
/*
 * cmd_help.c -- `seep help`: the commands, one command's options, or a topic.
 *
 * Room:   outside, cli/ only.  A command's options are printed by the command
 *         itself, from its own table.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/heap.h"
#include "cli/command.h"
#include "cli/message.h"
#include "cli/suggest.h"
#include "cli/topic.h"

#define HELP_OPTIONS(X) X(HELP_HELP, "help", 'h', NULL, "show this help")

const struct option_entry help_options[] = { HELP_OPTIONS(OPTION_ENTRY) OPTION_END };

static int say_overview(void)
{
        puts("seep shows where a program's memory goes: every allocation, with its call stack.\n\n"
             "commands:");
        for (size_t i = 0; i < COMMAND_COUNT; i++)
                printf("  seep %-9s %s\n", command_list[i].name, command_list[i].purpose);
        puts("\nexamples:\n"
             "  seep ./server --port 8080      record it ('record' may be omitted)\n"
             "  seep html --open               the newest recording in the browser\n"
             "  seep report                    the same as text: what the peak was made of\n"
             "  seep report --cost=live        what was not freed at the end\n"
             "  seep leaks                     what was lost\n"
             "  seep report --growth           what keeps growing\n"
             "  seep top 4711                  where memory is in a running program\n"
             "  seep snapshot 4711             a report from it\n"
             "  seep diff run.seep@1 @2        what changed between two snapshots\n"
             "\ntopics (seep help TOPIC):");
        for (size_t i = 0; i < TOPIC_COUNT; i++)
                printf("  %-12s %s\n", topic_list[i].name, topic_list[i].purpose);
        puts("\n'seep help COMMAND' or 'seep COMMAND --help' lists a command's options;\n'man "
             "seep' is the manual.");
        return 0;
}

static int say_command(const struct command *command)
{
        char *name = heap_text(command->name), *option = heap_text("--help");
        char *argv[] = { name, option, NULL };
        int status = command->run(2, argv);

        free(name);
        free(option);
        return status;
}

static int say_help_of_help(void)
{
        return command_help(COMMAND_help, "Without an operand: list the commands and topics.\n\n",
                            "");
}

/* The same lists for programs: manual pages and completion are made from them.
 * Fields are separated by tabs. */
static void put_option(const struct option_entry *o)
{
        char letter[2] = { o->letter, 0 };

        if (!o->name && !o->letter)
                fputs("heading\t", stdout);
        else
                printf("option\t%s\t%s\t%s\t%s\t", letter, o->name ? o->name : "",
                       o->argument ? o->argument : "", o->values ? o->values : "");
        for (const char *c = o->help; *c; c++)
                putchar(*c == '\n' ? ' ' : *c);
        putchar('\n');
}

static int say_table(void)
{
        for (const struct command *c = command_list; c < command_list + COMMAND_COUNT; c++) {
                printf("command\t%s\t%s\t%s\n", c->name, c->operands, c->purpose);
                for (const struct option_entry *o = c->options; o->help; o++)
                        put_option(o);
        }
        for (const struct topic *t = topic_list; t < topic_list + TOPIC_COUNT; t++)
                printf("topic\t%s\t%s\n", t->name, t->purpose);
        return 0;
}

static int say_unknown(const char *word)
{
        const char *words[COMMAND_COUNT + TOPIC_COUNT];
        const char *near;
        size_t count = 0;

        for (size_t i = 0; i < COMMAND_COUNT; i++)
                words[count++] = command_list[i].name;
        for (size_t i = 0; i < TOPIC_COUNT; i++)
                words[count++] = topic_list[i].name;
        near = suggest_nearest(word, words, count);
        if (near)
                message("no such command or topic: '%s': did you mean '%s'?", word, near);
        else
                message("no such command or topic: '%s'", word);
        message("'seep help' lists the commands and topics");
        return ERR_EXIT_USAGE;
}

int cmd_help(int argc, char **argv)
{
        const struct command *command;
        const char *text;

        if (argc < 2)
                return say_overview();
        if (argc > 2)
                return message_usage("help", "one command or topic at a time");
        if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
                return say_help_of_help();
        if (strcmp(argv[1], "--table") == 0)
                return say_table();
        command = command_find(argv[1]);
        if (command)
                return say_command(command);
        text = topic_find(argv[1]);
        if (!text)
                return say_unknown(argv[1]);
        fputs(text, stdout);
        return 0;
}
