/* SPDX-License-Identifier: MIT */
#include "query/baseline.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/order.h"

/* "leak", or the word of an invalid free; NULL: such findings are in no baseline. */
static const char *word_of(enum finding_kind kind)
{
        if (kind == FINDING_DEFINITE || kind == FINDING_INDIRECT)
                return "leak";
        return finding_is_release(kind) ? finding_words(kind)->word : NULL;
}

/* The kind that stands for all with this word; FINDING_KINDS: there is none. */
static enum finding_kind kind_of(const char *word, size_t length)
{
        for (enum finding_kind kind = 0; kind < FINDING_KINDS; kind++) {
                const char *known = word_of(kind);

                if (known && strlen(known) == length && strncmp(known, word, length) == 0)
                        return kind;
        }
        return FINDING_KINDS;
}

static uint64_t key_of(enum finding_kind kind, uint64_t fingerprint)
{
        const char *word = word_of(kind);

        return fingerprint ^ (uint64_t)kind_of(word, strlen(word)) << 60;
}

/* ---- entries ---- */

ORDER_BY(by_key, struct baseline_entry, key)

static struct baseline_entry *find(const struct baseline *b, uint64_t key)
{
        struct baseline_entry wanted = { .key = key };

        return b->count ? bsearch(&wanted, b->entries, b->count, sizeof *b->entries, by_key) : NULL;
}

/* LINE is moved. */
static void add(struct baseline *b, uint64_t key, char *line, uint64_t bytes)
{
        b->entries = heap_grow(b->entries, b->count + 1, sizeof *b->entries);
        b->entries[b->count++] = (struct baseline_entry){ .line = line, .key = key,
                                                          .bytes = bytes };
}

/* One place was found twice: at different lines of the same functions, say. */
static void join(struct baseline_entry *to, struct baseline_entry *from)
{
        bool any = to->bytes == BASELINE_ANY || from->bytes == BASELINE_ANY;

        to->bytes = any ? BASELINE_ANY : to->bytes + from->bytes;
        free(from->line);
}

/* Sorted, each once. */
static void settle(struct baseline *b)
{
        uint32_t kept = 0;

        if (b->count)
                qsort(b->entries, b->count, sizeof *b->entries, by_key);
        for (uint32_t i = 0; i < b->count; i++) {
                if (kept && b->entries[kept - 1].key == b->entries[i].key)
                        join(&b->entries[kept - 1], &b->entries[i]);
                else
                        b->entries[kept++] = b->entries[i];
        }
        b->count = kept;
}

void baseline_free(struct baseline *b)
{
        for (uint32_t i = 0; i < b->count; i++)
                free(b->entries[i].line);
        free(b->entries);
        *b = (struct baseline){ 0 };
}

/* ---- in ---- */

/* How long the amount in front of the names at TEXT is, with the space behind it:
 * "350B "; 0: there is none. */
static size_t amount_length(const char *text)
{
        size_t digits = strspn(text, "0123456789");

        return digits && strncmp(text + digits, "B ", 2) == 0 ? digits + 2 : 0;
}

/* "KIND FINGERPRINT [BYTES]NAMES"; the amount is taken out of the line. */
static bool parse_line(struct baseline *b, const char *line, size_t length)
{
        size_t word = strcspn(line, " "),
               digits = word < length ? strspn(line + word + 1, "0123456789abcdef") : 0;
        enum finding_kind kind = kind_of(line, word);
        char *copy, *names;
        uint64_t bytes;
        size_t amount;

        if (kind == FINDING_KINDS || digits != 16 || (word + 17 < length && line[word + 17] != ' '))
                return false;
        copy = heap_zero(length + 1, 1);
        memcpy(copy, line, length);
        names = copy + word + 17 + (copy[word + 17] == ' ');
        amount = amount_length(names);
        bytes = amount ? strtoull(names, NULL, 10) : BASELINE_ANY;
        memmove(names, names + amount, strlen(names + amount) + 1);
        add(b, key_of(kind, strtoull(copy + word + 1, NULL, 16)), copy, bytes);
        return true;
}

static const char *behind_order_mark(const char *text)
{
        return text + (strncmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0);
}

bool baseline_is(const char *text)
{
        return strncmp(behind_order_mark(text), BASELINE_MARK, strlen(BASELINE_MARK)) == 0;
}

