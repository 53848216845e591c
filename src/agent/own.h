/* SPDX-License-Identifier: MIT */
/*
 * own.h -- which agent this is, and what a thread has of its own in it.
 *
 * Room:   inside; any context.
 * Keeps:  the library that is preloaded has thread-local variables.  The one that is written into a
 *         running process (INJECTED) has none, because no loader knows of it: what a thread has is
 *         found by its thread pointer (wire/inject.h).  A new thread may have the pointer of one
 *         that ended; it is told by the number that the C library keeps there.
 */
#ifndef SEEP_AGENT_OWN_H
#define SEEP_AGENT_OWN_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/arch/arch.h"

struct thread;

#ifdef SEEP_INJECTED
#define INJECTED 1

#include "wire/inject.h"

/* What seep tells. */
extern struct wire_inject own_words __asm__(WIRE_INJECT) __attribute__((visibility("default")));

#define own_session() own_words.session
#define own_filter_count() own_words.filter_count
#define own_filters() sandbox_told(own_words.filter_depth, own_words.filter_sizes,               \
                                   own_words.filter_count)
#define own_library() own_words.library
#define own_is_glibc() (own_words.glibc != 0)
#define own_gate() ((uint32_t *)own_words.gate.own.at)
#define own_one_way() own_words.one_way
#define own_is_fresh() (own_words.fresh != 0) /* nothing was allocated before */
#define own_is_inner(pc) ((pc) - own_words.inner < own_words.inner_end - own_words.inner)

/* Where we are: no file is mapped there, but what lies there is one.  It is an object like others
 * where stacks are unwound from our own frames on, as the return address has no fixed place. */
#define own_is_object(at) (!ARCH_RETURN_AT && (at) == (uintptr_t)own_image)
extern const char own_image[] __asm__("__ehdr_start") __attribute__((visibility("hidden")));

extern struct wire_inject_cell own_cells[WIRE_INJECT_CELLS];
extern uint64_t own_tid_at;

struct thread *own_get_slow(uint64_t pointer);

static inline uint64_t own_check(uint64_t pointer)
{
        return *(const volatile uint32_t *)(uintptr_t)(pointer + own_tid_at);
}

static inline struct thread *own_get(void)
{
        uint64_t pointer = arch_thread_pointer();
        const struct wire_inject_cell *c = &own_cells[wire_inject_place(pointer)];

        if (__builtin_expect(c->pointer == pointer && c->check == own_check(pointer), 1))
                return (struct thread *)(uintptr_t)c->state;
        return own_get_slow(pointer);
}

/* False: there is no place for it. */
bool own_set(struct thread *t);

/* In a forked child, whose number is another one: this thread is still the same. */
void own_forked(void);

#define thread_self own_get()
#define OWN_THREAD /* shared: who reads it compares it with what it is about */
#define OWN_MODEL

#else
#define INJECTED 0

#define own_session() ""
#define own_filter_count() 0
#define own_filters() false
#define own_library() NULL
#define own_is_glibc() false
#define own_gate() NULL
#define own_one_way() 0
#define own_is_fresh() true
#define own_is_inner(pc) ((void)(pc), false)
#define own_is_object(at) ((void)(at), false)

extern __thread struct thread *thread_self __attribute__((tls_model("initial-exec")));

static inline bool own_set(struct thread *t)
{
        thread_self = t;
        return true;
}

static inline void own_forked(void)
{
}

#define OWN_THREAD __thread
#define OWN_MODEL __attribute__((tls_model("initial-exec")))

#endif

#endif
