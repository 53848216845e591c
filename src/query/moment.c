/* SPDX-License-Identifier: MIT */
#include "query/moment.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/quantity.h"
#include "ledger/ledger.h"
#include "words/text.h"

enum { MOMENT_LISTED = 12 }; /* marks that an error message lists at most */

static bool find_word(const char *word, struct moment *m)
{
        static const struct {
                const char *word;
                struct moment moment;
        } words[] = { { "start", { .type = MOMENT_START } },
                      { "peak", { .type = MOMENT_PEAK } },
                      { "end", { .type = MOMENT_END, .ms = UINT64_MAX } } };

        for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
                if (strcmp(word, words[i].word) == 0) {
                        *m = words[i].moment;
                        return true;
                }
        return false;
}

static bool is_whole_number(const char *word)
{
        return word[0] && word[strspn(word, "0123456789")] == 0;
}

static bool is_named(const struct profile_mark *mark)
{
        return mark->type != LEDGER_MARK_ENABLE && mark->type != LEDGER_MARK_DISABLE;
}

static void take_mark(const struct profile *p, uint32_t mark, struct moment *m)
{
        *m = (struct moment){ MOMENT_MARK, mark, p->marks[mark].ms };
}

static bool find_snapshot(const struct profile *p, const char *word, struct moment *m)
{
        uint64_t seq = 0;

        if (!quantity_number(word, &seq) || !seq)
                return false;
        for (uint32_t i = 0; i < p->mark_count; i++)
                if (p->marks[i].seq == seq) {
                        take_mark(p, i, m);
                        return true;
                }
        return false;
}

/* The mark with the LENGTH bytes at LABEL as its label, for the NUMBER-th time (from 1). */
static bool find_label(const struct profile *p, const char *label, size_t length, uint64_t number,
                       struct moment *m)
{
        for (uint32_t i = 0; i < p->mark_count; i++) {
                const char *text = p->marks[i].label;

                if (!is_named(&p->marks[i]) || strlen(text) != length ||
                    memcmp(text, label, length) != 0)
                        continue;
                if (--number == 0) {
                        take_mark(p, i, m);
                        return true;
                }
        }
        return false;
}

/* LABEL, or LABEL:NUMBER. */
static bool find_mark(const struct profile *p, const char *word, struct moment *m)
{
        const char *colon = strrchr(word, ':');
        uint64_t number = 0;

        if (word[0] && find_label(p, word, strlen(word), 1, m))
                return true;
        return colon > word && quantity_number(colon + 1, &number) && number &&
               find_label(p, word, (size_t)(colon - word), number, m);
}

static void list_marks(const struct profile *p, struct str *out)
{
        uint32_t shown = 0, count = 0;

        for (uint32_t i = 0; i < p->mark_count; i++)
                count += is_named(&p->marks[i]);
        for (uint32_t i = 0; i < p->mark_count && shown < MOMENT_LISTED; i++) {
                struct moment m;

                if (!is_named(&p->marks[i]))
                        continue;
                take_mark(p, i, &m);
                str_text(out, shown++ ? ", " : "");
                moment_name(p, &m, out);
                str_text(out, " at ");
                text_time(out, m.ms);
        }
        if (shown < count)
                str_format(out, " and %u more", count - shown);
}

static bool none_such(const struct profile *p, const char *word, struct err *e)
{
        struct str all = { 0 };

        list_marks(p, &all);
        if (!all.length)
                str_text(&all, "no tags and no snapshots");
        if (p->meta.end == PROFILE_END_UNKNOWN)
                str_text(&all,
                         " (it was written while the program was running: newer ones may follow)");
        err_set(e, ERR_EXIT_USAGE,
                "no moment '%s': the recording has %s; start, peak, end and times like 1.5s always "
                "work%s", word, str_get(&all),
                is_whole_number(word) ? " (a plain number is that of a snapshot)" : "");
        str_free(&all);
        return false;
}

bool moment_find(const struct profile *p, const char *word, struct moment *m, struct err *e)
{
        uint64_t ms;

        if (find_word(word, m) || find_snapshot(p, word, m))
                return true;
        if (!is_whole_number(word) && quantity_time(word, &ms)) {
                *m = (struct moment){ MOMENT_TIME, 0, ms };
                return true;
        }
        return find_mark(p, word, m) || none_such(p, word, e);
}

