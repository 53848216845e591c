/* SPDX-License-Identifier: MIT */
/* command.c -- the list of commands: dispatch, help and did-you-mean are made from it. */
#include "cli/command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/heap.h"
#include "cli/config.h"
#include "cli/message.h"
#include "cli/pager.h"
#include "cli/suggest.h"
#include "cli/words.h"

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

int command_run(const struct command *command, int argc, char **argv)
{
        int extra_count, status;
        char **extra = config_options(command, argv, &extra_count);
        char **all;

        if (!extra)
                return ERR_EXIT_USAGE;
        all = heap_zero((size_t)(argc + extra_count + 1), sizeof *all);
        all[0] = argv[0];
        memcpy(all + 1, extra, (size_t)extra_count * sizeof *all);
        memcpy(all + 1 + extra_count, argv + 1, (size_t)(argc - 1) * sizeof *all);
        status = command->run(argc + extra_count, all);
        free(all);
        words_free(extra);
        return status;
}

int command_close(int status)
{
        if ((fflush(stdout) == 0 && !ferror(stdout)) || errno == EPIPE || status != 0)
                return status;
        message("cannot write the result: %s", strerror(errno));
        return ERR_EXIT_FINDINGS;
}
