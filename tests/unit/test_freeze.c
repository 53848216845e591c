/* SPDX-License-Identifier: MIT */
/*
 * test_freeze.c -- processes held still: what is read of them is true, and they go on as if nothing
 * had been.
 */
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/ptrace.h>

#include "attach/hold.h"
#include "leak/gather.h"
#include "stage.h"

#define MAGIC 0x5ee9f4ee5e00ull

/* ---- stopping ---- */

TEST(a_stopped_process_stands_still_and_goes_on)
{
        pid_t pid = start(count_turns);
        struct freeze f;
        struct err e;
        long turns;

        is_true(freeze_stop(&f, pid, &e));
        is_equal(f.thread_count, 1);
        is_equal(f.threads[0].tid, pid);
        turns = stage->turns;
        is_true(turns_of(&f) - turns <= 1);
        nap();
        is_equal(stage->turns, turns);
        freeze_release(&f);
        is_true(f.pause_ns > 0);
        wait_until(stage->turns > turns);
        freeze_close(&f);
        end(pid);
}

static void *sit_in_registers(void *unused)
{
        stage->tid = gettid();
        __asm__ volatile("movq %0, %%rbx; movq %0, %%xmm11; movq %0, %%xmm3; pslldq $8, %%xmm3; 1: "
                         "movl $1, %1; jmp 1b"
                         :
                         : "r"(MAGIC), "m"(stage->ready)
                         : "rbx", "xmm3", "xmm11", "memory");
        return unused;
}

/* The upper half of a ymm register; copies of memory use them. */
static void *sit_in_wide_register(void *unused)
{
        static const uint64_t words[4] = { 0, 0, 0, MAGIC };

        stage->tid = gettid();
        __asm__ volatile("vmovdqu %0, %%ymm5; 1: movl $1, %1; jmp 1b"
                         :
                         : "m"(words), "m"(stage->ready)
                         : "xmm5", "memory");
        return unused;
}

static void thread_with_registers(void)
{
        pthread_t t;
        char c;
        int fds[2];

        pthread_create(&t, NULL, sit_in_registers, NULL);
        stage->address = __builtin_frame_address(0);
        if (pipe(fds) || read(fds[0], &c, 1))
                _exit(1);
}

TEST(registers_and_stacks_of_all_threads_are_known)
{
        pid_t pid = start(thread_with_registers);
        struct freeze f;
        struct err e;
        const struct freeze_thread *sits;

        is_true(freeze_stop(&f, pid, &e));
        is_equal(f.thread_count, 2);
        is_equal(f.threads[0].tid, pid);
        sits = &f.threads[1];
        is_equal(sits->tid, stage->tid);
        is_true(f.threads[0].stopped && sits->stopped);
        is_equal(sits->registers[3], MAGIC);
        is_equal(sits->vectors[22], MAGIC);
        is_equal(sits->vectors[7], MAGIC);
        is_equal(f.threads[0].registers[7], f.threads[0].sp);
        is_true(f.threads[0].sp <= (uint64_t)(uintptr_t)stage->address &&
                f.threads[0].sp + 65536 > (uint64_t)(uintptr_t)stage->address);
        is_true(f.threads[0].tp && sits->tp && f.threads[0].tp != sits->tp);
        has_text(f.maps, "[stack]");
        freeze_close(&f);
        end(pid);
}

static void process_with_wide_register(void)
{
        sit_in_wide_register(NULL);
}

TEST(the_upper_parts_of_wide_registers_are_known_where_the_processor_has_them)
{
        bool found = false;
        struct freeze f;
        struct err e;
        pid_t pid;

        if (!__builtin_cpu_supports("avx"))
                return; /* there are none */
        pid = start(process_with_wide_register);
        is_true(freeze_stop(&f, pid, &e));
        for (uint32_t i = 32; i < FREEZE_VECTORS; i++)
                found = found || f.threads[0].vectors[i] == MAGIC;
        is_true(found);
        freeze_close(&f);
        end(pid);
}

static void *leaderless(void *unused)
{
        wait_until(state_of(getpid()) == 'Z');
        stage->tid = gettid();
        count_turns();
        return unused;
}

