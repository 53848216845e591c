/* SPDX-License-Identifier: MIT */
/*
 * summary.h -- the main numbers: printed by `record` at the end, and by `report --summary`.
 */
#ifndef SEEP_REPORT_SUMMARY_H
#define SEEP_REPORT_SUMMARY_H

#include "base/str.h"
#include "names/symbol.h"
#include "profile/model.h"
#include "query/suppress.h"

struct summary_options {
        const char *file; /* the recording's name for the "next" lines; NULL: none */
        int color;        /* escapes may be used */
        struct suppressions *suppressions; /* leaks that are not told, besides the usual ones; NULL:
                                            * none */
};

/* Append the summary (at most 24 lines of 80 columns) to OUT. */
void summary_write(const struct profile *p, struct symbols *s,
                   const struct summary_options *options, struct str *out);

/* ---- the same, sentence by sentence ---- */

enum summary_level { SUMMARY_BAD, SUMMARY_WARN, SUMMARY_GOOD, SUMMARY_INFO };

/* What a sentence is about; name, word */
#define SUMMARY_TOPICS(X)                                                      \
        X(RECORDING, "recording")                                              \
        X(LEAKS, "leaks")                                                      \
        X(GROWTH, "growth")                                                    \
        X(ERRORS, "errors")                                                    \
        X(RESOURCES, "resources")                                              \
        X(PEAK, "peak")                                                        \
        X(CALLS, "calls")                                                      \
        X(RSS, "rss")                                                          \
        X(NAMES, "names")

enum summary_topic {
#define SUMMARY_TOPIC_ENUM(id, word) SUMMARY_ABOUT_##id,
        SUMMARY_TOPICS(SUMMARY_TOPIC_ENUM)
#undef SUMMARY_TOPIC_ENUM
        SUMMARY_TOPIC_COUNT
};

struct summary_verdict {
        enum summary_level level;
        enum summary_topic topic;
        uint32_t site; /* that it is about; 0 none */
        char *text;
};

struct summary_verdicts {
        struct summary_verdict *list; /* the worst first */
        uint32_t count;
};

/* Fill V, the caller's to summary_verdicts_free(), with what summary_write() says. */
void summary_verdicts_make(struct summary_verdicts *v, const struct profile *p, struct symbols *s);
void summary_verdicts_free(struct summary_verdicts *v);

#endif
