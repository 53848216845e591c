/* SPDX-License-Identifier: MIT */
/*
 * rejoin.h -- another observer goes on with the recording of one that is gone.
 *
 * Room:   inside; told at the start where it is.  The rest is run by a thread that seep stopped
 *         somewhere, while all others stand still, perhaps in the agent: on a stack of ours, with
 *         all signals blocked.
 */
#ifndef SEEP_AGENT_REJOIN_H
#define SEEP_AGENT_REJOIN_H

/* The recording has begun, as SESSION says: another observer may come. */
void rejoin_start(const char *session);

#endif
