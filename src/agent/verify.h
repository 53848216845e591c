/* SPDX-License-Identifier: MIT */
/*
 * verify.h -- test mode: every captured stack is compared with an independent one.
 *
 * Room:   inside; with the thread THREAD_ACTIVE.
 */
#ifndef SEEP_AGENT_VERIFY_H
#define SEEP_AGENT_VERIFY_H

#include "agent/thread.h"

/* stack_capture(), compared with a full unwind, and every VERIFY_SAMPLE-th time with the
 * C library's backtrace(). */
uint64_t verify_capture(struct thread *t, struct arch_state caller);

#define VERIFY_SAMPLE 64u

#endif
