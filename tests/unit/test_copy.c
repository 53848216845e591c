/* SPDX-License-Identifier: MIT */
/*
 * test_copy.c -- copies of processes, which notice nothing, and the reasons for making none.
 */
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/rseq.h>
#include <sys/syscall.h>

#include "stage.h"

/* ---- the copy ---- */

static void on_child(int number)
{
        (void)number;
        stage->handled++;
}

/* Tells in result what it knows of children, each turn. */
static void look_for_children(void)
{
        sigset_t pending;

        signal(SIGCHLD, on_child);
        stage->ready = 1;
        while (!stage->over) {
                own_turns++;
                stage->turns++;
                errno = 0;
                if (waitpid(-1, NULL, __WALL | WNOHANG) != -1 || errno != ECHILD)
                        stage->result++;
                sigpending(&pending);
                if (sigismember(&pending, SIGCHLD))
                        stage->result++;
        }
}

TEST(a_copy_keeps_the_memory_of_the_moment_and_is_nobodys_child)
{
        pid_t pid = start(look_for_children), copy;
        struct freeze f;
        struct err e;
        long turns;

        for (int i = 0; i < 20; i++) {
                is_true(freeze_stop(&f, pid, &e));
                is_true(freeze_copy(&f, &e));
                turns = stage->turns;
                freeze_release(&f);
                wait_until(stage->turns > turns + 100);
                is_true(turns_of(&f) - turns <= 1);
                copy = f.copy;
                is_true(copy > 0 && copy != pid);
                freeze_close(&f);
                is_true(state_of(copy) == 'Z' || state_of(copy) == 'X');
        }
        is_equal(stage->result, 0);
        is_equal(stage->handled, 0);
        end(pid);
}

static int file_of_child[2];

static void close_a_file(void)
{
        close(file_of_child[0]);
        stage->ready = 1;
        while (!stage->over)
                nap();
        close(file_of_child[1]);
        pause();
}

TEST(a_copy_holds_no_file_open)
{
        pid_t pid;
        struct freeze f;
        struct err e;
        char c;

        is_equal(pipe(file_of_child), 0);
        pid = start(close_a_file);
        close(file_of_child[1]);
        is_true(freeze_stop(&f, pid, &e));
        is_true(freeze_copy(&f, &e));
        freeze_release(&f);
        stage->over = 1;
        is_equal(read(file_of_child[0], &c, 1), 0);
        is_true(state_of(f.copy) != 'X');
        freeze_close(&f);
        close(file_of_child[0]);
        end(pid);
}

TEST(a_copy_ends_with_whoever_made_it)
{
        pid_t pid = start(count_turns), block_origin = fork();
        struct freeze f;
        struct err e;

        if (block_origin == 0) {
                stage->result = freeze_stop(&f, pid, &e) && freeze_copy(&f, &e) ? f.copy : -1;
                freeze_release(&f);
                _exit(0);
        }
        waitpid(block_origin, NULL, 0);
        is_true(stage->result > 0);
        wait_until(state_of((pid_t)stage->result) == 'X' || state_of((pid_t)stage->result) == 'Z');
        end(pid);
}

TEST(a_process_goes_on_when_its_holder_dies)
{
        pid_t pid = start(count_turns), holder = fork();
        struct freeze f;
        struct err e;
        long turns;

        if (holder == 0) {
                stage->result = freeze_stop(&f, pid, &e) ? 1 : -1;
                kill(getpid(), SIGKILL);
        }
        waitpid(holder, NULL, 0);
        is_equal(stage->result, 1);
        turns = stage->turns;
        wait_until(stage->turns > turns);
        end(pid);
}

/* Restartable sequences that never end by themselves; each is given up when the thread is
 * disturbed, which is counted. */
