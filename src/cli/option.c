/* SPDX-License-Identifier: MIT */
#include "cli/option.h"

#include <string.h>

#include "base/heap.h"
#include "cli/message.h"
#include "cli/suggest.h"

enum { OPTION_COLUMNS = 80 }; /* of the help text */
enum { OPTION_LONG = 256 }; /* getopt's value of entry i is OPTION_LONG + i */

static int option_argument_kind(const struct option_entry *entry)
{
        if (!entry->argument)
                return no_argument;
        return entry->argument[0] == '[' ? optional_argument : required_argument;
}

/* FIRST is what getopt wants in front: "+" stops at the first operand, ":" tells a missing argument
 * apart. */
static void option_build(struct option_parser *p, const char *first)
{
        char *letter = stpcpy(p->letters, first);
        int used = 0;

        for (int i = 0; p->entries[i].help && i < OPTION_MAX; i++) {
                const struct option_entry *entry = &p->entries[i];
                int kind = option_argument_kind(entry);

                if (entry->name)
                        p->longs[used++] = (struct option){ entry->name, kind, NULL,
                                                            OPTION_LONG + i };
                if (!entry->letter)
                        continue;
                *letter++ = entry->letter;
                if (kind == required_argument)
                        *letter++ = ':';
        }
        *letter = 0;
        p->longs[used] = (struct option){ 0 };
}

static void option_begin(struct option_parser *p, const char *command,
                         const struct option_entry *entries, const char *first)
{
        p->command = command;
        p->entries = entries;
        p->value = NULL;
        p->first_operand = 0;
        p->with_config = false;
        option_build(p, first);
        opterr = 0;
        optind = 0; /* glibc: start afresh, also after another command's parse */
}

void option_start(struct option_parser *p, const char *command, const struct option_entry *entries,
                  int argc, char **argv)
{
        p->argc = argc;
        p->argv = argv;
        option_begin(p, command, entries, ":");
}

void option_start_program(struct option_parser *p, const char *command,
                          const struct option_entry *entries, int argc, char **argv)
{
        p->argc = argc;
        p->argv = argv;
        option_begin(p, command, entries, "+:");
}

/* What options of neighbouring tools are here: "that is OURS here", or where there is no such thing
 * what to know instead.  Appends nothing when WORD is none of them. */
static void option_elsewhere(const char *command, const char *word, struct str *out)
{
        static const struct {
                const char *command, *theirs, *ours, *instead;
        } words[] = {
                { "report", "--live", "--cost live", NULL },
                { "report", "--peak", "--cost peak", NULL },
                { "report", "--leaks", "seep leaks", NULL },
                { "report", "--top", "--flat -n 10", NULL },
                { "report", "--format", "--json, --csv, or seep export --to FORMAT", NULL },
                { "export", "--format", "--to", NULL },
                { "html", "--format", "seep export --to FORMAT", NULL },
                { "leaks", "--format", "--json", NULL },
                { "record", "--output-file", "--output", NULL },
                /* Valgrind's */
                { "record", "--tool", NULL,
                  "one run has it all: 'seep leaks' for memcheck, 'seep report' for massif, "
                  "'seep export --to dhat' for dhat" },
                { "record", "--leak-check", NULL,
                  "every run is searched for leaks, and 'seep leaks' shows them" },
                { "record", "--show-leak-kinds", "seep leaks --show, after the run,", NULL },
                { "record", "--show-reachable", "seep leaks --show all, after the run,", NULL },
                { "record", "--num-callers", "--depth", NULL },
                { "record", "--trace-children", "--follow", NULL },
                { "record", "--error-exitcode", "seep check --error-exitcode", NULL },
                { "record", "--gen-suppressions", "seep leaks --gen-suppressions, after the run,",
                  NULL },
                { "record", "--log-file", "seep leaks --output, after the run,", NULL },
                { "record", "--xml", "seep export --to valgrind-xml, after the run,", NULL },
                { "record", "--xml-file", "seep export --to valgrind-xml -o, after the run,",
                  NULL },
                { "record", "--track-origins", NULL,
                  "seep does not look for reads of memory that was never written" },
                /* heaptrack's */
                { "record", "--raw", NULL,
                  "a recording has addresses, and names are looked up when it is read" },
                { "record", "--analyze", "seep html --open", NULL },
        };

        for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
                if (strcmp(words[i].command, command) != 0 || strcmp(words[i].theirs, word) != 0)
                        continue;
                if (words[i].ours)
                        str_format(out, "that is %s here", words[i].ours);
                else
                        str_text(out, words[i].instead);
        }
}

