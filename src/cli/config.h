/* SPDX-License-Identifier: MIT */
/*
 * config.h -- options from configuration files and SEEP_OPTIONS.
 *
 * SYSCONFDIR/seep/config, $XDG_CONFIG_HOME/seep/config (or ~/.config/seep/config), then ./.seeprc;
 * or in place of all of them the files of --config: lines of a command and its options, split as a
 * shell would; '#' begins a comment.  Then SEEP_OPTIONS, for `record` only.  What comes later wins.
 * In ./.seeprc only options that change how things are selected and shown may stand.
 */
#ifndef SEEP_CLI_CONFIG_H
#define SEEP_CLI_CONFIG_H

#include "cli/command.h"

/* The options for COMMAND: a vector ended by NULL, for words_free().  LINE (ended by NULL, the
 * command's name first) is looked through for --config; NULL: there is none.  Returns NULL when
 * options are wrong, which was told; exit with ERR_EXIT_USAGE. */
char **config_options(const struct command *command, char **line, int *count);

/* Whether we have rights that whoever started us does not have: then neither the configuration of
 * the user nor SEEP_OPTIONS is taken. */
bool config_is_raised(void);

#endif
