// SPDX-License-Identifier: MIT
/*
 * invalid.cpp -- every kind of invalid release, one after another, and the leaks behind them;
 * argv[1] names the case.
 *
 * Room:   tests only.  Where the allocator would end the program, only a tool that keeps it going
 *         sees what follows.
 */
#include "truth.h"

#include <cstdlib>
#include <dlfcn.h>
#include <malloc.h>
#include <new>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define SHOP __attribute__((noinline)) static void *
#define BIN __attribute__((noinline)) static void

SHOP by_malloc(size_t size) { return malloc(size); }
SHOP by_new(size_t size) { return ::operator new(size); }
SHOP by_array(size_t size) { return ::operator new[](size); }
SHOP by_new_64(size_t size) { return ::operator new(size, std::align_val_t(64)); }
SHOP by_array_64(size_t size) { return ::operator new[](size, std::align_val_t(64)); }
SHOP by_aligned_alloc(size_t size) { return aligned_alloc(64, size); }
SHOP lost(size_t size) { return malloc(size); }

BIN to_free(void *p) { free(p); }
BIN to_delete(void *p) { ::operator delete(p); }
BIN to_array(void *p) { ::operator delete[](p); }
BIN to_sized(void *p, size_t size) { ::operator delete(p, size); }
BIN to_array_sized(void *p, size_t size) { ::operator delete[](p, size); }
BIN to_aligned(void *p, size_t by) { ::operator delete(p, std::align_val_t(by)); }
BIN to_array_aligned(void *p, size_t by) { ::operator delete[](p, std::align_val_t(by)); }
BIN to_sized_aligned(void *p, size_t size, size_t by)
{
        ::operator delete(p, size, std::align_val_t(by));
}
BIN to_realloc(void *p) { tell("realloc %s\n", realloc(p, 100) ? "gave a block" : "failed"); }
BIN first(void *p) { free(p); }
BIN second(void *p) { free(p); }

static char *volatile keep;

/* One block, released N bytes behind its start. */
static void offset(int n, const char *by)
{
        keep = (char *)by_malloc(100);
        if (!strcmp(by, "delete[]"))
                to_array(keep + n);
        else if (!strcmp(by, "realloc"))
                to_realloc(keep + n);
        else
                to_free(keep + n);
}

/* A block is freed, its address handed out again, and the old pointer freed once more. */
static void again()
{
        char *p = (char *)by_malloc(48), *q;
        first(p);
        q = (char *)by_malloc(48);
        strcpy(q, "innocent");
        tell("%s\n", q == p ? "handed out again" : "kept back");
        second(p);
        tell("%s\n", q);
        to_free(q);
}

/* The same when realloc to size 0 was the first release. */
static void emptied()
{
        char *p = (char *)by_malloc(48), *q;
        if (realloc(p, 0))
                return;
        q = (char *)by_malloc(48);
        strcpy(q, "innocent");
        second(p);
        tell("%s\n", q);
        to_free(q);
}

/* The old pointer of a realloc that moved. */
static void stale()
{
        char *p = (char *)by_malloc(40), *wall = (char *)by_malloc(40),
             *q = (char *)realloc(p, 4000);
        strcpy(q, "moved");
        void *again = by_malloc(40);
        second(p);
        tell("%s\n", q);
        to_free(q);
        to_free(wall);
        to_free(again);
}

/* The kinds of Memcheck's manual, with what follows them. */
static void all()
{
        static char data[64];
        char local[64];
        char *p = (char *)by_malloc(100);

        to_free(p + 16);
        to_free(data + 16);
        to_free(local + 16);
        to_free((void *)0x1230);
        first(p);
        second(p);
        to_realloc(p);
        to_delete(p = (char *)by_malloc(10));
        to_array(p = (char *)by_new(11));
        to_free(p = (char *)by_array(12));
        to_sized(p = (char *)by_new(124), 4);
        to_delete(p = (char *)by_new_64(13));
        keep = nullptr;
        for (int i = 0; i < 7; i++)
                lost(33);
        p = nullptr;
        tell("end\n");
}

struct B {
        int i;
};
struct D : B {
        char more[120];
};

__attribute__((noinline)) static B *make_d() { return new D; }
__attribute__((noinline)) static void drop_b(B *b) { delete b; }

