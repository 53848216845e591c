/* SPDX-License-Identifier: MIT */
/* chain.h -- see chain.c. */
#ifndef SEEP_TESTS_CHAIN_H
#define SEEP_TESTS_CHAIN_H

extern void *chain_resolved;
void *chain_outer(void *(*callback)(void));
int chain_pick(void);

#endif
