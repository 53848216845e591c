/* SPDX-License-Identifier: MIT */
/*
 * meter.c -- run one command and say what it and everything it started has cost.
 *
 * Room:   bench/run starts it around every measured command:  meter OUT LIMIT_S READY_MB EXE
 * COMMAND [ARG...] Prints: one line of "name value" pairs per fact into OUT; the command has stdin,
 * stdout and stderr for itself.
 * Keeps:  orphans of the command (an observer, a compressor) become children of the meter, so the
 *         clock runs until the last of them is gone and their CPU time is counted.  A process whose
 *         executable is EXE is the program being measured; all others belong to the tool. READY_MB
 *         of memory are taken and given back before: a virtual machine may have lent its free
 *         memory to its host, and who is the first to use that again would pay for it.
 * Cost:   looks at /proc every 20 ms, about 0.1 ms each time, on no account but its own.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SEEN_MAX = 512, POLL_NS = 20 * 1000 * 1000, POLL_SOON_NS = 2 * 1000 * 1000 };
static const double soon_s = 0.1; /* a short run is looked at more often, or it would be missed */

/* One process of the tree, as it was last seen. */
struct seen {
        pid_t pid;
        bool target;
        long peak_kb; /* VmHWM: all resident memory, shared ledger included */
        long anon_kb; /* largest RssAnon: what it holds for itself */
};

static struct seen seen[SEEN_MAX];
static int seen_count;
static const char *target_exe;

static double now_s(void)
{
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static struct seen *seen_find(pid_t pid)
{
        for (int i = 0; i < seen_count; i++)
                if (seen[i].pid == pid)
                        return &seen[i];
        if (seen_count == SEEN_MAX)
                return NULL;
        seen[seen_count].pid = pid;
        return &seen[seen_count++];
}

static void keep_largest(long *kept, const char *line, const char *name)
{
        size_t length = strlen(name);
        if (strncmp(line, name, length))
                return;
        long value = atol(line + length);
        if (value > *kept)
                *kept = value;
}

/* A process runs other code between fork and exec: what was seen then is forgotten when it becomes
 * the target. */
static void seen_look(pid_t pid)
{
        char path[64], text[PATH_MAX];
        struct seen *s = seen_find(pid);
        if (!s)
                return;
        snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
        ssize_t length = readlink(path, text, sizeof(text) - 1);
        text[length > 0 ? length : 0] = 0;
        if (!s->target && !strcmp(text, target_exe)) {
                s->target = true;
                s->peak_kb = s->anon_kb = 0;
        }
        snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
        FILE *status = fopen(path, "re");
        if (!status)
                return;
        while (fgets(text, sizeof(text), status)) {
                keep_largest(&s->peak_kb, text, "VmHWM:");
                keep_largest(&s->anon_kb, text, "RssAnon:");
        }
        fclose(status);
}

/* Calls VISIT for every process below PID, parents first. */
static void tree_walk(pid_t pid, void (*visit)(pid_t))
{
        char path[288];
        snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
        DIR *tasks = opendir(path);
        if (!tasks)
                return;
        for (struct dirent *task; (task = readdir(tasks));) {
                int child;
                if (task->d_name[0] == '.')
                        continue;
                snprintf(path, sizeof(path), "/proc/%d/task/%.24s/children", (int)pid,
                         task->d_name);
                FILE *children = fopen(path, "re");
                if (!children)
                        continue;
                while (fscanf(children, "%d", &child) == 1) {
                        visit(child);
                        tree_walk(child, visit);
                }
                fclose(children);
        }
        closedir(tasks);
}

static void end_process(pid_t pid)
{
        kill(pid, SIGKILL);
}

/* Reaps everyone who has ended.  False when nobody is left.  The command's own status goes to
 * STATUS. */
static bool reap(pid_t command, int *status)
{
        for (;;) {
                int s;
                pid_t pid = waitpid(-1, &s, WNOHANG);
                if (pid == 0)
                        return true;
                if (pid < 0)
                        return errno == EINTR;
                if (pid == command)
                        *status = s;
        }
}

/* Sleeps until a child ends or the next look at memory is due.  True when the meter itself is told
 * to end. */
static bool sleep_until_child(const sigset_t *awaited, long pause_ns)
{
        struct timespec pause = {.tv_nsec = pause_ns};
        int number = sigtimedwait(awaited, NULL, &pause);
        return number == SIGTERM || number == SIGINT;
}

/* Returns whether the limit was reached; the tree is killed then. */
static bool watch(pid_t command, double limit_s, int *status, const sigset_t *awaited)
{
        bool late = false;
        double start = now_s();
        while (reap(command, status)) {
                double age_s = now_s() - start;
                tree_walk(getpid(), seen_look);
                if (late || age_s > limit_s) {
                        late = true;
                        tree_walk(getpid(), end_process);
                }
                if (sleep_until_child(awaited, age_s < soon_s ? POLL_SOON_NS : POLL_NS))
                        late = true;
        }
        return late;
}

/* The signals that watch() waits for are held back from here on; BEFORE is what the command
 * gets. */
static void hold_signals(sigset_t *awaited, sigset_t *before)
{
        sigemptyset(awaited);
        sigaddset(awaited, SIGCHLD);
        sigaddset(awaited, SIGTERM);
        sigaddset(awaited, SIGINT);
        sigprocmask(SIG_BLOCK, awaited, before);
}

static pid_t start_command(char **argv, const sigset_t *mask)
{
        pid_t pid = fork();
        if (pid)
                return pid;
        sigprocmask(SIG_SETMASK, mask, NULL);
        execvp(argv[0], argv);
        fprintf(stderr, "meter: cannot run %s: %s\n", argv[0], strerror(errno));
        _exit(127);
}

/* If memory runs out, the measured command is the one that goes. */
static void offer_to_oom_killer(void)
{
        int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
        if (fd < 0)
                return;
        if (write(fd, "1000", 4) != 4)
                fprintf(stderr, "meter: oom_score_adj: %s\n", strerror(errno));
        close(fd);
}

/* Free memory is the machine's again, not its host's.  Where the kernel cannot, nothing is lost. */
static void memory_ready(size_t bytes)
{
#ifdef MADV_POPULATE_WRITE
        const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
        void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0); /* of no bytes: fails */
        if (p == MAP_FAILED)
                return;
        madvise(p, bytes, MADV_HUGEPAGE);
        madvise(p, bytes, MADV_POPULATE_WRITE);
        munmap(p, bytes);
#else
        (void)bytes;
#endif
}