static void spin_in_sequences(void)
{
        struct rseq *area = (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);

        if (!__rseq_size) {
                stage->ready = -1;
                return;
        }
        for (;; stage->turns++)
                __asm__ volatile(".pushsection .data.sequence, \"aw\"\n"
                                 ".balign 32\n"
                                 "7: .long 0, 0\n"
                                 ".quad 1f, 2f - 1f, 4f\n"
                                 ".popsection\n"
                                 "leaq 7b(%%rip), %%rax\n"
                                 "movq %%rax, %0\n"
                                 "1: movl $1, %1\n"
                                 "jmp 1b\n"
                                 "2: .long %c2\n"
                                 "4:\n"
                                 : "=m"(area->rseq_cs), "=m"(stage->ready)
                                 : "i"(RSEQ_SIG)
                                 : "rax", "memory");
}

TEST(a_restartable_sequence_is_given_up_by_a_stop)
{
        pid_t pid = start(spin_in_sequences);
        struct freeze f;
        struct err e;
        long turns = -1;

        for (int i = 0; i < 20 && stage->ready > 0 && stage->turns > turns; i++) {
                is_true(freeze_stop(&f, pid, &e));
                is_true(freeze_copy(&f, &e));
                turns = stage->turns;
                freeze_close(&f);
                wait_until(stage->turns > turns);
        }
        if (stage->ready < 0)
                tap_skip("the C library does not use rseq here");
        end(pid);
}

/* ---- where a copy cannot be ---- */

static void copy_is_refused(pid_t pid, const char *why)
{
        struct freeze f;
        struct err e = { 0 };
        long turns = stage->turns;

        is_true(freeze_stop(&f, pid, &e));
        is_true(!freeze_copy(&f, &e));
        has_text(e.text, why);
        is_equal(f.copy, 0);
        is_true(turns_of(&f) > 0);
        freeze_close(&f);
        wait_until(stage->turns > turns);
}

static void adopt(void)
{
        prctl(PR_SET_CHILD_SUBREAPER, 1);
        look_for_children();
}

TEST(a_process_that_adopts_is_not_copied)
{
        pid_t pid = start(adopt);

        copy_is_refused(pid, "PR_SET_CHILD_SUBREAPER");
        is_equal(stage->result, 0);
        is_equal(stage->handled, 0);
        end(pid);
}

static void be_first(void)
{
        pid_t inner;

        if (unshare(CLONE_NEWPID)) {
                stage->ready = -1;
                return;
        }
        inner = fork();
        if (inner == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                look_for_children();
                _exit(0);
        }
        stage->tid = inner;
        waitpid(inner, NULL, 0);
}

TEST(the_first_process_of_a_container_is_not_copied)
{
        pid_t pid = start(be_first);

        if (stage->ready > 0) {
                wait_until(stage->tid);
                copy_is_refused(stage->tid, "first process of its container");
                is_equal(stage->result, 0);
                kill(stage->tid, SIGKILL);
        } else {
                tap_skip("no right to make a pid namespace");
        }
        end(pid);
}

static void be_limited(void)
{
        struct rlimit one = { 1, 1 };

        if (setgroups(0, NULL) || setresuid(NOBODY, NOBODY, NOBODY) ||
            setrlimit(RLIMIT_NPROC, &one)) {
                stage->ready = -1;
                return;
        }
        count_turns();
}

TEST(a_process_that_may_start_no_other_is_not_copied)
{
        pid_t pid = start(be_limited);

        if (stage->ready > 0)
                copy_is_refused(pid, "RLIMIT_NPROC");
        else
                tap_skip("not root");
        end(pid);
}

/* A filter that ends the process at the calls that a copy needs. */
static void be_filtered(void)
{
        struct sock_filter filter[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 3, 0),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 2, 0),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_wait4, 1, 0),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        };
        struct sock_fprog program = { sizeof filter / sizeof *filter, filter };

        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
                _exit(1);
        count_turns();
}

