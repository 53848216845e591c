// SPDX-License-Identifier: MIT
/*
 * results.cpp -- everything a caller can see of the allocation functions, printed; the output must
 * not change under the tool.
 *
 * Room:   tests only.
 */
#include "truth.h"

#include <csetjmp>
#include <cstdlib>
#include <malloc.h>
#include <new>
#include <sys/mman.h>

static void *(*volatile do_malloc)(size_t) = malloc;
static void *(*volatile do_calloc)(size_t, size_t) = calloc;
static void *(*volatile do_realloc)(void *, size_t) = realloc;
static void *(*volatile do_reallocarray)(void *, size_t, size_t) = reallocarray;
static void *(*volatile do_aligned_alloc)(size_t, size_t) = aligned_alloc;
static void *(*volatile do_memalign)(size_t, size_t) = memalign;
static void *(*volatile do_valloc)(size_t) = valloc;
static void *(*volatile do_pvalloc)(size_t) = pvalloc;
static int (*volatile do_posix_memalign)(void **, size_t, size_t) = posix_memalign;
static void (*volatile do_free)(void *) = free;

#define SEE(what)                                                                       \
        do {                                                                            \
                errno = 77;                                                             \
                void *seen = (void *)(what);                                            \
                int e = errno;                                                          \
                tell("%-60s null=%d errno=%d align16=%zu\n", #what, seen == nullptr, e, \
                     (size_t)seen % 16);                                                \
                errno = 77;                                                             \
                do_free(seen);                                                          \
                tell("  free: errno=%d\n", errno);                                      \
        } while (0)

static const size_t huge = (size_t)1 << 60;

static void c_results()
{
        SEE(do_malloc(0));
        SEE(do_malloc(1));
        SEE(do_malloc(1 << 20));
        SEE(do_malloc(huge));
        SEE(do_malloc(~(size_t)0));
        SEE(do_calloc(0, 0));
        SEE(do_calloc(10, 10));
        SEE(do_calloc(huge, 16));
        SEE(do_calloc(~(size_t)0, ~(size_t)0));
        SEE(do_calloc((size_t)1 << 32, (size_t)1 << 32));
        SEE(do_realloc(nullptr, 0));
        SEE(do_realloc(nullptr, huge));
        SEE(do_reallocarray(nullptr, huge, 16));
        SEE(do_reallocarray(nullptr, 0, 5));
        SEE(do_aligned_alloc(64, 128));
        SEE(do_aligned_alloc(3, 128));
        SEE(do_aligned_alloc(64, huge));
        SEE(do_memalign(32, 100));
        SEE(do_memalign(48, 100));
        SEE(do_memalign(64, huge));
        SEE(do_memalign((size_t)1 << 63, 1));
        SEE(do_valloc(100));
        SEE(do_valloc(huge));
        SEE(do_pvalloc(0));
        SEE(do_pvalloc(~(size_t)0));
}

static void memalign_results()
{
        static const size_t aligns[] = {0, 1, 4, 7, 8, 16, 24, 4096, 65536};
        for (size_t align : aligns) {
                void *p = (void *)5;
                errno = 77;
                int r = do_posix_memalign(&p, align, 10);
                tell("posix_memalign %zu: %d errno=%d untouched=%d\n", align, r, errno,
                     p == (void *)5);
                if (!r)
                        do_free(p);
        }
        void *p = (void *)5;
        errno = 77;
        int r = do_posix_memalign(&p, 64, huge);
        tell("posix_memalign huge: %d errno=%d untouched=%d\n", r, errno, p == (void *)5);
}

static void contents()
{
        unsigned char *p = (unsigned char *)do_calloc(1000, 7), *q;
        unsigned sum = 0;
        for (int i = 0; i < 7000; i++)
                sum += p[i];
        tell("calloc is zero: %u\n", sum);
        memset(p, 0xa5, 7000);
        do_free(p);
        p = (unsigned char *)do_calloc(1000, 7);
        for (int i = 0; i < 7000; i++)
                sum += p[i];
        tell("calloc of used memory is zero: %u\n", sum);
        memset(p, 0x11, 7000);
        q = (unsigned char *)do_realloc(p, 700000);
        for (int i = 0; i < 7000; i++)
                sum += q[i];
        tell("realloc keeps: %u\n", sum);
        do_free(q);
}