/* Processor time spent by anyone and lost to the host, in seconds. */
static void machine_busy(double *busy_s, double *stolen_s)
{
        unsigned long long user = 0, nice = 0, system = 0, idle, wait, irq = 0, soft = 0, steal = 0;
        double tick = 1.0 / (double)sysconf(_SC_CLK_TCK);
        FILE *stat = fopen("/proc/stat", "re");
        if (!stat)
                return;
        if (fscanf(stat, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system,
                   &idle, &wait, &irq, &soft, &steal) == 8) {
                *busy_s = (double)(user + nice + system + irq + soft) * tick;
                *stolen_s = (double)steal * tick;
        }
        fclose(stat);
}

static void print_memory(FILE *out)
{
        long target_kb = 0, tool_kb = 0;
        for (int i = 0; i < seen_count; i++) {
                if (!seen[i].target)
                        tool_kb += seen[i].anon_kb;
                else if (seen[i].peak_kb > target_kb)
                        target_kb = seen[i].peak_kb;
        }
        fprintf(out, "target_peak_kb %ld\ntool_anon_kb %ld\n", target_kb, tool_kb);
}

static double seconds(struct timeval t)
{
        return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static void print_cpu(FILE *out)
{
        struct rusage usage;
        getrusage(RUSAGE_CHILDREN, &usage);
        fprintf(out, "user_s %.6f\nsystem_s %.6f\n", seconds(usage.ru_utime),
                seconds(usage.ru_stime));
}

int main(int argc, char **argv)
{
        if (argc < 6) {
                fprintf(stderr, "usage: meter OUT LIMIT_S READY_MB EXE COMMAND [ARG...]\n");
                return 2;
        }
        FILE *out = fopen(argv[1], "we");
        if (!out) {
                fprintf(stderr, "meter: %s: %s\n", argv[1], strerror(errno));
                return 2;
        }
        target_exe = argv[4];
        sigset_t awaited, before;
        hold_signals(&awaited, &before);
        prctl(PR_SET_CHILD_SUBREAPER, 1);
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        offer_to_oom_killer();
        memory_ready((size_t)atol(argv[3]) << 20);

        double busy_from = 0, busy_to = 0, stolen_from = 0, stolen_to = 0;
        int status = -1;
        machine_busy(&busy_from, &stolen_from);
        double start = now_s();
        pid_t command = start_command(argv + 5, &before);
        bool late = command < 0 ? true : watch(command, atof(argv[2]), &status, &awaited);
        double wall = now_s() - start;
        machine_busy(&busy_to, &stolen_to);

        fprintf(out, "wall_s %.6f\nlate %d\nstatus %d\n", wall, late, status);
        fprintf(out, "machine_busy_s %.2f\nmachine_stolen_s %.2f\n", busy_to - busy_from,
                stolen_to - stolen_from);
        print_cpu(out);
        print_memory(out);
        return fclose(out) ? 2 : 0;
}
