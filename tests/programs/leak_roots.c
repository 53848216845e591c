/* SPDX-License-Identifier: MIT */
/*
 * leak_roots.c -- blocks that are held from every kind of place, and from places that do not count.
 *
 * Room:   tests only.  See leak.h.  Linked with leak_lib.c; LEAK_FOLDER in the environment has it
 *         as libleak_plugin.so, libleak_initial.so and libleak_passing.so too.
 */
#include "leak.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "seep.h"

#ifndef SYS_mmap
#define SYS_mmap SYS_mmap2 /* arm: the offset is in pages */
#endif

typedef void *volatile place;

extern place *leak_lib_place(const char *name);

/* ---- variables ---- */

place global_pointer;
place data_pointer = (void *)&data_pointer;
static place static_pointer;
static place pointers[1000];
static struct {
        char before[100000];
        place pointer;
} large;
static __thread place tls_pointer, tls_filled = (void *)&large;

MAKER(in_global)
MAKER(in_data)
MAKER(in_static)
MAKER(in_function_static)
MAKER(in_array)
MAKER(in_large)
MAKER(in_tls)

static void variables(void)
{
        static place function_static;
        global_pointer = in_global(REACHABLE, 2001);
        data_pointer = in_data(REACHABLE, 2003);
        static_pointer = in_static(REACHABLE, 2005);
        function_static = in_function_static(REACHABLE, 2007);
        __asm__ volatile("" : : "r"(&function_static));
        pointers[0] = in_array(REACHABLE, 2009);
        pointers[999] = in_array(REACHABLE, 2010);
        large.pointer = in_large(REACHABLE, 2011);
        tls_pointer = in_tls(REACHABLE, 2013);
        tls_filled = in_tls(REACHABLE, 2015);
}

MAKER(in_library)
MAKER(in_library_tls)

static void library(void)
{
        *leak_lib_place("bss") = in_library(REACHABLE, 2021);
        *leak_lib_place("data") = in_library(REACHABLE, 2022);
        *leak_lib_place("static") = in_library(REACHABLE, 2023);
        *leak_lib_place("tls") = in_library_tls(REACHABLE, 2024);
        *leak_lib_place("filled") = in_library_tls(REACHABLE, 2025);
        *leak_lib_place("initial") = in_library_tls(REACHABLE, 2026);
        *leak_lib_place("aligned") = in_library_tls(REACHABLE, 2027);
}

/* HANDLE is for dlclose. */
static place *(*load(const char *name, void **handle))(const char *)
{
        char path[4096];
        place *(*found)(const char *);
        snprintf(path, sizeof path, "%s/%s", getenv("LEAK_FOLDER"), name);
        *handle = dlopen(path, RTLD_NOW);
        if (!*handle)
                truth_die("leak_roots: no plugin\n");
        *(void **)&found = dlsym(*handle, "leak_lib_place");
        return found;
}

MAKER(in_plugin)
MAKER(in_plugin_tls)
MAKER(in_initial_plugin)
MAKER(in_closed)

static void plugin(void)
{
        void *handle;
        place *(*at)(const char *) = load("libleak_plugin.so", &handle);
        *at("bss") = in_plugin(REACHABLE, 2031);
        *at("data") = in_plugin(REACHABLE, 2032);
        *at("static") = in_plugin(REACHABLE, 2033);
        *at("tls") = in_plugin_tls(REACHABLE, 2034);
        *at("filled") = in_plugin_tls(REACHABLE, 2035);
        *at("aligned") = in_plugin_tls(REACHABLE, 2037);
        at = load("libleak_initial.so", &handle);
        *at("bss") = in_initial_plugin(REACHABLE, 2038);
        *at("tls") = in_initial_plugin(REACHABLE, 2039);
        *at("initial") = in_initial_plugin(REACHABLE, 2040);
}

static void closed(void)
{
        void *handle;
        place *(*at)(const char *) = load("libleak_passing.so", &handle);
        *at("bss") = in_closed(DEFINITE, 2041);
        if (dlclose(handle))
                truth_die("leak_roots: not closed\n");
}

MAKER(first_key)
MAKER(late_key)

/* From the 33rd key on the values are in a block of libc's own. */
static void keys(void)
{
        pthread_key_t key[40];
        for (int i = 0; i < 40; i++)
                if (pthread_key_create(&key[i], NULL))
                        truth_die("leak_roots: no key\n");
        pthread_setspecific(key[0], first_key(REACHABLE, 2051));
        pthread_setspecific(key[39], late_key(REACHABLE, 2053));
}

/* ---- mappings ---- */

static place *map(size_t bytes, int flags, int fd)
{
        place *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
        if (p == MAP_FAILED)
                truth_die("leak_roots: no mapping\n");
        return p;
}

static int file_of(size_t bytes)
{
        char name[] = "/tmp/leak_roots.XXXXXX";
        int fd = mkstemp(name);
        if (fd < 0 || unlink(name) || ftruncate(fd, (off_t)bytes))
                truth_die("leak_roots: no file\n");
        return fd;
}