static void libc_results()
{
        char *s;
        int n = asprintf(&s, "%d", 12345);
        tell("asprintf: %d %s\n", n, s);
        free(s);
        s = strndup("hello world", 3);
        tell("strndup: %s\n", s);
        free(s);
        s = strdup("hello");
        tell("strdup: %s %zu\n", s, malloc_usable_size(s));
        free(s);
}

static int handler_calls;
static jmp_buf out;

static void handler_giving_up()
{
        if (++handler_calls == 3)
                std::set_new_handler(nullptr);
}

static void handler_throwing()
{
        handler_calls++;
        throw 42;
}

static void handler_jumping()
{
        handler_calls++;
        longjmp(out, 1);
}

static const size_t too_much = (size_t)1 << 46 << 8;

static void throwing()
{
        try {
                tell("new: %d\n", ::operator new(too_much) != nullptr);
        } catch (const std::bad_alloc &e) {
                tell("new: %s\n", e.what());
        }
        try {
                /* as many as there may be; with words of 4 bytes these may be there, or not */
                volatile size_t count = sizeof count == 8 ? ~(size_t)0 / 2 : ~(size_t)0;
                char *p = new char[count];
                tell("new[]: %d\n", p != nullptr);
        } catch (const std::bad_alloc &e) {
                tell("new[]: %s\n", e.what());
        }
        try {
                tell("aligned: %d\n", ::operator new(too_much, std::align_val_t(64)) != nullptr);
        } catch (const std::bad_alloc &e) {
                tell("aligned: %s\n", e.what());
        }
        tell("nothrow: %d\n", ::operator new(too_much, std::nothrow) != nullptr);
        tell("nothrow[]: %d\n", ::operator new[](too_much, std::nothrow) != nullptr);
        tell("aligned nothrow: %d\n",
             ::operator new(too_much, std::align_val_t(64), std::nothrow) != nullptr);
}

static void handlers()
{
        std::set_new_handler(handler_giving_up);
        try {
                ::operator delete(::operator new(too_much));
        } catch (const std::bad_alloc &) {
                tell("handler called %d times, then bad_alloc\n", handler_calls);
        }
        handler_calls = 0;
        std::set_new_handler(handler_throwing);
        try {
                ::operator delete[](::operator new[](too_much));
        } catch (int n) {
                tell("handler called %d times, threw %d\n", handler_calls, n);
        }
        tell("nothrow with a throwing handler: ");
        try {
                tell("null=%d\n", ::operator new(too_much, std::nothrow) == nullptr);
        } catch (int n) {
                tell("threw %d\n", n);
        }
        handler_calls = 0;
        std::set_new_handler(handler_jumping);
        if (!setjmp(out))
                ::operator delete(::operator new(too_much));
        tell("handler called %d times, jumped\n", handler_calls);
        std::set_new_handler(nullptr);
}

static void mapping_results()
{
        errno = 77;
        void *p = mmap(nullptr, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        tell("mmap of nothing: failed=%d errno=%d\n", p == MAP_FAILED, errno);
        errno = 77;
        p = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, 999, 0);
        tell("mmap of a closed descriptor: failed=%d errno=%d\n", p == MAP_FAILED, errno);
        errno = 77;
        p = mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        tell("mmap: failed=%d errno=%d %d\n", p == MAP_FAILED, errno, *(char *)p);
        errno = 77;
        int r = munmap((char *)p + 1, 4096);
        tell("munmap of an odd address: %d errno=%d\n", r, errno);
        errno = 77;
        void *q = mremap(p, 8192, 1ul << 60, MREMAP_MAYMOVE);
        tell("mremap to too much: failed=%d errno=%d\n", q == MAP_FAILED, errno);
        errno = 77;
        q = mremap(p, 8192, 1 << 20, MREMAP_MAYMOVE);
        tell("mremap: failed=%d errno=%d\n", q == MAP_FAILED, errno);
        errno = 77;
        r = munmap(q, 1 << 20);
        tell("munmap: %d errno=%d\n", r, errno);
}

int main()
{
        c_results();
        memalign_results();
        contents();
        libc_results();
        throwing();
        handlers();
        throwing();
        mapping_results();
}