static void leave_as_leader(void)
{
        pthread_t t;

        pthread_create(&t, NULL, leaderless, NULL);
        pthread_exit(NULL);
}

TEST(a_process_whose_first_thread_has_ended_is_read_and_copied)
{
        pid_t pid = start(leave_as_leader);
        struct freeze f;
        struct err e = { 0 };

        is_true(freeze_stop(&f, pid, &e));
        is_equal(f.thread_count, 1);
        is_equal(f.threads[0].tid, stage->tid);
        is_true(strlen(f.maps) > 100);
        is_true(turns_of(&f) - stage->turns <= 1);
        is_true(freeze_copy(&f, &e));
        is_text(e.text, "");
        freeze_release(&f);
        is_true(turns_of(&f) > 0);
        freeze_close(&f);
        end(pid);
}

/* ---- signals ---- */

static void on_signal(int number)
{
        (void)number;
        stage->handled++;
}

/* Waits in a call that any stop cuts short, and tells with what it came back. */
static void wait_for_events(void)
{
        struct sigaction handler = { .sa_handler = on_signal };
        struct epoll_event event;
        int fd = epoll_create1(0);

        sigaction(SIGUSR1, &handler, NULL);
        signal(SIGUSR2, SIG_IGN);
        stage->ready = 1;
        errno = 0;
        stage->result = epoll_wait(fd, &event, 1, -1);
        stage->result = errno ? errno : 1;
        pause();
}

TEST(a_signal_that_comes_meanwhile_is_handled_and_interrupts)
{
        pid_t pid = start(wait_for_events);
        struct freeze f;
        struct err e;

        wait_until(state_of(pid) == 'S');
        for (int i = 0; i < 20; i++) {
                is_true(freeze_stop(&f, pid, &e));
                kill(pid, SIGUSR2);
                kill(pid, SIGWINCH);
                freeze_close(&f);
        }
        /* else the signal may come before the call goes on, and interrupts nothing */
        wait_until(state_of(pid) == 'S');
        is_true(freeze_stop(&f, pid, &e));
        is_equal(stage->result, 0);
        kill(pid, SIGUSR1);
        is_equal(stage->handled, 0);
        freeze_release(&f);
        wait_until(stage->result == EINTR && stage->handled == 1);
        freeze_close(&f);
        end(pid);
}

/* The same again and again: each signal ends one call. */
static void wait_and_wait(void)
{
        struct sigaction handler = { .sa_handler = on_signal };
        struct epoll_event event;
        int fd = epoll_create1(0);

        sigaction(SIGUSR1, &handler, NULL);
        stage->ready = 1;
        while (epoll_wait(fd, &event, 1, -1) == -1 && errno == EINTR)
                stage->turns++;
}

TEST(a_signal_right_behind_the_stop_interrupts)
{
        pid_t pid = start(wait_and_wait);
        struct freeze f;
        struct err e;

        for (long i = 0; i < 50; i++) {
                wait_until(state_of(pid) == 'S');
                is_true(freeze_stop(&f, pid, &e));
                freeze_release(&f);
                kill(pid, SIGUSR1);
                wait_until(stage->turns == i + 1);
                is_equal(stage->handled, i + 1);
                freeze_close(&f);
        }
        end(pid);
}

TEST(a_stop_alone_interrupts_nothing)
{
        pid_t pid = start(wait_for_events);
        struct freeze f;
        struct err e;

        for (int i = 0; i < 50; i++) {
                wait_until(state_of(pid) == 'S');
                is_true(freeze_stop(&f, pid, &e));
                if (i % 2)
                        is_true(freeze_copy(&f, &e));
                freeze_close(&f);
        }
        wait_until(state_of(pid) == 'S');
        is_equal(stage->result, 0);
        end(pid);
}