static int memory_file(size_t bytes)
{
        int fd = memfd_create("leak", 0);
        if (fd < 0 || ftruncate(fd, (off_t)bytes))
                truth_die("leak_roots: no memory file\n");
        return fd;
}

MAKER(in_anonymous)
MAKER(in_shared)
MAKER(in_private_file)
MAKER(in_shared_file)
MAKER(in_moved)
MAKER(in_unmapped)
MAKER(in_raw_mapping)
MAKER(above_guard)
MAKER(in_memfd)

static void mappings(void)
{
        place *p = map(8 * 4096, MAP_PRIVATE | MAP_ANONYMOUS, -1);
        p[4000] = in_anonymous(REACHABLE, 2101);
        p = map(4096, MAP_SHARED | MAP_ANONYMOUS, -1);
        p[1] = in_shared(REACHABLE, 2103);
        p = map(8192, MAP_PRIVATE, file_of(8192));
        p[600] = in_private_file(REACHABLE, 2105);
        p = map(8192, MAP_SHARED, file_of(8192));
        p[600] = in_shared_file(REACHABLE, 2107);
        p = map(4096, MAP_SHARED, memory_file(4096));
        p[3] = in_memfd(REACHABLE, 2109);
        p = map(4096, MAP_PRIVATE | MAP_ANONYMOUS, -1);
        p[500] = in_moved(REACHABLE, 2111);
        map(4096, MAP_PRIVATE | MAP_ANONYMOUS, -1);
        if (mremap((void *)p, 4096, 64 * 4096, MREMAP_MAYMOVE) == MAP_FAILED)
                truth_die("leak_roots: not moved\n");
        p = map(4096, MAP_PRIVATE | MAP_ANONYMOUS, -1);
        p[8] = in_unmapped(DEFINITE, 2113);
        munmap((void *)p, 4096);
        p = (place *)syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        p[8] = in_raw_mapping(REACHABLE, 2115);
        p = (place *)syscall(SYS_mmap, NULL, 2 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                             0);
        /* as the stack of a thread lies above its guard page, but it is none */
        p += 4096 / sizeof *p;
        if (mprotect((void *)p, 4096, PROT_READ | PROT_WRITE))
                truth_die("leak_roots: not opened\n");
        p[8] = above_guard(REACHABLE, 2119);
}

MAKER(in_shm)

static void shm(void)
{
        int id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
        place *p = id < 0 ? (place *)-1 : shmat(id, NULL, 0);
        if (id < 0 || shmctl(id, IPC_RMID, NULL) || p == (place *)-1)
                truth_die("leak_roots: no shared memory\n");
        p[9] = in_shm(REACHABLE, 2117);
}

MAKER(in_dontfork)
MAKER(in_wipeonfork)

/* A copy of the process would not have these. */
static void not_for_children(void)
{
        place *p = map(4096, MAP_PRIVATE | MAP_ANONYMOUS, -1),
              *q = map(4096, MAP_PRIVATE | MAP_ANONYMOUS, -1);
        if (madvise((void *)p, 4096, MADV_DONTFORK) || madvise((void *)q, 4096, MADV_WIPEONFORK))
                truth_die("leak_roots: no advice\n");
        p[5] = in_dontfork(REACHABLE, 2121);
        q[5] = in_wipeonfork(REACHABLE, 2123);
}

MAKER(in_sparse)

/* 64 GiB, two pages of them used. */
static void sparse(void)
{
        size_t bytes = (size_t)64 << 30;
        place *p = map(bytes, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
        p[0] = in_sparse(REACHABLE, 2125);
        p[bytes / sizeof *p - 1] = in_sparse(REACHABLE, 2127);
}

MAKER(in_sealed)
MAKER(in_closed_mapping)

/* Written, and protected since: as long as it can be read, what it holds can be freed. */
static void sealed(void)
{
        place *p = map(8192, MAP_PRIVATE | MAP_ANONYMOUS, -1);
        p[600] = in_sealed(REACHABLE, 2133);
        p[7] = in_closed_mapping(DEFINITE, 2135);
        if (mprotect((void *)p, 4096, PROT_NONE) ||
            mprotect((void *)(p + 4096 / sizeof *p), 4096, PROT_READ))
                truth_die("leak_roots: not protected\n");
}

MAKER(in_given_root)

/* Of a file, memory that can only be read is not searched, unless the program says so. */
static void given(void)
{
        place *p = map(4096, MAP_PRIVATE, file_of(4096));
        p[7] = in_given_root(REACHABLE, 2131);
        SEEP_ROOT((void *)p, 4096);
        if (mprotect((void *)p, 4096, PROT_READ))
                truth_die("leak_roots: not protected\n");
}

/* ---- libc ---- */

MAKER(in_environment)
MAKER(on_exit_argument)
MAKER(stream_buffer)
MAKER(closed_stream_buffer)
MAKER(in_pipe)
MAKER(in_epoll)

static void nothing(int status, void *p)
{
        (void)status;
        (void)p;
}

static void libc(void)
{
        FILE *open_stream = fopen("/dev/null", "w"), *closed_stream = fopen("/dev/null", "w");
        char *word = in_environment(REACHABLE, 2201);
        strcpy(word, "LEAK_WORD=held by the environment alone");
        putenv(word);
        on_exit(nothing, on_exit_argument(REACHABLE, 2203));
        if (!open_stream || !closed_stream)
                truth_die("leak_roots: no stream\n");
        setvbuf(open_stream, stream_buffer(REACHABLE, 2205), _IOFBF, 2205);
        setvbuf(closed_stream, closed_stream_buffer(DEFINITE, 2207), _IOFBF, 2207);
        fclose(closed_stream);
}

/* The kernel gives these back, but who knows that? */
static void kernel(void)
{
        int ends[2], set = epoll_create1(0);
        void *p = in_pipe(DEFINITE, 2211);
        struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = in_epoll(DEFINITE, 2213)}};
        if (pipe(ends) || write(ends[1], &p, sizeof p) != sizeof p || set < 0 ||
            epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event))
                truth_die("leak_roots: no pipe\n");
}

