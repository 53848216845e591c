/* SPDX-License-Identifier: MIT */
/* topic.h -- short texts that explain what the numbers mean. */
#ifndef SEEP_CLI_TOPIC_H
#define SEEP_CLI_TOPIC_H

/* The one list: X(name, purpose) stands for name_text[] in topic.c. */
#define TOPIC_LIST(X)                                                                                                  \
        X(peak, "what the peak is, and why a function's peak is something else")                                       \
        X(rss, "why the process is bigger than its heap")                                                              \
        X(page, "what the page of 'seep html' shows, and how to pass it on")                                           \
        X(live, "how to look at a program while it runs")                                                              \
        X(classes, "when memory that was not freed is a leak, and when not")                                           \
        X(roots, "what keeps memory in use; how to read 'seep why'")                                                   \
        X(suppressions, "how to silence leaks that are known")                                                         \
        X(ci, "how to make a build fail when something leaks")                                                         \
        X(growth, "how stacks that hold more and more are found")                                                      \
        X(snapshots, "named moments: how to make them, what to do with them")                                          \
        X(signal, "reports from a running program, also without the command")                                          \
        X(tags, "what a program can tell by itself, with seep.h")                                                      \
        X(log, "every single allocation and release, in order")                                                        \
        X(filters, "how to look at a part of a recording")                                                             \
        X(sampling, "a part of the blocks for all: for production, and for servers")                                   \
        X(symbols, "where names and lines come from, what to do without")                                              \
        X(formats, "the files and what reads them")                                                                    \
        X(config, "options that are always wanted")

struct topic {
        const char *name, *purpose, *text;
};

#define TOPIC_ENUM(name, purpose) TOPIC_##name,
enum { TOPIC_LIST(TOPIC_ENUM) TOPIC_COUNT };
extern const struct topic topic_list[TOPIC_COUNT];

/* The text; NULL: there is no such topic. */
const char *topic_find(const char *name);

#endif