TEST(a_process_stopped_by_job_control_stays_stopped)
{
        pid_t pid = start(count_turns);
        struct freeze f;
        struct err e;
        int status;
        long turns;

        kill(pid, SIGSTOP);
        is_true(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
        turns = stage->turns;
        for (int i = 0; i < 4; i++) {
                is_true(freeze_stop(&f, pid, &e));
                if (i % 2)
                        is_true(freeze_copy(&f, &e));
                freeze_release(&f);
                is_true(turns_of(&f) - turns <= 1);
                freeze_close(&f);
                wait_until(state_of(pid) == 'T');
        }
        is_equal(stage->turns, turns);
        kill(pid, SIGCONT);
        wait_until(stage->turns > turns);
        end(pid);
}

TEST(a_process_can_be_stopped_and_continued_while_it_is_held)
{
        pid_t pid = start(count_turns);
        struct freeze f;
        struct err e;
        long turns;

        is_true(freeze_stop(&f, pid, &e));
        kill(pid, SIGSTOP);
        is_true(freeze_copy(&f, &e));
        freeze_close(&f);
        wait_until(state_of(pid) == 'T');
        turns = stage->turns;
        is_true(freeze_stop(&f, pid, &e));
        kill(pid, SIGCONT);
        is_true(freeze_copy(&f, &e));
        freeze_close(&f);
        wait_until(stage->turns > turns);
        end(pid);
}

TEST(a_process_killed_while_it_is_held_ends)
{
        pid_t pid = start(count_turns);
        struct freeze f;
        struct err e = { 0 };

        is_true(freeze_stop(&f, pid, &e));
        kill(pid, SIGKILL);
        wait_until(state_of(pid) == 'Z' || state_of(pid) == 'X');
        is_true(!freeze_copy(&f, &e));
        has_text(e.text, "it has ended");
        freeze_close(&f);
        end(pid);
}

/* ---- memory ---- */

#define SPARSE_PAGES 20000ul

static void use_sparse_memory(void)
{
        char *private = mmap(NULL, SPARSE_PAGES * PAGE, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        char *shared = mmap(NULL, SPARSE_PAGES * PAGE, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        private[5000 * PAGE + 7] = 1;
        private[19999 * PAGE] = 2;
        shared[6000 * PAGE + 9] = 3;
        madvise(private + 19999 * PAGE, PAGE, MADV_DONTFORK);
        stage->address = private;
        stage->second = shared;
        count_turns();
}

/* As a search does it. */
static size_t read_frozen(void *freeze, uint64_t address, void *to, size_t bytes)
{
        return freeze_read(freeze, address, to, bytes);
}

static void check_sparse(struct freeze *f)
{
        uint64_t private = (uint64_t)(uintptr_t)stage->address,
                 shared = (uint64_t)(uintptr_t)stage->second;
        uint64_t end_of_private = private + SPARSE_PAGES * PAGE,
                 end_of_shared = shared + SPARSE_PAGES * PAGE;
        uint64_t addresses[] = { private + 5000 * PAGE, 8, shared + 6000 * PAGE + 8 },
                 words[3] = { 9, 9, 9 };
        char byte = 0;

        is_equal(freeze_next_used(f, private, end_of_private), private + 5000 * PAGE);
        is_equal(freeze_next_used(f, private + 5000 * PAGE + 3, end_of_private),
                 private + 5000 * PAGE + 3);
        is_equal(freeze_next_used(f, private + 5001 * PAGE, end_of_private),
                 private + 19999 * PAGE);
        is_equal(freeze_next_used(f, private, private + 5000 * PAGE), private + 5000 * PAGE);
        if (geteuid() == 0)
                is_equal(freeze_next_used(f, shared, end_of_shared), shared + 6000 * PAGE);
        is_equal(freeze_next_used(f, shared + 6000 * PAGE, end_of_shared), shared + 6000 * PAGE);
        is_equal(freeze_read(f, private + 19999 * PAGE, &byte, 1), 1);
        is_equal(byte, 2);
        gather_words(&(struct search_memory){ .context = f, .read = read_frozen }, addresses, words,
                     3);
        is_equal(words[0], 1ull << 56);
        is_equal(words[1], 0);
        is_equal(words[2], 3ull << 8);
}

TEST(used_pages_of_sparse_memory_are_found)
{
        pid_t pid = start(use_sparse_memory);
        struct freeze f;
        struct err e;

        is_true(freeze_stop(&f, pid, &e));
        check_sparse(&f);
        is_true(freeze_copy(&f, &e));
        freeze_release(&f);
        check_sparse(&f);
        freeze_close(&f);
        end(pid);
}

#define SHARED_PAGES 4096ul

static void use_much_memory(void)
{
        stage->address = mmap(NULL, SHARED_PAGES * PAGE, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memset(stage->address, 'x', SHARED_PAGES * PAGE);
        count_turns();
}

/* Pages that process PID has for itself alone, as the kernel says. */
static unsigned long private_pages(pid_t pid)
{
        char path[64], line[256];
        unsigned long kib, sum = 0;
        FILE *from;

        snprintf(path, sizeof path, "/proc/%d/smaps_rollup", (int)pid);
        from = fopen(path, "r");
        while (from && fgets(line, sizeof line, from))
                sum += sscanf(line, "Private_Dirty: %lu", &kib) == 1 ||
                                       sscanf(line, "Private_Clean: %lu", &kib) == 1
                               ? kib
                               : 0;
        if (from)
                fclose(from);
        return sum * 1024 / PAGE;
}

TEST(a_copy_that_is_read_still_shares_its_pages)
{
        pid_t pid = start(use_much_memory);
        uint64_t at = (uint64_t)(uintptr_t)stage->address;
        char bytes[16 * PAGE];
        struct freeze f;
        struct err e;

        is_true(freeze_stop(&f, pid, &e));
        is_true(freeze_copy(&f, &e));
        freeze_release(&f);
        for (uint64_t i = 0; i < SHARED_PAGES * PAGE; i += sizeof bytes) {
                is_equal(freeze_read(&f, at + i, bytes, sizeof bytes), sizeof bytes);
                is_equal(bytes[sizeof bytes - 1], 'x');
        }
        is_true(private_pages(f.copy) < SHARED_PAGES / 4);
        freeze_close(&f);
        end(pid);
}

static void have_a_gap(void)
{
        char *memory = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                            0);

        memset(memory, 'x', 3 * PAGE);
        munmap(memory + PAGE, PAGE);
        stage->address = memory;
        count_turns();
}

TEST(a_read_ends_where_the_memory_ends)
{
        pid_t pid = start(have_a_gap);
        struct freeze f;
        struct err e;
        char bytes[3 * PAGE];
        uint64_t at, addresses[1500], words[1500];

        at = (uint64_t)(uintptr_t)stage->address;
        is_true(freeze_stop(&f, pid, &e));
        is_equal(freeze_read(&f, at + 100, bytes, sizeof bytes - 100), PAGE - 100);
        is_equal(bytes[PAGE - 101], 'x');
        is_equal(freeze_read(&f, at + PAGE, bytes, 1), 0);
        for (size_t i = 0; i < 1500; i++)
                addresses[i] = at + i % 3 * PAGE;
        gather_words(&(struct search_memory){ .context = &f, .read = read_frozen }, addresses,
                     words, 1500);
        for (size_t i = 0; i < 1500; i++)
                is_equal(words[i], i % 3 == 1 ? 0 : 0x7878787878787878);
        freeze_close(&f);
        end(pid);
}

/* ---- refusals ---- */

static void refused(pid_t pid, const char *why)
{
        struct freeze f;
        struct err e = { 0 };

        is_true(!freeze_stop(&f, pid, &e));
        is_equal(e.exit_code, ERR_EXIT_CANNOT_TRACE);
        has_text(e.text, why);
        freeze_close(&f);
}

TEST(a_process_that_is_gone_is_named_so)
{
        pid_t pid = start(count_turns);

        kill(pid, SIGKILL);
        wait_until(state_of(pid) == 'Z');
        refused(pid, "it has ended");
        end(pid);
        refused(pid, "there is no process");
}

TEST(a_process_that_another_traces_is_left_to_it)
{
        pid_t pid = start(count_turns), tracer = fork();
        char who[64];

        if (tracer == 0) {
                prctl(PR_SET_NAME, "watcher");
                stage->tid = ptrace(PTRACE_SEIZE, pid, 0, 0) == 0 ? 1 : -1;
                pause();
        }
        wait_until(stage->tid == 1);
        snprintf(who, sizeof who, "already traced by watcher (%d)", (int)tracer);
        refused(pid, who);
        end(tracer);
        end(pid);
}

/* As a user without rights; what freeze_stop says is left in stage->text. */
static void ask_as_nobody(pid_t pid)
{
        pid_t other = fork();
        struct freeze f;
        struct err e = { 0 };

        if (other == 0) {
                if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
                    setresuid(NOBODY, NOBODY, NOBODY))
                        _exit(1);
                if (!freeze_stop(&f, pid, &e))
                        snprintf(stage->text, sizeof stage->text, "%s", e.text);
                _exit(0);
        }
        waitpid(other, NULL, 0);
}

static void hide_as_nobody(void)
{
        if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
            setresuid(NOBODY, NOBODY, NOBODY) || prctl(PR_SET_DUMPABLE, 0))
                _exit(1);
        count_turns();
}

/* ---- a busy machine ---- */

#define TAKEN_MS 700 /* more than a thread has that could stop and does not */

static int processor;

static void stay_on_one_processor(void)
{
        cpu_set_t one;

        CPU_ZERO(&one);
        CPU_SET(processor, &one);
        sched_setaffinity(0, sizeof one, &one);
}

static void count_there(void)
{
        stay_on_one_processor();
        count_turns();
}

static long now_ms(void)
{
        struct timespec t;

        clock_gettime(CLOCK_MONOTONIC, &t);
        return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* It gives the processor to nobody for a while. */
static pid_t take_processor(void)
{
        pid_t pid = fork();

        if (pid == 0) {
                long until = now_ms() + TAKEN_MS;

                prctl(PR_SET_PDEATHSIG, SIGKILL);
                stay_on_one_processor();
                stage->result = sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ 50 }) == 0;
                stage->handled = 1;
                while (stage->result && now_ms() < until)
                        ;
                _exit(0);
        }
        wait_until(stage->handled);
        return pid;
}