MAKER(before_main)
MAKER(lost_before_main)
static place kept_before_main;

__attribute__((constructor)) static void early(void)
{
        kept_before_main = before_main(REACHABLE, 2221);
        lost_before_main(DEFINITE, 2223);
        leak_wipe();
}

/* ---- other stacks ---- */

static ucontext_t main_context, routine_context;
static place routine_stack;

MAKER(coroutine_stack)
MAKER(on_coroutine)

static void make_routine(void (*body)(void), size_t size)
{
        routine_stack = coroutine_stack(REACHABLE, size);
        getcontext(&routine_context);
        routine_context.uc_stack.ss_sp = (void *)routine_stack;
        routine_context.uc_stack.ss_size = size & ~(size_t)15; /* glibc of arm aligns nothing */
        routine_context.uc_link = NULL;
        makecontext(&routine_context, body, 0);
        swapcontext(&main_context, &routine_context);
}

LEAK_ALONE static void routine(void)
{
        place held = on_coroutine(REACHABLE, 2303);
        swapcontext(&routine_context, &main_context);
        LEAK_ESCAPE(held);
}

/* It has given up the processor, with a pointer in its frame. */
static void coroutine(void)
{
        make_routine(routine, 262144 + 1);
}

/* ---- the following cases end the program ---- */

MAKER(on_stack)
MAKER(on_main_stack)
MAKER(on_other_stack)
MAKER(on_mapped_stack)

static void *(*other_stack_maker)(const char *kind, size_t size) = on_other_stack;

LEAK_ALONE static void end(void)
{
        leak_ready();
        exit(0);
}

static void stack(void)
{
        place held[10] = {0};
        held[3] = on_stack(REACHABLE, 2401);
        leak_wipe();
        end();
        __asm__ volatile("" : : "r"(held) : "memory");
}

LEAK_ALONE static void routine_ends(void)
{
        place held = other_stack_maker(REACHABLE, 2403);
        leak_wipe();
        end();
        LEAK_ESCAPE(held);
}

/* exit() is called while the stack pointer is in a block. */
static void coroutine_ends(void)
{
        place held = on_main_stack(REACHABLE, 2405);
        make_routine(routine_ends, 262144 + 2);
        LEAK_ESCAPE(held);
}

static void handler(int sig)
{
        (void)sig;
        routine_ends();
}

static void handle_on(void *stack, size_t bytes)
{
        stack_t other = {.ss_sp = stack, .ss_size = bytes};
        struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
        place held = on_main_stack(REACHABLE, 2407);
        if (sigaltstack(&other, NULL) || sigaction(SIGUSR2, &action, NULL) || raise(SIGUSR2))
                truth_die("leak_roots: no signal\n");
        LEAK_ESCAPE(held);
}

static void altstack(void)
{
        static char bytes[262144];
        handle_on(bytes, sizeof bytes);
}

static void altstack_block(void)
{
        routine_stack = coroutine_stack(REACHABLE, 262144 + 3);
        handle_on((void *)routine_stack, 262144);
}

static void altstack_mapping(void)
{
        other_stack_maker = on_mapped_stack;
        handle_on((void *)map(262144, MAP_PRIVATE | MAP_ANONYMOUS, -1), 262144);
}

static const struct leak_case cases[] = {
        {"variables", variables},
        {"library", library},
        {"plugin", plugin},
        {"closed", closed},
        {"keys", keys},
        {"mappings", mappings},
        {"shm", shm},
        {"not_for_children", not_for_children},
        {"sparse", sparse},
        {"given", given},
        {"sealed", sealed},
        {"libc", libc},
        {"kernel", kernel},
        {"coroutine", coroutine},
        {"stack", stack},
        {"coroutine_ends", coroutine_ends},
        {"altstack", altstack},
        {"altstack_block", altstack_block},
        {"altstack_mapping", altstack_mapping},
        {NULL, NULL},
};

int main(int argc, char **argv)
{
        (void)argc;
        return leak_main(argv, cases);
}
