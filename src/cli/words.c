/* SPDX-License-Identifier: MIT */
#include "cli/words.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"

static const char blanks[] = " \t\n";

const char *words_take(const char *at, const char *stops, struct str *word)
{
        char quote = 0;

        for (; *at && (quote || !strchr(stops, *at)); at++) {
                if (quote && *at == quote) {
                        quote = 0;
                } else if (!quote && (*at == '\'' || *at == '"')) {
                        quote = *at;
                } else {
                        if (*at == '\\' && quote != '\'' && at[1])
                                at++;
                        str_char(word, *at);
                }
        }
        return quote ? NULL : at;
}

char **words_split(const char *text, int *count, struct err *e)
{
        char **words = heap_zero(1, sizeof *words);

        *count = 0;
        for (const char *at = text + strspn(text, blanks); *at; at += strspn(at, blanks)) {
                struct str word = {0};

                at = words_take(at, blanks, &word);
                if (!at) {
                        err_set(e, ERR_EXIT_USAGE, "a quote is not closed in: %s", text);
                        str_free(&word);
                        words_free(words);
                        return NULL;
                }
                words = heap_grow(words, (size_t)*count + 2, sizeof *words);
                words[(*count)++] = heap_text(str_get(&word));
                words[*count] = NULL;
                str_free(&word);
        }
        return words;
}

void words_free(char **words)
{
        for (char **word = words; *word; word++)
                free(*word);
        free(words);
}
