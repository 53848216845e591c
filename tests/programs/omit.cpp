/* SPDX-License-Identifier: MIT */
/*
 * omit.cpp -- a program and a library that allocate, release and resize each other's blocks; the
 * account of both.
 *
 * Room:   tests only.  argv[1]: omit_library.c; argv[2]: what to do.
 * Tells:  the program's sites, and facts: library_allocs, library_bytes, library_maps,
 *         library_map_bytes, maps, map_bytes.
 */
#include "truth.h"

#include <new>

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define PAGE 4096u
#define ALONE __attribute__((noinline))

static void *(*library_make)(size_t);
static void *(*library_resize)(void *, size_t);
static void (*library_drop)(void *);
static void *(*library_map)(void *, size_t);
static void *(*library_remap)(void *, size_t, size_t);
static void (*library_unmap)(void *, size_t);

static unsigned long library_allocs, library_bytes, library_maps, library_map_bytes, maps,
        map_bytes;

static void load(const char *path)
{
        void *library = dlopen(path, RTLD_NOW);
        if (!library)
                truth_die("omit: cannot load the library\n");
        library_make = (void *(*)(size_t))dlsym(library, "library_make");
        library_resize = (void *(*)(void *, size_t))dlsym(library, "library_resize");
        library_drop = (void (*)(void *))dlsym(library, "library_drop");
        library_map = (void *(*)(void *, size_t))dlsym(library, "library_map");
        library_remap = (void *(*)(void *, size_t, size_t))dlsym(library, "library_remap");
        library_unmap = (void (*)(void *, size_t))dlsym(library, "library_unmap");
}

static void library_got(size_t size)
{
        __atomic_add_fetch(&library_allocs, 1, __ATOMIC_RELAXED);
        __atomic_add_fetch(&library_bytes, size, __ATOMIC_RELAXED);
}

/* ---- the library's blocks ---- */

static void *theirs(size_t size)
{
        void *p = library_make(size);
        library_got(size);
        return p;
}

static void *theirs_resized(void *old, size_t size)
{
        void *p = library_resize(old, size);
        library_got(size);
        return p;
}

static void *their_map(void *at, size_t pages)
{
        void *p = library_map(at, pages * PAGE);
        library_maps++;
        library_map_bytes += pages * PAGE;
        return p;
}

/* ---- the program's ---- */

ALONE static void *by_malloc(size_t size) { void *p = malloc(size); TRUTH_GOT(p, size); return p; }
ALONE static void *by_new(size_t size)
{
        void *p = ::operator new(size);
        TRUTH_GOT(p, size);
        return p;
}
ALONE static char *by_array(size_t size) { char *p = new char[size]; TRUTH_GOT(p, size); return p; }

ALONE static void *by_realloc(void *old, size_t size)
{
        void *p = realloc(old, size);
        TRUTH_GOT(p, size);
        return p;
}

static void drop(void *p)
{
        truth_gone(p);
        free(p);
}

ALONE static void *by_mmap(size_t pages)
{
        void *p = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                       0);
        maps++;
        map_bytes += pages * PAGE;
        return p;
}

static void tell_all(void)
{
        truth_say("fact library_allocs=%lu library_bytes=%lu library_maps=%lu "
                  "library_map_bytes=%lu maps=%lu map_bytes=%lu\n",
                  library_allocs, library_bytes, library_maps, library_map_bytes, maps, map_bytes);
        truth_print();
}

/* ---- what is done ---- */

static void *kept[64];

static void blocks_of_both(int rounds)
{
        for (int i = 0; i < rounds; i++) {
                void *mine = by_malloc(100 + (size_t)i), *their = theirs(3000 + (size_t)i),
                     *other = by_new(50);
                char *array = by_array(60);

                free(their); /* released by the other side: no error */
                truth_gone(mine);
                library_drop(mine);
                truth_gone(other);
                ::operator delete(other);
                if (i % 2) {
                        truth_gone(array);
                        delete[] array;
                }
                library_drop(theirs(77));
                if (i < 4)
                        kept[i] = theirs(5000);
        }
}