TEST(a_thread_that_gets_no_processor_is_waited_for)
{
        struct freeze f;
        struct err e;
        pid_t pid, other;
        bool taken;

        processor = sched_getcpu();
        pid = start(count_there);
        other = take_processor();
        taken = stage->result;
        is_true(freeze_stop(&f, pid, &e));
        is_equal(f.thread_count, 1);
        is_true(f.threads[0].stopped && f.threads[0].sp != 0);
        freeze_close(&f);
        end(other);
        end(pid);
        if (!taken)
                tap_skip("no right to take a processor");
}

/* However short the time for those is that could stop and do not. */
TEST(a_thread_that_gets_no_processor_is_waited_for_by_who_tries_again)
{
        struct hold h;
        struct err e;
        pid_t pid, other;
        bool taken;

        processor = sched_getcpu();
        pid = start(count_there);
        other = take_processor();
        taken = stage->result;
        is_true(hold_any_within(&h, pid, 1000000, &e));
        is_true(!hold_is_partial(&h));
        hold_release(&h);
        end(other);
        end(pid);
        if (!taken)
                tap_skip("no right to take a processor");
}

TEST(missing_rights_are_told_one_from_another)
{
        pid_t pid;

        if (geteuid() != 0) {
                tap_skip("not root");
                return;
        }
        pid = start(count_turns);
        ask_as_nobody(pid);
        has_text(stage->text, "belongs to another user (uid 0, we are 65534)");
        end(pid);
        pid = start(hide_as_nobody);
        ask_as_nobody(pid);
        has_text(stage->text, "not dumpable");
        end(pid);
}

TAP_MAIN(a_stopped_process_stands_still_and_goes_on, registers_and_stacks_of_all_threads_are_known,
         the_upper_parts_of_wide_registers_are_known_where_the_processor_has_them,
         a_process_whose_first_thread_has_ended_is_read_and_copied,
         a_signal_that_comes_meanwhile_is_handled_and_interrupts,
         a_signal_right_behind_the_stop_interrupts, a_stop_alone_interrupts_nothing,
         a_process_stopped_by_job_control_stays_stopped,
         a_process_can_be_stopped_and_continued_while_it_is_held,
         a_process_killed_while_it_is_held_ends, used_pages_of_sparse_memory_are_found,
         a_copy_that_is_read_still_shares_its_pages, a_read_ends_where_the_memory_ends,
         a_process_that_is_gone_is_named_so, a_process_that_another_traces_is_left_to_it,
         a_thread_that_gets_no_processor_is_waited_for,
         a_thread_that_gets_no_processor_is_waited_for_by_who_tries_again,
         missing_rights_are_told_one_from_another)
