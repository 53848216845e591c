/* SPDX-License-Identifier: MIT */
/*
 * topic.h -- short texts that explain what the numbers mean.
 *
 * Room:   outside, cli/ only.
 */
#ifndef SEEP_CLI_TOPIC_H
#define SEEP_CLI_TOPIC_H

struct topic {
        const char *name, *purpose, *text;
};

#define TOPIC_COUNT 6
extern const struct topic topic_list[TOPIC_COUNT];

/* The text; NULL: there is no such topic. */
const char *topic_find(const char *name);

#endif