static void resizes_across(void)
{
        void *p = theirs(64), *mine = by_malloc(300), *stays = theirs(128);

        memset(p, 'p', 64);
        p = by_realloc(p, 20000); /* the program's from now on */
        if (((char *)p)[63] != 'p')
                truth_die("omit: realloc lost bytes\n");
        memset(mine, 'm', 300);
        truth_gone(mine);
        mine = theirs_resized(mine, 40000); /* and the library's */
        if (((char *)mine)[299] != 'm')
                truth_die("omit: realloc lost bytes\n");
        if (realloc(stays, (size_t)1 << 62) || library_resize(stays, (size_t)1 << 62))
                truth_die("omit: so much memory\n");
        free(stays); /* it was there all the time */
        free(mine);
        kept[10] = p;
        kept[11] = theirs_resized(theirs_resized(theirs(10), 1000), 100000);
        free(theirs_resized(NULL, 33));
}

static void mappings_of_both(void)
{
        char *mine = (char *)by_mmap(10), *gone = (char *)by_mmap(5),
             *their = (char *)their_map(NULL, 7), *moved = (char *)by_mmap(3);

        library_unmap(gone, 5 * PAGE);
        munmap(their, 7 * PAGE);
        their_map(mine + 4 * PAGE, 2); /* in the middle of ours: that part is the library's now */
        library_remap(moved, 3 * PAGE, 30 * PAGE);
        library_maps++;
        library_map_bytes += 30 * PAGE;
        truth_say("fact live_map_bytes=%u\n", (10 - 2) * PAGE);
}

static void numbers(void)
{
        blocks_of_both(20);
        resizes_across();
        mappings_of_both();
        tell_all();
}

static void *work(void *)
{
        blocks_of_both(200);
        return NULL;
}

static void threads(void)
{
        pthread_t t[4];
        for (pthread_t &one : t)
                pthread_create(&one, NULL, work, NULL);
        for (pthread_t &one : t)
                pthread_join(one, NULL);
        tell_all();
}

static void forks(void)
{
        blocks_of_both(5);
        if (fork() == 0) {
                blocks_of_both(5);
                tell_all();
                _exit(0);
        }
        wait(NULL);
}

/* ---- leaks ---- */

static void *anchor;

ALONE static void *held(void) { void *p = malloc(1111); memset(p, 0, 1111); return p; }
ALONE static void *doubtful(void) { void *p = malloc(4444); memset(p, 0, 4444); return p; }
ALONE static void *lost(void) { void *p = malloc(2222); memset(p, 0, 2222); return p; }
ALONE static void *lost_with_it(void) { void *p = malloc(3333); memset(p, 0, 3333); return p; }

ALONE static void *their_block(size_t size)
{
        void *p = library_make(size);
        memset(p, 0, size);
        return p;
}

ALONE static void make_leaks(void)
{
        void **holder = (void **)their_block(500), **lost_holder = (void **)their_block(600),
             **gone = (void **)lost();
        void **map = (void **)library_map(NULL, PAGE);

        holder[3] = held();
        anchor = holder;
        /* nobody holds the library's block, of which nothing is known */
        lost_holder[3] = doubtful();
        map[3] = held();
        gone[3] = lost_with_it();
        their_block(700);
}

ALONE static void clear_stack(void)
{
        volatile char dead[65536];
        for (char volatile &c : dead)
                c = 0;
}

static void leaks(void)
{
        make_leaks();
        clear_stack();
}

static void limited(void)
{
        tell("library %s\n", library_make(4u << 20) ? "memory" : "none");
        tell("program %s\n", malloc(4u << 20) ? "memory" : "none");
        tell("new %s\n", ::operator new(4u << 20, std::nothrow) ? "memory" : "none");
}

static void much(void)
{
        for (int i = 0; i < 10000; i++)
                memset(theirs(2000), 1, 2000);
        tell_all();
}

int main(int argc, char **argv)
{
        static const struct { const char *name; void (*run)(void);
        } all[] = {
                { "numbers", numbers }, { "threads", threads }, { "forks", forks },
                { "leaks", leaks },     { "limited", limited }, { "much", much },
        };
        if (argc < 3)
                truth_die("omit: LIBRARY WHAT\n");
        load(argv[1]);
        for (auto &one : all)
                if (!strcmp(one.name, argv[2])) {
                        one.run();
                        return 0;
                }
        truth_die("omit: do what?\n");
        return 1;
}
