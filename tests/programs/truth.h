/* SPDX-License-Identifier: MIT */
/*
 * truth.h -- a target program's own account of what it allocated, told on descriptor 3.
 *
 * Room:   tests only; included by target programs.  Allocates nothing: tables are static, output is
 *         formatted on the stack.
 * Keeps:  TRUTH_GOT after a successful allocation, truth_gone before the release: the same order as
 *         the ledger's, so that per-address history agrees between threads.  The function named is
 *         the one that calls the allocator.
 *
 * Lines:  total allocs=.. frees=.. bytes=.. live_blocks=.. live_bytes=.. peak=.. peak_blocks=..
 *         temporary=.. peak_high=.. site NAME allocs=.. frees=.. bytes=.. live_blocks=..
 *         live_bytes=.. peak=.. temporary=.. and whatever truth_say prints: "kind NAME malloc",
 *         "stack SIZE inner .. outer", "fact KEY=VALUE".
 *
 * Peak, several threads: `peak` counts a block from after its allocation to before its release,
 * `peak_high` from before TRUTH_WANT to after TRUTH_DONE; the real one lies between.
 */
#ifndef SEEP_TESTS_TRUTH_H
#define SEEP_TESTS_TRUTH_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifndef TRUTH_BLOCKS
#define TRUTH_BLOCKS (1u << 17)
#endif
#define TRUTH_SITES 256

struct truth_site {
        const char *name;
        uint64_t allocs, frees, bytes, temporary;
        int64_t live_blocks, live_bytes, peak_bytes;
};

struct truth_block {
        uintptr_t address;
        size_t size;
        struct truth_site *site;
};

static struct truth_block truth_blocks[TRUTH_BLOCKS];
static struct truth_site truth_sites[TRUTH_SITES], truth_total;
static uint64_t truth_peak_blocks;
static int64_t truth_high, truth_high_peak;
static int truth_lock_word;
static __thread uintptr_t truth_last;

static inline void truth_lock(void)
{
        while (__atomic_exchange_n(&truth_lock_word, 1, __ATOMIC_ACQUIRE))
                sched_yield();
}

static inline void truth_unlock(void)
{
        __atomic_store_n(&truth_lock_word, 0, __ATOMIC_RELEASE);
}

static inline void truth_die(const char *why)
{
        if (write(2, why, strlen(why)) < 0)
                _exit(99);
        _exit(98);
}

/* Tell the test something; nothing happens when nobody listens. */
__attribute__((format(printf, 1, 2), unused)) static void truth_say(const char *format, ...)
{
        char line[1024];
        va_list ap;
        int n, saved = errno;
        va_start(ap, format);
        n = vsnprintf(line, sizeof line, format, ap);
        va_end(ap);
        if (n > 0 && fcntl(3, F_GETFD) >= 0 && write(3, line, (size_t)n) < 0)
                truth_die("truth: cannot write\n");
        errno = saved;
}

static inline struct truth_site *truth_site_find(const char *name)
{
        unsigned i = 0;
        while (truth_sites[i].name && strcmp(truth_sites[i].name, name))
                if (++i == TRUTH_SITES)
                        truth_die("truth: too many sites\n");
        truth_sites[i].name = name;
        return &truth_sites[i];
}

static inline unsigned truth_hash(uintptr_t a)
{
        return (unsigned)((a >> 3) * 0x9e3779b97f4a7c15ull >> 40) % TRUTH_BLOCKS;
}

static inline unsigned truth_find(uintptr_t a)
{
        unsigned i = truth_hash(a), n = 0;
        while (truth_blocks[i].address && truth_blocks[i].address != a) {
                i = (i + 1) % TRUTH_BLOCKS;
                if (++n == TRUTH_BLOCKS)
                        truth_die("truth: too many blocks\n");
        }
        return i;
}

/* Linear probing, so removal moves later members of the cluster back. */
static inline void truth_remove(unsigned i)
{
        unsigned j = i, home;
        for (;;) {
                truth_blocks[i].address = 0;
                do {
                        j = (j + 1) % TRUTH_BLOCKS;
                        if (!truth_blocks[j].address)
                                return;
                        home = truth_hash(truth_blocks[j].address);
                } while (i <= j ? i < home && home <= j : i < home || home <= j);
                truth_blocks[i] = truth_blocks[j];
                i = j;
        }
}

