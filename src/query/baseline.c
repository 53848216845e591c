/* SPDX-License-Identifier: MIT */
#include "query/baseline.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "base/order.h"

/* "leak", or the word of a wrong release; NULL: such findings are in no baseline. */
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
static void add(struct baseline *b, uint64_t key, char *line)
{
        b->entries = heap_grow(b->entries, b->count + 1, sizeof *b->entries);
        b->entries[b->count++] = (struct baseline_entry){ .line = line, .key = key };
}

/* Sorted, each once. */
static void settle(struct baseline *b)
{
        uint32_t kept = 0;

        if (b->count)
                qsort(b->entries, b->count, sizeof *b->entries, by_key);
        for (uint32_t i = 0; i < b->count; i++) {
                if (kept && b->entries[kept - 1].key == b->entries[i].key)
                        free(b->entries[i].line);
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

/* "KIND FINGERPRINT NAMES" */
static bool parse_line(struct baseline *b, const char *line, size_t length)
{
        size_t word = strcspn(line, " "), digits = word < length ? strspn(line + word + 1, "0123456789abcdef") : 0;
        enum finding_kind kind = kind_of(line, word);
        char *copy;

        if (kind == FINDING_KINDS || digits != 16 || (word + 17 < length && line[word + 17] != ' '))
                return false;
        copy = heap_zero(length + 1, 1);
        memcpy(copy, line, length);
        add(b, key_of(kind, strtoull(copy + word + 1, NULL, 16)), copy);
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

        if (baseline_is(text) && strtoul(behind_order_mark(text) + strlen(BASELINE_MARK), NULL, 10) != 1)
                return err_set(e, ERR_EXIT_BAD_FILE, "%s was written by a newer seep: '%.*s', and this one reads version 1", name,
                               (int)strcspn(behind_order_mark(text), "\r\n"), behind_order_mark(text));
        text = behind_order_mark(text);
        for (uint32_t number = 1; *text && good; number++) {
                size_t length = strcspn(text, "\n"), used = length;

                while (used && strchr(" \t\r", text[used - 1]))
                        used--;
                if (used && text[0] != '#' && !parse_line(b, text, used))
                        good = err_set(e, ERR_EXIT_BAD_FILE,
                                       "%s, line %" PRIu32 ": 'leak 0123456789abcdef f < g < main' is expected, or such a line with a kind of "
                                       "invalid free; 'seep check --write-baseline %s' rewrites the file", name, number, name);
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
                str_format(&line, "%s %016" PRIx64 " ", word_of(finding->kind), finding->fingerprint);
                findings_names(&finding->stack, &line);
                add(b, key_of(finding->kind, finding->fingerprint), line.data);
        }
        settle(b);
}

/* ---- use ---- */

bool baseline_knows(struct baseline *b, enum finding_kind kind, uint64_t fingerprint)
{
        struct baseline_entry *entry = b && word_of(kind) ? find(b, key_of(kind, fingerprint)) : NULL;

        if (entry)
                entry->seen = true;
        return entry != NULL;
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
        const struct baseline_entry *x = *(const struct baseline_entry *const *)a, *y = *(const struct baseline_entry *const *)b;
        int names = strcmp(names_of(x), names_of(y));

        return names ? names : strcmp(x->line, y->line);
}

void baseline_write(const struct baseline *b, struct str *out)
{
        const struct baseline_entry **sorted = heap_zero(b->count, sizeof *sorted);

        for (uint32_t i = 0; i < b->count; i++)
                sorted[i] = &b->entries[i];
        qsort(sorted, b->count, sizeof *sorted, by_names);
        str_text(out, BASELINE_HEAD
                 "# Known leaks and invalid frees: 'seep check --baseline FILE' fails only for others.\n"
                 "# Kind, hash of the names, names of the functions, innermost first.\n");
        for (uint32_t i = 0; i < b->count; i++)
                str_format(out, "%s\n", sorted[i]->line);
        free(sorted);
}