TEST(a_filter_of_system_calls_does_not_see_the_copy)
{
        pid_t pid = start(be_filtered);
        struct freeze f;
        struct err e;
        long turns;

        if (geteuid() != 0) {
                copy_is_refused(pid, "seccomp");
        } else {
                is_true(freeze_stop(&f, pid, &e));
                is_true(freeze_copy(&f, &e));
                turns = stage->turns;
                freeze_release(&f);
                wait_until(stage->turns > turns + 100);
                is_true(turns_of(&f) - turns <= 1);
                freeze_close(&f);
        }
        is_true(kill(pid, 0) == 0 && state_of(pid) != 'Z');
        end(pid);
}

/* A filter that lets all pass, as a container has for everybody in it; nobody in there may suspend
 * it. */
static void filter_mildly(void)
{
        struct sock_filter filter = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
        struct sock_fprog program = { 1, &filter };

        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
                _exit(1);
}

static void filter_once_more(void)
{
        filter_mildly();
        count_turns();
}

TEST(a_filter_that_we_share_allows_a_copy_and_one_more_does_not)
{
        pid_t inside = fork(), pid;
        struct freeze f;
        struct err e;
        int status = -1;

        if (inside == 0) {
                filter_mildly();
                pid = start(count_turns);
                is_true(freeze_stop(&f, pid, &e));
                is_true(freeze_copy(&f, &e));
                freeze_close(&f);
                end(pid);
                pid = start(filter_once_more);
                copy_is_refused(pid, "seccomp");
                end(pid);
                fflush(stdout);
                _exit(tap_failures != 0);
        }
        waitpid(inside, &status, 0);
        is_equal(status, 0);
}

static void *borrow(void *unused)
{
        char c;

        stage->tid = gettid();
        stage->address = __builtin_frame_address(0);
        if (vfork() == 0) {
                stage->ready = 1;
                _exit(read(file_of_child[0], &c, 1) == 1 ? 0 : 1);
        }
        stage->result = 1;
        return unused;
}

static void borrow_beside_work(void)
{
        pthread_t t;

        pthread_create(&t, NULL, borrow, NULL);
        while (!stage->over)
                own_turns++, stage->turns++;
}

/* Its thread waits for a child that waits for us: no stop reaches it, and none is left behind. */
TEST(a_thread_that_cannot_stop_is_known_and_let_go)
{
        struct freeze f;
        struct err e = { 0 };
        const struct freeze_thread *t;
        pid_t pid;

        is_equal(pipe(file_of_child), 0);
        pid = start(borrow_beside_work);
        is_true(freeze_stop(&f, pid, &e));
        is_equal(f.thread_count, 2);
        t = &f.threads[1];
        is_true(f.threads[0].stopped && !t->stopped);
        is_equal(t->tid, stage->tid);
        is_true(t->pc != 0 && t->sp <= (uint64_t)(uintptr_t)stage->address &&
                t->sp + 4096 > (uint64_t)(uintptr_t)stage->address);
        is_true(!freeze_copy(&f, &e));
        has_text(e.text, "could not be stopped in time");
        freeze_release(&f);
        is_equal(write(file_of_child[1], "x", 1), 1);
        wait_until(stage->result == 1);
        freeze_close(&f);
        close(file_of_child[0]);
        close(file_of_child[1]);
        end(pid);
}

/* ---- all at once ---- */

struct torture {
        pid_t pid;
        int in;
        FILE *told;
};

/* The program to hold; NULL: not known, and the test is skipped. */
static const char *torture_program(void)
{
        const char *program = getenv("SEEP_FREEZE_TORTURE");

        if (!program)
                tap_skip("SEEP_FREEZE_TORTURE does not name the program freeze_torture");
        return program;
}

/* Descriptor 3 is where the program tells; 0 ends it. */
static struct torture torture_start(const char *program)
{
        int in[2], told[2];
        char line[256] = "";
        struct torture t;

