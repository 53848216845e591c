/* SPDX-License-Identifier: MIT */
/*
 * wait_span.h -- hooks of calls whose limit is a timespec or a timeval.
 *
 * Room:   inside; included by the files that define such hooks.
 * Keeps:  one text for each form that a time has: in words of the program (hooks_wait.c), and in 64
 *         bits where these have 32 (hooks_time64.c).
 */
#ifndef SEEP_AGENT_WAIT_SPAN_H
#define SEEP_AGENT_WAIT_SPAN_H

#include "agent/hook.h"
#include "agent/wait.h"

#define NS_PER_MS 1000000ull
#define NS_PER_S 1000000000ull
#define ABSOLUTE_TIME 1

/* timespec, and (ns: microseconds) timeval. */
struct wait_span {
        long seconds, ns;
};

/* The same with 64 bits: of the second word of a timespec the upper half says nothing. */
struct wait_wide {
        int64_t seconds, ns;
};

/* When a wait that begins now must end.  0: nobody will ask. */
uint64_t wait_deadline(uint64_t seconds, uint64_t ns);

uint64_t wait_left_ns(uint64_t deadline);

/* Of a limit that may be NULL: none. */
#define WAIT_DEADLINE(limit)                                                   \
        ((limit) ? wait_deadline((uint64_t)(limit)->seconds, (uint32_t)(limit)->ns) : 0)

/* UNIT: nanoseconds in one of the second word. */
#define WAIT_LEFT(left, deadline, UNIT)                                        \
        do {                                                                   \
                uint64_t left_ = wait_left_ns(deadline);                       \
                                                                               \
                (left).seconds = (__typeof__((left).seconds))(left_ / NS_PER_S); \
                (left).ns = (__typeof__((left).ns))(left_ % NS_PER_S / (UNIT)); \
        } while (0)

#define WAIT_SPAN(NAME, SYMBOL, SPAN, PARAMETERS, ARGUMENTS)                    \
        int hook_##NAME PARAMETERS HOOK(SYMBOL);                                \
        int hook_##NAME PARAMETERS                                              \
        {                                                                       \
                uint64_t deadline = WAIT_DEADLINE(limit);                       \
                SPAN left;                                                      \
                int result;                                                     \
                                                                                \
                RETRY(result, REAL(NAME##_) ARGUMENTS, EINTR_FAILED(result), {  \
                        if (limit) {                                            \
                                WAIT_LEFT(left, deadline, 1);                   \
                                limit = &left;                                  \
                        }                                                       \
                });                                                             \
                return result;                                                  \
        }

/* select() counts its limit (a timeval) down in glibc, but not in musl. */
#define WAIT_SELECT(NAME, SYMBOL, SPAN)                                         \
        int hook_##NAME(int count, void *r, void *w, void *e, SPAN *limit) HOOK(SYMBOL); \
        int hook_##NAME(int count, void *r, void *w, void *e, SPAN *limit)      \
        {                                                                       \
                SPAN given = limit ? *limit : (SPAN){ 0, 0 }, left = given;     \
                uint64_t deadline = limit ? wait_deadline((uint64_t)given.seconds, \
                                                          (uint64_t)given.ns * 1000) : 0; \
                int result;                                                     \
                                                                                \
                RETRY(result, REAL(NAME##_)(count, r, w, e, limit ? &left : NULL), \
                      EINTR_FAILED(result), {                                   \
                              WAIT_LEFT(given, deadline, 1000);                 \
                              left = given;                                     \
                      });                                                       \
                if (limit && (left.seconds != given.seconds || left.ns != given.ns)) \
                        *limit = left;                                          \
                return result;                                                  \
        }

/* Sleeping: the kernel tells what is left. */
#define WAIT_SLEEP(NAME, SYMBOL, SPAN)                                          \
        int hook_##NAME(const SPAN *span, SPAN *rest) HOOK(SYMBOL);             \
        int hook_##NAME(const SPAN *span, SPAN *rest)                           \
        {                                                                       \
                SPAN left = { 0, 0 };                                           \
                int result;                                                     \
                                                                                \
                RETRY(result, REAL(NAME##_)(span, &left), EINTR_FAILED(result), span = &left); \
                if (rest && result == -1)                                       \
                        *rest = left;                                           \
                return result;                                                  \
        }

#define WAIT_CLOCK_SLEEP(NAME, SYMBOL, SPAN)                                    \
        int hook_##NAME(int clock, int flags, const SPAN *span, SPAN *rest) HOOK(SYMBOL); \
        int hook_##NAME(int clock, int flags, const SPAN *span, SPAN *rest)     \
        {                                                                       \
                SPAN left = { 0, 0 };                                           \
                bool absolute = flags & ABSOLUTE_TIME;                          \
                int result;                                                     \
                                                                                \
                RETRY(result, REAL(NAME##_)(clock, flags, span, absolute ? rest : &left), \
                      result == SYS_EINTR, {                                    \
                              if (!absolute)                                    \
                                      span = &left;                             \
                      });                                                       \
                if (rest && !absolute && result == SYS_EINTR)                   \
                        *rest = left;                                           \
                return result;                                                  \
        }

/* C11's: 0, -1 when a signal came, -2 otherwise; errno is not its business. */
#define WAIT_THREAD_SLEEP(NAME, SYMBOL, SPAN, SLEEP)                            \
        int hook_##NAME(const SPAN *span, SPAN *rest) HOOK(SYMBOL);             \
        int hook_##NAME(const SPAN *span, SPAN *rest)                           \
        {                                                                       \
                int *error = real.errno_location ? real.errno_location() : NULL, \
                    before = error ? *error : 0;                                \
                int result = SLEEP(span, rest) == 0 ? 0 : error && *error == SYS_EINTR ? -1 : -2; \
                                                                                \
                if (error)                                                      \
                        *error = before;                                        \
                return result;                                                  \
        }

#endif