/* name, how it was made, how it is released; each tells whether that fits */
static void sizes()
{
        drop_b(make_d());
        to_sized(by_new(33), 33);
        to_sized(by_new(34), 35);
        to_array_sized(by_array(36), 36);
        to_array_sized(by_array(37), 1);
        to_aligned(by_new_64(40), 64);
        to_aligned(by_new_64(41), 32);
        to_delete(by_new_64(42));
        to_aligned(by_new(43), 64);
        to_array_aligned(by_array_64(44), 64);
        to_array_aligned(by_array_64(45), 128);
        to_array(by_array_64(46));
        to_sized_aligned(by_new_64(47), 47, 64);
        to_sized_aligned(by_new_64(48), 47, 64);
        to_free(by_aligned_alloc(64));
        to_free(by_new_64(49));
}

/* The same place with every alignment, and the right and the wrong release of each. */
static void alignments()
{
        for (size_t by = 1; by <= 65536; by *= 2) {
                void *p = ::operator new(64, std::align_val_t(by));
                to_aligned(p, by);
        }
        for (size_t by = 32; by <= 4096; by *= 2) {
                void *p = ::operator new(64, std::align_val_t(by));
                to_aligned(p, by / 2);
        }
}

/* Freed memory still has the pointers of its last owner, and so has the block that is made of
 * it. */
static void hidden()
{
        void *volatile *table = (void *volatile *)by_malloc(256);
        for (int i = 0; i < 30; i++)
                table[i] = lost(50);
        to_free((void *)table);
        keep = (char *)by_malloc(256); /* and never written */
}

/* The same in a table that has a mapping of its own. */
static void mapped()
{
        void *volatile *table = (void *volatile *)by_malloc(1 << 20);
        for (int i = 0; i < 30; i++)
                table[1000 * i] = lost(50);
        to_free((void *)table);
}

/* Some programs ask how much they got, and use it. */
static void usable()
{
        char *p = (char *)by_malloc(37);
        size_t all = malloc_usable_size(p);
        int wrong = 0;

        memset(p, 9, all);
        p = (char *)realloc(p, 1000);
        for (size_t i = 0; i < all; i++)
                wrong += p[i] != 9;
        tell("wrong %d\n", wrong);
        to_free(p);
}

/* What is in memory that nobody has written: 1 for each byte that is not as argv[2] says. */
static void fresh(const char *byte)
{
        unsigned char want = (unsigned char)strtol(byte, nullptr, 0);
        unsigned char *p = (unsigned char *)by_malloc(1000), *q = (unsigned char *)calloc(1, 1000);
        int wrong = 0, zero = 0, kept = 0;

        for (int i = 0; i < 1000; i++)
                wrong += p[i] != want, zero += q[i] != 0;
        memset(p, 7, 1000);
        p = (unsigned char *)realloc(p, 3000);
        for (int i = 0; i < 1000; i++)
                kept += p[i] != 7;
        for (int i = 1000; i < 3000; i++)
                wrong += p[i] != want;
        tell("wrong %d zero %d kept %d\n", wrong, zero, kept);
}

static void *churn(void *)
{
        void *held[64] = {};
        for (int i = 0; i < 20000; i++) {
                void *&p = held[(i * 7919) % 64];
                free(p);
                p = malloc(16 + i % 300);
                memset(p, i, 16 + i % 300);
                if (i % 16 == 0)
                        p = realloc(p, 400);
        }
        for (void *p : held)
                free(p);
        return nullptr;
}

/* Nothing is wrong here, in four threads. */
static void threads()
{
        pthread_t t[4];
        for (auto &one : t)
                pthread_create(&one, nullptr, churn, nullptr);
        for (auto &one : t)
                pthread_join(one, nullptr);
}

/* A library that is bound to the C library before all others: both free what the other made. */
static void deepbind(const char *path)
{
        void *library = dlopen(path, RTLD_NOW | RTLD_DEEPBIND);
        auto make = (void *(*)(size_t))dlsym(library, "plug_make");
        auto drop = (void (*)(void *))dlsym(library, "plug_drop");
        void *volatile mine[8];

        for (int round = 0; round < 10; round++) {
                to_free(make(100));
                for (auto &m : mine)
                        m = by_malloc(64);
                for (auto &m : mine)
                        drop((void *)m);
        }
        for (auto &m : mine)
                m = nullptr;
        tell("end\n");
}

/* The allocator called past every tool, by its own name. */
static void past()
{
        auto real_free = (void (*)(void *))dlsym(dlopen("libc.so.6", RTLD_NOW), "free");
        auto real_malloc = (void *(*)(size_t))dlsym(dlopen("libc.so.6", RTLD_NOW), "malloc");

        for (int round = 0; round < 10; round++) {
                char *p = (char *)by_malloc(5000 + (size_t)round);
                real_free(p);
                p = (char *)real_malloc(200);
                to_free(p);
                p = (char *)by_malloc(5000);
                to_free(p);
        }
        tell("end\n");
}

