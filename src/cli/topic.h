/* SPDX-License-Identifier: MIT */
/* topic.h -- the texts of `seep help TOPIC`. */
#ifndef SEEP_CLI_TOPIC_H
#define SEEP_CLI_TOPIC_H

/* The one list: X(name, purpose) stands for name_text[] in topic.c. */
#define TOPIC_LIST(X)                                                                \
        X(peak, "what the peak is, and what a function's share of it means")         \
        X(rss, "why the process is bigger than its heap")                            \
        X(page, "what the page of 'seep html' shows, and how to share it")           \
        X(live, "how to inspect a running program")                                  \
        X(classes, "when memory that was not freed is a leak, and when not")         \
        X(roots, "what keeps memory in use; how to read 'seep why'")                 \
        X(suppressions, "how to suppress known leaks")                               \
        X(ci, "how to make a build fail on leaks")                                   \
        X(growth, "how stacks that keep growing are found")                          \
        X(snapshots, "named moments: how to make them, what to do with them")        \
        X(signal, "reports from a running program, also with plain LD_PRELOAD")      \
        X(journal, "programs on small targets, where no seep runs")                  \
        X(tags, "what a program can tell seep itself, with seep.h")                  \
        X(log, "every single allocation and free, in order")                         \
        X(filters, "how to select a part of a recording")                            \
        X(sampling, "recording a sample of blocks: for production, and for servers") \
        X(symbols, "where names and lines come from, and what to do without")        \
        X(formats, "the files and what reads them")                                  \
        X(recipes, "services, containers, cron jobs, gdb and perf")                  \
        X(config, "default options in files")

struct topic {
        const char *name, *purpose, *text;
};

#define TOPIC_ENUM(name, purpose) TOPIC_##name,
enum { TOPIC_LIST(TOPIC_ENUM) TOPIC_COUNT };
extern const struct topic topic_list[TOPIC_COUNT];

/* The text; NULL: there is no such topic. */
const char *topic_find(const char *name);

#endif
