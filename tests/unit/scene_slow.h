/* SPDX-License-Identifier: MIT */
/*
 * scene_slow.h -- the search for pointers by its rules alone: every word against every block, again
 * and again until nothing changes.
 */
#ifndef SEEP_TESTS_UNIT_SCENE_SLOW_H
#define SEEP_TESTS_UNIT_SCENE_SLOW_H

#include "scene.h"

/* As in struct search_graph. */
struct slow {
        uint64_t first[SCENE_MOST + 1], vtables[SCENE_MOST];
        uint8_t leak[SCENE_MOST], idiom[SCENE_MOST];
        uint32_t head[SCENE_MOST];
        struct search_link *links;
        struct search_hold *holds;
        uint64_t link_count, hold_count;
};

struct slow slow_search(const struct scene *s);
void slow_free(struct slow *slow);

#endif
