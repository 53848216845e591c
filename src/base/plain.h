/* SPDX-License-Identifier: MIT */
/*
 * plain.h -- untrusted text made harmless for terminals and readers: no control characters.
 *
 * Keeps:  names come from the program, or from a recording that somebody sent: a line break
 *         in one would forge lines, an escape would steer the terminal, marks of direction
 *         would show it in another order.  They are made plain where they come in
 *         (symbols_new()); what leaves as text is looked through once more (cli/deliver.c,
 *         cli/message.c), for what came in elsewhere.  Forms that escape by themselves (JSON,
 *         XML, HTML, ...) ask for names as they are.
 */
#ifndef SEEP_BASE_PLAIN_H
#define SEEP_BASE_PLAIN_H

#include <stdbool.h>

#include "base/str.h"

/* Make NAME (NULL: none) one line in place: each control character, separator of lines and mark of
 * direction becomes a '?', a blank one a space.  Bytes that are no UTF-8 stay, files may have such
 * names.  true: something was changed. */
bool plain_name(char *name);

/* The same for TEXT of ours with names in it, from byte START on: ends of lines and tabs stay, and
 * colours if there may be some.  Bytes that a terminal of 8 bits would obey become '?', too. */
void plain_output(struct str *text, size_t start, bool colors);

/* Whether TEXT is one line that plain_output(), without colours, leaves as it is. */
bool plain_is_line(const char *text);

/* Whether plain_output(), with colours, leaves TEXT as it is. */
bool plain_is_output(const struct str *text);

#endif