static int option_unknown_word(const struct option_parser *p, const char *word)
{
        const char *names[OPTION_MAX];
        size_t count = 0, length = strcspn(word, "=");
        struct str plain = { 0 }, elsewhere = { 0 };
        const char *near;

        for (const struct option *o = p->longs; o->name; o++)
                names[count++] = o->name;
        str_bytes(&plain, word, length);
        option_elsewhere(p->command, str_get(&plain), &elsewhere);
        near = suggest_nearest(str_get(&plain) + 2, names, count);
        if (elsewhere.length)
                message_usage(p->command, "unknown option %s: %s", str_get(&plain),
                              str_get(&elsewhere));
        else if (near)
                message_usage(p->command, "unknown option %s: did you mean --%s?", str_get(&plain),
                              near);
        else
                message_usage(p->command, "unknown option %s", str_get(&plain));
        str_free(&elsewhere);
        str_free(&plain);
        return OPTION_WRONG;
}

static int option_wrong(const struct option_parser *p, int found)
{
        const char *word = optind > 0 ? p->argv[optind - 1] : "";

        if (found == ':' && optopt >= OPTION_LONG)
                message_usage(p->command, "--%s needs %s", p->entries[optopt - OPTION_LONG].name,
                              p->entries[optopt - OPTION_LONG].argument);
        else if (found == ':')
                message_usage(p->command, "-%c needs an argument", optopt);
        else if (optopt >= OPTION_LONG)
                message_usage(p->command, "--%s takes no argument",
                              p->entries[optopt - OPTION_LONG].name);
        else if (optopt)
                message_usage(p->command, "unknown option -%c", optopt);
        else
                return option_unknown_word(p, word);
        return OPTION_WRONG;
}

static const char others[] = "..."; /* ends values that are not all there is */

int option_choice(const char *values, const char *word)
{
        size_t length = strlen(word);

        for (int i = 0; *values; i++) {
                size_t next = strcspn(values, "|");

                if (next == length && strncmp(values, word, length) == 0)
                        return i;
                values += next + (values[next] != 0);
        }
        return -1;
}

/* "none|exec|all" as "none, exec or all" */
static void option_list_values(const char *values, struct str *out)
{
        while (*values) {
                size_t next = strcspn(values, "|");
                const char *rest = values + next + (values[next] != 0);

                str_bytes(out, values, next);
                if (*rest)
                        str_text(out, strchr(rest, '|') ? ", " : " or ");
                values = rest;
        }
}

/* Those of VALUES that begin with WORD, joined by '|'. */
static void option_beginning(const char *values, const char *word, struct str *out)
{
        while (*values) {
                size_t next = strcspn(values, "|");

                if (strlen(word) <= next && strncmp(values, word, strlen(word)) == 0) {
                        str_text(out, out->length ? "|" : "");
                        str_bytes(out, values, next);
                }
                values += next + (values[next] != 0);
        }
}

/* A value that was shortened, in full, for as long as the process lives. */
static const char *option_whole(const struct str *word)
{
        static struct whole {
                struct whole *before;
                char text[];
        } *all;
        struct whole *w = heap_zero(sizeof *w + word->length + 1, 1);

        memcpy(w->text, word->data, word->length);
        w->before = all;
        all = w;
        return w->text;
}