static inline void truth_add(struct truth_site *s, int64_t size)
{
        s->allocs++;
        s->bytes += (uint64_t)size;
        s->live_blocks++;
        s->live_bytes += size;
}

static inline void truth_peak(void)
{
        if (truth_total.live_bytes <= truth_total.peak_bytes)
                return;
        truth_total.peak_bytes = truth_total.live_bytes;
        truth_peak_blocks = (uint64_t)truth_total.live_blocks;
        for (unsigned i = 0; i < TRUTH_SITES && truth_sites[i].name; i++)
                truth_sites[i].peak_bytes = truth_sites[i].live_bytes;
}

__attribute__((unused)) static void truth_got(const char *name, void *p, size_t size)
{
        struct truth_block *b;
        truth_lock();
        b = &truth_blocks[truth_find((uintptr_t)p)];
        if (b->address)
                truth_die("truth: the allocator gave out a live block\n");
        b->address = (uintptr_t)p;
        b->size = size;
        b->site = truth_site_find(name);
        truth_add(b->site, (int64_t)size);
        truth_add(&truth_total, (int64_t)size);
        truth_peak();
        truth_unlock();
        truth_last = (uintptr_t)p;
}

/* Returns the size that was asked for. */
__attribute__((unused)) static size_t truth_gone(void *p)
{
        unsigned i;
        struct truth_site *s;
        size_t size;
        int temporary = (uintptr_t)p == truth_last;
        truth_last = 0;
        if (!p)
                return 0;
        truth_lock();
        i = truth_find((uintptr_t)p);
        if (!truth_blocks[i].address)
                truth_die("truth: release of an unknown block\n");
        s = truth_blocks[i].site;
        size = truth_blocks[i].size;
        s->frees++, s->live_blocks--, s->live_bytes -= (int64_t)size;
        truth_total.frees++, truth_total.live_blocks--, truth_total.live_bytes -= (int64_t)size;
        if (temporary)
                s->temporary++, truth_total.temporary++;
        truth_remove(i);
        truth_unlock();
        return size;
}

#define TRUTH_GOT(p, size) truth_got(__func__, (p), (size))

/* Around the whole life of a block, for the upper bound of the peak. */
__attribute__((unused)) static void truth_want(size_t size)
{
        truth_lock();
        truth_high += (int64_t)size;
        if (truth_high > truth_high_peak)
                truth_high_peak = truth_high;
        truth_unlock();
}

__attribute__((unused)) static void truth_done(size_t size)
{
        truth_lock();
        truth_high -= (int64_t)size;
        truth_unlock();
}

__attribute__((unused)) static void truth_print(void)
{
        struct truth_site *t = &truth_total;
        truth_say("total allocs=%llu frees=%llu bytes=%llu live_blocks=%lld live_bytes=%lld "
                  "peak=%lld peak_blocks=%llu "
                  "temporary=%llu peak_high=%lld\n",
                  (unsigned long long)t->allocs, (unsigned long long)t->frees,
                  (unsigned long long)t->bytes, (long long)t->live_blocks, (long long)t->live_bytes,
                  (long long)t->peak_bytes, (unsigned long long)truth_peak_blocks,
                  (unsigned long long)t->temporary, (long long)truth_high_peak);
        for (struct truth_site *s = truth_sites; s < truth_sites + TRUTH_SITES && s->name; s++)
                truth_say("site %s allocs=%llu frees=%llu bytes=%llu live_blocks=%lld "
                          "live_bytes=%lld peak=%lld "
                          "temporary=%llu\n",
                          s->name, (unsigned long long)s->allocs, (unsigned long long)s->frees,
                          (unsigned long long)s->bytes, (long long)s->live_blocks,
                          (long long)s->live_bytes, (long long)s->peak_bytes,
                          (unsigned long long)s->temporary);
}

/* A line of the program's own output, compared between a bare run and a recorded one. */
__attribute__((format(printf, 1, 2), unused)) static void tell(const char *format, ...)
{
        char line[1024];
        va_list ap;
        int n, saved = errno;
        va_start(ap, format);
        n = vsnprintf(line, sizeof line, format, ap);
        va_end(ap);
        if (n > 0 && write(1, line, (size_t)n) < 0)
                truth_die("tell: cannot write\n");
        errno = saved;
}

#endif