bool baseline_parse(struct baseline *b, const char *name, const char *text, struct err *e)
{
        bool good = true;

        if (baseline_is(text) &&
            strtoul(behind_order_mark(text) + strlen(BASELINE_MARK), NULL, 10) - 1 > 1)
                return err_set(e, ERR_EXIT_BAD_FILE,
                               "%s was written by a newer seep: '%.*s', and this one reads "
                               "versions 1 and 2", name,
                               (int)strcspn(behind_order_mark(text), "\r\n"),
                               behind_order_mark(text));
        text = behind_order_mark(text);
        for (uint32_t number = 1; *text && good; number++) {
                size_t length = strcspn(text, "\n"), used = length;

                while (used && strchr(" \t\r", text[used - 1]))
                        used--;
                if (used && text[0] != '#' && !parse_line(b, text, used))
                        good = err_set(e, ERR_EXIT_BAD_FILE,
                                       "%s, line %" PRIu32 ": 'leak 0123456789abcdef f < g < main' "
                                       "is expected, or such a line with a kind of invalid free; "
                                       "'seep check --write-baseline %s' rewrites the file", name,
                                       number, name);
                text += length + (text[length] == '\n');
        }
        settle(b);
        return good;
}

void baseline_take(struct baseline *b, const struct findings *f)
{
        for (uint32_t i = 0; i < f->count; i++) {
                const struct finding *finding = &f->all[i];
                struct str line = { 0 };

                if (!word_of(finding->kind))
                        continue;
                str_format(&line, "%s %016" PRIx64 " ", word_of(finding->kind),
                           finding->fingerprint);
                findings_names(&finding->stack, &line);
                add(b, key_of(finding->kind, finding->fingerprint), line.data,
                    finding_is_leak(finding->kind) ? finding->bytes : BASELINE_ANY);
        }
        settle(b);
}

/* ---- use ---- */

bool baseline_knows(struct baseline *b, enum finding_kind kind, uint64_t fingerprint)
{
        struct baseline_entry *entry = b && word_of(kind) ? find(b, key_of(kind, fingerprint))
                                                          : NULL;

        if (entry)
                entry->seen = true;
        return entry != NULL;
}

bool baseline_allows(struct baseline *b, const struct finding *finding, uint64_t *known)
{
        struct baseline_entry *entry = find(b, key_of(finding->kind, finding->fingerprint));

        if (!entry || entry->bytes == BASELINE_ANY || !finding_is_leak(finding->kind))
                return true;
        entry->found += finding->bytes;
        *known = entry->bytes;
        return (double)entry->found <= (double)entry->bytes * (100 + b->tolerance) / 100;
}

void baseline_tell_gone(const struct baseline *b, struct findings *f)
{
        for (uint32_t i = 0; i < b->count; i++)
                if (!b->entries[i].seen) {
                        f->gone = heap_grow(f->gone, f->gone_count + 1, sizeof *f->gone);
                        f->gone[f->gone_count++] = string_pool_text(&f->texts, b->entries[i].line);
                }
}

/* ---- out ---- */

static const char *names_of(const struct baseline_entry *entry)
{
        return entry->line + strcspn(entry->line, " ") + 17; /* and the fingerprint */
}

static int by_names(const void *a, const void *b)
{
        const struct baseline_entry *x = *(const struct baseline_entry *const *)a,
                                    *y = *(const struct baseline_entry *const *)b;
        int names = strcmp(names_of(x), names_of(y));

        return names ? names : strcmp(x->line, y->line);
}

void baseline_write(const struct baseline *b, struct str *out)
{
        const struct baseline_entry **sorted = heap_zero(b->count, sizeof *sorted);

        for (uint32_t i = 0; i < b->count; i++)
                sorted[i] = &b->entries[i];
        qsort(sorted, b->count, sizeof *sorted, by_names);
        str_text(out, BASELINE_HEAD "# Known leaks and invalid frees: 'seep check --baseline FILE' "
                                    "fails only for others, and for leaks that grew.\n"
                                    "# Kind, hash of the names, bytes of a leak, names of the "
                                    "functions, innermost first.\n");
        for (uint32_t i = 0; i < b->count; i++) {
                const char *names = names_of(sorted[i]);

                str_bytes(out, sorted[i]->line, (size_t)(names - sorted[i]->line));
                if (sorted[i]->bytes != BASELINE_ANY)
                        str_format(out, " %" PRIu64 "B", sorted[i]->bytes);
                str_format(out, "%s\n", names);
        }
        free(sorted);
}