/* Labels may hold dots too: the first split that gives two known moments is taken. */
bool moment_range(const struct profile *p, const char *words, struct moment *from,
                  struct moment *to, struct err *e)
{
        const char *dots = strstr(words, "..");
        bool good = false;

        if (!dots)
                return err_set(e, ERR_EXIT_USAGE,
                               "'%s' is not a range: two moments are expected, like 2s..5s or "
                               "startup..end", words);
        for (; dots && !good; dots = strstr(dots + 1, "..")) {
                struct str first = { 0 };

                str_bytes(&first, words, (size_t)(dots - words));
                good = moment_find(p, first.length ? first.data : "start", from, e) &&
                       moment_find(p, dots[2] ? dots + 2 : "end", to, e);
                str_free(&first);
        }
        if (!good)
                return false;
        if (from->type == MOMENT_PEAK || to->type == MOMENT_PEAK)
                return err_set(e, ERR_EXIT_USAGE,
                               "a range cannot begin or end at the peak: calls until then are not "
                               "known");
        if (from->ms > to->ms ||
            (from->type == MOMENT_MARK && to->type == MOMENT_MARK && from->mark > to->mark))
                return err_set(e, ERR_EXIT_USAGE, "'%s': the end lies before the start", words);
        return true;
}

static void mark_name(const struct profile_mark *mark, struct str *out)
{
        if (!mark->seq)
                str_text(out, "tag ");
        else
                str_format(out, mark->label[0] ? "snapshot %u (" : "snapshot %u", mark->seq);
        text_name(out, mark->label);
        if (mark->seq && mark->label[0])
                str_char(out, ')');
}

void moment_name(const struct profile *p, const struct moment *m, struct str *out)
{
        static const char *const names[] = { [MOMENT_NONE] = "the end",
                                             [MOMENT_START] = "the start",
                                             [MOMENT_PEAK] = "the peak",
                                             [MOMENT_END] = "the end" };

        if (m->type == MOMENT_TIME && m->ms >= 1000 && m->ms < 60000 && m->ms % 100)
                str_format(out, "%.*f s", m->ms % 10 ? 3 : 2, (double)m->ms / 1000);
        else if (m->type == MOMENT_TIME) /* as it was asked for, not cut */
                text_time(out, m->ms);
        else if (m->type == MOMENT_MARK)
                mark_name(&p->marks[m->mark], out);
        else
                str_text(out, names[m->type]);
}

uint64_t moment_ms(const struct profile *p, const struct moment *m)
{
        uint64_t end = p->meta.duration_ms;

        if (m->type == MOMENT_PEAK)
                return profile_peak_ms(p);
        if (m->type == MOMENT_NONE || m->type == MOMENT_END)
                return end;
        return end && m->ms > end ? end : m->ms;
}

void moment_word(const struct profile *p, const struct moment *m, struct str *out)
{
        static const char *const words[] = { [MOMENT_NONE] = "end", [MOMENT_START] = "start",
                                             [MOMENT_PEAK] = "peak", [MOMENT_END] = "end" };
        uint32_t number = 0;

        if (m->type == MOMENT_TIME) {
                str_format(out, "%" PRIu64 "ms", moment_ms(p, m));
        } else if (m->type != MOMENT_MARK) {
                str_text(out, words[m->type]);
        } else if (p->marks[m->mark].seq) {
                str_format(out, "%" PRIu32, p->marks[m->mark].seq);
        } else {
                for (uint32_t i = 0; i <= m->mark; i++)
                        number += is_named(&p->marks[i]) &&
                                  strcmp(p->marks[i].label, p->marks[m->mark].label) == 0;
                str_text(out, p->marks[m->mark].label);
                if (number > 1)
                        str_format(out, ":%" PRIu32, number);
        }
}

const char *moment_split(const char *operand)
{
        const char *at = strrchr(operand, '@');

        return at && access(operand, F_OK) == 0 ? NULL : at;
}

struct moment moment_stacks(const struct profile *p, const struct moment *m)
{
        struct moment known = *m;
        uint32_t slice = 0;

        while (slice + 1 < p->slice_count && p->slices[slice + 1].ms <= m->ms)
                slice++;
        if (m->type == MOMENT_TIME && p->slice_count &&
            p->slices[slice].flags & PROFILE_SLICE_TOTALS)
                known.ms = p->slices[profile_detail(p, slice)].ms;
        return known;
}