        is_true(pipe2(in, O_CLOEXEC) == 0 && pipe2(told, O_CLOEXEC) == 0);
        t = (struct torture){ fork(), in[1], fdopen(told[0], "r") };
        if (t.pid == 0) {
                dup2(in[0], 0);
                if (told[1] == 3)
                        fcntl(3, F_SETFD, 0);
                else
                        dup2(told[1], 3);
                execl(program, program, (char *)NULL);
                _exit(1);
        }
        close(in[0]);
        close(told[1]);
        is_true(fgets(line, sizeof line, t.told) != NULL);
        is_text(line, "ready\n");
        return t;
}

static void torture_check(struct torture *t)
{
        char line[256], name[64];
        bool well = false;
        long waits;
        int status = -1;

        close(t->in);
        while (fgets(line, sizeof line, t->told)) {
                if (!strncmp(line, "fault", 5))
                        tap_check(0, __FILE__, __LINE__, line);
                if (sscanf(line, "waits %63s %ld", name, &waits) == 2 && waits < 2)
                        tap_check(0, __FILE__, __LINE__, line);
                well |= !strcmp(line, "well\n");
        }
        is_true(well);
        fclose(t->told);
        waitpid(t->pid, &status, 0);
        is_equal(status, 0);
}

static void torture(int times, bool with_copy)
{
        const char *program = torture_program();
        int stopped = 0, copied = 0;
        struct torture t;
        struct freeze f;
        struct err e;

        if (!program)
                return;
        t = torture_start(program);
        for (int i = 0; i < times; i++) {
                bool good = freeze_stop(&f, t.pid, &e);

                stopped += good;
                copied += good && with_copy && freeze_copy(&f, &e);
                freeze_close(&f);
        }
        is_equal(stopped, times);
        is_true(!with_copy || copied > times / 2);
        torture_check(&t);
}

TEST(three_hundred_stops_go_unnoticed_by_any_waiting_call)
{
        torture(300, false);
}

TEST(two_hundred_copies_go_unnoticed_by_any_waiting_call)
{
        torture(200, true);
}

/* One of its threads calls exec again and again, which ends the others whether we hold them or
 * not. */
TEST(a_process_that_calls_exec_meanwhile_goes_on_to_its_end)
{
        const char *program = torture_program();
        pid_t pid, holder;
        struct freeze f;
        struct err e;
        int status = -1;

        if (!program)
                return;
        pid = fork();
        if (pid == 0) {
                execl(program, program, "150", (char *)NULL);
                _exit(1);
        }
        holder = fork();
        if (holder == 0) {
                for (bool copy = false; freeze_stop(&f, pid, &e); copy = !copy) {
                        if (copy)
                                freeze_copy(&f, &e);
                        freeze_close(&f);
                }
                _exit(strstr(e.text, "it has ended") ? 0 : 1);
        }
        is_equal(waitpid(pid, &status, 0), pid);
        is_true(WIFEXITED(status));
        is_equal(WEXITSTATUS(status), 7);
        waitpid(holder, &status, 0);
        is_equal(status, 0);
}

TAP_MAIN(a_copy_keeps_the_memory_of_the_moment_and_is_nobodys_child, a_copy_holds_no_file_open,
         a_copy_ends_with_whoever_made_it, a_process_goes_on_when_its_holder_dies,
         a_restartable_sequence_is_given_up_by_a_stop, a_process_that_adopts_is_not_copied,
         the_first_process_of_a_container_is_not_copied,
         a_process_that_may_start_no_other_is_not_copied,
         a_filter_of_system_calls_does_not_see_the_copy,
         a_filter_that_we_share_allows_a_copy_and_one_more_does_not,
         a_thread_that_cannot_stop_is_known_and_let_go,
         three_hundred_stops_go_unnoticed_by_any_waiting_call,
         two_hundred_copies_go_unnoticed_by_any_waiting_call,
         a_process_that_calls_exec_meanwhile_goes_on_to_its_end)
