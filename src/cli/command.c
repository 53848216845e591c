/* SPDX-License-Identifier: MIT */
/* command.c -- the list of commands: dispatch, help and did-you-mean are made from it. */
#include "cli/command.h"

#include <string.h>

#include "cli/pager.h"
#include "cli/suggest.h"

#define COMMAND_ENTRY(name, operands, purpose) \
        { #name, operands, purpose, cmd_##name, name##_options },

const struct command command_list[COMMAND_COUNT] = { COMMAND_LIST(COMMAND_ENTRY) };

static const struct command hidden_list[] = { COMMAND_HIDDEN(COMMAND_ENTRY) { 0 } };

int command_help(int command, const char *about, const char *more)
{
        const struct command *c = &command_list[command];
        struct str out = { 0 };

        str_format(&out, "usage: seep %s %s\n\n%s", c->name, c->operands, about);
        option_help(c->options, &out);
        str_text(&out, more);
        pager_show(&out, true);
        str_free(&out);
        return 0;
}

const struct command *command_find(const char *name)
{
        for (size_t i = 0; i < COMMAND_COUNT; i++)
                if (strcmp(command_list[i].name, name) == 0)
                        return &command_list[i];
        for (const struct command *hidden = hidden_list; hidden->name; hidden++)
                if (strcmp(hidden->name, name) == 0)
                        return hidden;
        return NULL;
}

bool command_is_hidden(const struct command *command)
{
        for (size_t i = 0; i < COMMAND_COUNT; i++)
                if (command == &command_list[i])
                        return false;
        return true;
}

const char *command_suggest(const char *typed)
{
        const char *names[COMMAND_COUNT];

        for (size_t i = 0; i < COMMAND_COUNT; i++)
                names[i] = command_list[i].name;
        return suggest_nearest(typed, names, COMMAND_COUNT);
}
