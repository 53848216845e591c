/* SPDX-License-Identifier: MIT */
/*
 * command.c -- the list of commands: dispatch, help and did-you-mean are made from it.
 *
 * Room:   outside, cli/ only.
 */
#include "cli/command.h"

#include <string.h>

#include "cli/suggest.h"

const struct command command_list[COMMAND_COUNT] = {
        { "record", "[OPTIONS] [--] PROGRAM [ARG...]", "run a program and record its memory (the word may be left out)",
          cmd_record },
        { "report", "[OPTIONS] [FILE]", "tell where the memory of a recording went", cmd_report },
        { "info", "[OPTIONS] [FILE]", "tell what a recording holds and whether it is whole", cmd_info },
        { "help", "[COMMAND|TOPIC]", "explain a command or a topic", cmd_help },
};

const struct command *command_find(const char *name)
{
        for (size_t i = 0; i < COMMAND_COUNT; i++)
                if (strcmp(command_list[i].name, name) == 0)
                        return &command_list[i];
        return NULL;
}

const char *command_suggest(const char *typed)
{
        const char *names[COMMAND_COUNT];

        for (size_t i = 0; i < COMMAND_COUNT; i++)
                names[i] = command_list[i].name;
        return suggest_nearest(typed, names, COMMAND_COUNT);
}