/* Freed past every tool and never handed out again: they wait in caches and bins, or are not mapped
 * any more.  LOST_COUNT blocks of another place are lost. */
static void freed_past(int lost_count)
{
        static const size_t sizes[] = { 24, 60, 700, 5000, 300000 };
        auto real_free = (void (*)(void *))dlsym(dlopen("libc.so.6", RTLD_NOW), "free");
        void *held[15];

        while (lost_count--)
                lost(33);
        for (int i = 0; i < 15; i++)
                held[i] = by_malloc(sizes[i % 5]);
        for (auto &p : held) {
                real_free(p);
                p = nullptr;
        }
        tell("end\n");
}

extern "C" void *__libc_malloc(size_t);

/* The same without anything that we have seen before. */
static void first_past()
{
        void *held[20];
        for (auto &p : held)
                p = __libc_malloc(300);
        for (auto &p : held)
                to_free(p);
        tell("end\n");
}

/* Libraries with operators of their own come and go. */
static void plugin(const char *path)
{
        for (int i = 0; i < 3; i++) {
                void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
                ((void (*)())dlsym(library, "plug_work"))();
                dlclose(library);
                for (int k = 0; k < 1000; k++)
                        to_free(by_malloc(100));
        }
        tell("end\n");
}

static void *slots[512];
static volatile int churning = 1;

static void *churn_slots(void *)
{
        for (unsigned i = 0; churning; i++) {
                free(slots[i * 7919 % 512]);
                slots[i * 7919 % 512] = malloc(16 + i % 100);
        }
        return nullptr;
}

/* Children are forked while another thread is at work, and do nothing. */
static void forked()
{
        pthread_t t;
        pthread_create(&t, nullptr, churn_slots, nullptr);
        for (int i = 0; i < 5; i++) {
                int status;
                pid_t child = fork();
                if (child == 0)
                        _exit(0);
                waitpid(child, &status, 0);
        }
        churning = 0;
        pthread_join(t, nullptr);
        tell("end\n");
}

/* Each of N blocks is freed twice. */
static void many(int n)
{
        void **held = (void **)by_malloc((size_t)n * sizeof *held);
        for (int i = 0; i < n; i++)
                held[i] = by_malloc(40);
        for (int i = 0; i < n; i++)
                first(held[i]);
        for (int i = 0; i < n; i++)
                second(held[i]);
        to_free(held);
        tell("end\n");
}

/* As much as there may be, again and again. */
static void tight()
{
        struct rlimit limit = { 700u << 20, 700u << 20 };
        setrlimit(RLIMIT_AS, &limit);
        for (int round = 0; round < 5; round++) {
                void *held[64];
                int got = 0;
                for (auto &p : held)
                        got += (p = by_malloc(4u << 20)) != nullptr;
                for (auto &p : held)
                        to_free(p);
                if (got != 64)
                        tell("no memory\n");
        }
        tell("end\n");
}

int main(int argc, char **argv)
{
        const char *which = argc > 1 ? argv[1] : "", *more = argc > 2 ? argv[2] : "0";

        setvbuf(stdout, nullptr, _IONBF, 0);
        if (!strcmp(which, "offset"))
                offset(atoi(more), argc > 3 ? argv[3] : "free");
        else if (!strcmp(which, "again"))
                again();
        else if (!strcmp(which, "emptied"))
                emptied();
        else if (!strcmp(which, "stale"))
                stale();
        else if (!strcmp(which, "all"))
                all();
        else if (!strcmp(which, "sizes"))
                sizes();
        else if (!strcmp(which, "alignments"))
                alignments();
        else if (!strcmp(which, "hidden"))
                hidden();
        else if (!strcmp(which, "mapped"))
                mapped();
        else if (!strcmp(which, "usable"))
                usable();
        else if (!strcmp(which, "fresh"))
                fresh(more);
        else if (!strcmp(which, "threads"))
                threads();
        else if (!strcmp(which, "first_past"))
                first_past();
        else if (!strcmp(which, "plugin"))
                plugin(more);
        else if (!strcmp(which, "forked"))
                forked();
        else if (!strcmp(which, "many"))
                many(atoi(more));
        else if (!strcmp(which, "tight"))
                tight();
        else if (!strcmp(which, "deepbind"))
                deepbind(more);
        else if (!strcmp(which, "past"))
                past();
        else if (!strcmp(which, "freed_past"))
                freed_past(atoi(more));
        return 0;
}