/* Values may be shortened while it is clear which one is meant. */
static int option_check_value(struct option_parser *p, int which)
{
        const struct option_entry *entry = &p->entries[which];
        struct str list = { 0 }, fitting = { 0 };

        if (!entry->values || !p->value || option_choice(entry->values, others) >= 0 ||
            option_choice(entry->values, p->value) >= 0)
                return which;
        option_beginning(entry->values, p->value, &fitting);
        if (*p->value && fitting.length && !strchr(str_get(&fitting), '|')) {
                p->value = option_whole(&fitting);
                str_free(&fitting);
                return which;
        }
        option_list_values(*p->value && fitting.length ? str_get(&fitting) : entry->values, &list);
        str_free(&fitting);
        message_usage(p->command, "--%s is %s, not '%s'", entry->name, str_get(&list), p->value);
        str_free(&list);
        return OPTION_WRONG;
}

static int option_found(struct option_parser *p)
{
        int found = getopt_long(p->argc, p->argv, p->letters, p->longs, NULL);

        p->value = optarg;
        if (found == -1) {
                p->first_operand = optind;
                return OPTION_DONE;
        }
        if (found == '?' || found == ':')
                return option_wrong(p, found);
        if (found >= OPTION_LONG)
                return option_check_value(p, found - OPTION_LONG);
        for (int i = 0; p->entries[i].help; i++)
                if (p->entries[i].letter == found)
                        return option_check_value(p, i);
        return OPTION_WRONG;
}

bool option_is_config(const struct option_parser *p, int which)
{
        return which >= 0 && p->entries[which].name &&
               strcmp(p->entries[which].name, "config") == 0;
}

int option_next(struct option_parser *p)
{
        int which;

        do
                which = option_found(p);
        while (!p->with_config && option_is_config(p, which));
        return which;
}

int option_take(struct option_parser *p, option_taker *take, void *to)
{
        int which, status = 0;

        while (!status && (which = option_next(p)) >= 0)
                status = p->entries[which].letter == 'h' ? OPTION_HELP : take(to, which, p->value);
        return status ? status : which == OPTION_WRONG ? ERR_EXIT_USAGE : 0;
}

static void option_left_column(const struct option_entry *entry, struct str *out)
{
        if (entry->letter)
                str_format(out, "  -%c", entry->letter);
        else
                str_text(out, "    ");
        if (entry->name)
                str_format(out, "%s --%s", entry->letter ? "," : " ", entry->name);
        if (!entry->argument)
                return;
        if (entry->argument[0] == '[')
                str_format(out, "[=%s", entry->argument + 1);
        else
                str_format(out, " %s", entry->argument);
}

void option_text(const char *help, size_t column, struct str *out)
{
        size_t used = column;

        while (*help) {
                size_t word = strcspn(help, " \n");

                if (used > column && (used + 1 + word > OPTION_COLUMNS || help[-1] == '\n')) {
                        str_format(out, "\n%*s", (int)column, "");
                        used = column;
                } else if (used > column) {
                        str_char(out, ' ');
                        used++;
                }
                str_bytes(out, help, word);
                used += word;
                help += word + (help[word] != 0);
        }
        str_char(out, '\n');
}

void option_help(const struct option_entry *entries, struct str *out)
{
        const size_t column = 28;

        for (const struct option_entry *entry = entries; entry->help; entry++) {
                size_t start = out->length, used;

                if (!entry->name && !entry->letter) {
                        str_char(out, '\n');
                        option_text(entry->help, 0, out);
                        continue;
                }
                option_left_column(entry, out);
                used = out->length - start;
                if (used + 2 > column)
                        str_format(out, "\n%*s", (int)column, "");
                else
                        str_format(out, "%*s", (int)(column - used), "");
                option_text(entry->help, column, out);
        }
}
