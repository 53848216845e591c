/* SPDX-License-Identifier: MIT */
#include "attach/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/str.h"
#include "wire/hello.h"

#define SPAWN_AGENT "libseep.so"
#define SPAWN_IMAGE "libseep-inject.so"

/* ---- the agent ---- */

static char *library_in(const char *directory, const char *below, const char *name)
{
        struct str path = { 0 };
        char *real = NULL;

        str_format(&path, "%s/%s%s", directory, below, name);
        if (access(str_get(&path), R_OK) == 0)
                real = realpath(str_get(&path), NULL);
        str_free(&path);
        return real;
}

static char *find_library(const char *name, struct err *e)
{
        static const char *const below[] = { "", "agent/", "../lib/seep/" };
        const char *chosen = getenv("SEEP_AGENT_DIR");
        char own[4096], *agent = NULL;
        ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);

        if (chosen && *chosen) {
                agent = library_in(chosen, "", name);
                if (!agent)
                        err_set(e, ERR_EXIT_CANNOT_TRACE, "no readable %s in SEEP_AGENT_DIR=%s",
                                name, chosen);
                return agent;
        }
        if (length <= 0) {
                err_sys(e, ERR_EXIT_CANNOT_TRACE,
                        "nothing can be recorded without /proc, which says where seep itself is "
                        "(mount -t proc proc /proc): cannot read /proc/self/exe");
                return NULL;
        }
        own[length] = 0;
        if (strrchr(own, '/'))
                *strrchr(own, '/') = 0;
        for (size_t i = 0; i < sizeof below / sizeof *below && !agent; i++)
                agent = library_in(own, below[i], name);
        if (!agent)
                err_set(e, ERR_EXIT_CANNOT_TRACE,
                        "%s, the part that runs inside the program, is neither in %s nor in "
                        "%s/../lib/seep. Install seep again, or name its directory in "
                        "SEEP_AGENT_DIR", name, own, own);
        return agent;
}

static char *find_foreign(const char *processor, const char *library, struct err *e)
{
        struct str name = { 0 };
        char *found;

        str_format(&name, "%s/%s", processor, library);
        found = find_library(str_get(&name), e);
        str_free(&name);
        return found;
}

char *spawn_find_foreign(const char *processor, struct err *e)
{
        return find_foreign(processor, SPAWN_AGENT, e);
}

char *spawn_find_foreign_image(const char *processor, struct err *e)
{
        return find_foreign(processor, SPAWN_IMAGE, e);
}

char *spawn_find_agent(struct err *e)
{
        return find_library(SPAWN_AGENT, e);
}

char *spawn_find_gpu_agent(struct err *e)
{
        return find_library("gpu/" SPAWN_AGENT, e);
}

char *spawn_find_image(struct err *e)
{
        return find_library(SPAWN_IMAGE, e);
}

/* ---- the user ---- */

bool spawn_user(const char *name, struct program_user *out, struct err *e)
{
        struct passwd *pw;

        *out = (struct program_user){ getuid(), getgid() };
        if (!name)
                return true;
        pw = getpwnam(name);
        if (!pw)
                return err_set(e, ERR_EXIT_USAGE, "--user %s: no such user", name);
        if (geteuid() != 0 && pw->pw_uid != getuid())
                return err_set(e, ERR_EXIT_CANNOT_TRACE,
                               "--user %s: only root may run a program as another user; sudo seep "
                               "record --user %s ...", name, name);
        *out = (struct program_user){ pw->pw_uid, pw->pw_gid };
        return true;
}

/* ---- the environment ---- */

static bool is_variable(const char *entry, const char *name)
{
        size_t length = strlen(name);

        return strncmp(entry, name, length) == 0 && entry[length] == '=';
}

static char *assignment(const char *name, const char *value, const char *more)
{
        struct str text = { 0 };

        str_format(&text, "%s=%s%s%s", name, value, more ? ":" : "", more ? more : "");
        return text.data;
}

static void put_variable(char **env, size_t *count, char *entry, const char *name)
{
        size_t at = 0;

        while (at < *count && !is_variable(env[at], name))
                at++;
        env[at] = entry;
        *count += at == *count;
}

/* Our environment with two entries more, as wire/hello.h wants it.  Only what is new and
 * the array are to be freed. */
static char **make_environment(const struct spawn_request *r, const struct passwd *pw)
{
        const char *preload = getenv("LD_PRELOAD");
        size_t count = 0;
        char **env;

        while (environ[count])
                count++;
        env = heap_zero(count + 8, sizeof *env);
        memcpy(env, environ, count * sizeof *env);
        if (r->agent && !r->emulated)
                put_variable(env, &count, assignment("LD_PRELOAD", r->agent, preload),
                             "LD_PRELOAD");
        if (r->agent) {
                put_variable(env, &count, assignment(WIRE_SESSION_ENV, r->session, NULL),
                             WIRE_SESSION_ENV);
        }
        if (r->agent && preload)
                put_variable(env, &count, assignment(WIRE_FILLER_ENV, "", NULL), WIRE_FILLER_ENV);
        if (pw) {
                put_variable(env, &count, assignment("HOME", pw->pw_dir, NULL), "HOME");
                put_variable(env, &count, assignment("USER", pw->pw_name, NULL), "USER");
                put_variable(env, &count, assignment("LOGNAME", pw->pw_name, NULL), "LOGNAME");
        }
        return env;
}

static void free_environment(char **env)
{
        for (size_t i = 0, end = 0; env[i]; i++) {
                end = end || !environ[i];
                if (end || env[i] != environ[i])
                        free(env[i]);
        }
        free(env);
}

/* ---- the child ---- */

/* What the child could not do before it became the program. */
struct failure {
        enum { FAILED_NOTHING, FAILED_USER, FAILED_AGENT, FAILED_EXEC } what;
        int why; /* errno */
};

static bool become(const struct passwd *pw)
{
        if (!pw || (pw->pw_uid == getuid() && pw->pw_uid == geteuid()))
                return true;
        return initgroups(pw->pw_name, pw->pw_gid) == 0 && setgid(pw->pw_gid) == 0 &&
               setuid(pw->pw_uid) == 0;
}

static void child_fail(int report, struct failure why)
{
        ssize_t n = write(report, &why, sizeof why);

        _exit(n == (ssize_t)sizeof why ? 126 : 125);
}

/* Whoever wants to trace it may (Yama), and then it may go on.  Nobody is there any more: it need
 * not. */
static void wait_for_leave(int gate)
{
        char byte;
        ssize_t n;

        prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
        do
                n = read(gate, &byte, 1);
        while (n < 0 && errno == EINTR);
        if (n != 1)
                _exit(125);
}

/* Does not return.  A file that is neither a program nor a #! script is given to the
 * shell, as execvp() does. */
static void child_run(const struct spawn_request *r, const struct passwd *pw, char **env,
                      char **shell_argv, const int *ends)
{
        int report = ends[1];

        sigaction(SIGCHLD, &r->signals->child, NULL);
        sigaction(SIGXFSZ, &r->signals->size, NULL);
        if (!become(pw))
                child_fail(report, (struct failure){ FAILED_USER, errno });
        if (r->agent && access(r->agent, R_OK) < 0)
                child_fail(report, (struct failure){ FAILED_AGENT, errno });
        if (r->born)
                wait_for_leave(ends[2]);
        sigprocmask(SIG_SETMASK, &r->signals->mask, NULL);
        execve(r->file, r->argv, env);
        if (errno == ENOEXEC)
                execve("/bin/sh", shell_argv, env);
        child_fail(report, (struct failure){ FAILED_EXEC, errno });
}

static char **make_shell_argv(const struct spawn_request *r)
{
        size_t count = 0;
        char **argv;

        while (r->argv[count])
                count++;
        argv = heap_zero(count + 2, sizeof *argv);
        argv[0] = "/bin/sh";
        argv[1] = (char *)r->file;
        for (size_t i = 1; i < count; i++)
                argv[i + 1] = r->argv[i];
        return argv;
}

/* The pipe closes without a word when the child has become the program. */
static struct failure read_report(int fd)
{
        struct failure f = { FAILED_NOTHING, 0 };
        ssize_t n;

        do
                n = read(fd, &f, sizeof f);
        while (n < 0 && errno == EINTR);
        return n == (ssize_t)sizeof f ? f : (struct failure){ FAILED_NOTHING, 0 };
}

static pid_t report_failure(pid_t pid, struct failure f, const struct spawn_request *r,
                            struct err *e)
{
        waitpid(pid, NULL, 0);
        errno = f.why;
        if (f.what == FAILED_USER)
                err_sys(e, ERR_EXIT_CANNOT_TRACE, "cannot become user %s", r->user);
        else if (f.what == FAILED_AGENT)
                err_sys(e, ERR_EXIT_CANNOT_TRACE, "%s cannot read our library %s",
                        r->user ? r->user : "the program", r->agent);
        else
                err_sys(e,
                        f.why == ENOENT || f.why == ENOTDIR ? ERR_EXIT_NOT_FOUND
                                                            : ERR_EXIT_NOT_EXECUTABLE,
                        "cannot start %s", r->file);
        return -1;
}

/* The child is born: whoever waits for that is told, and then it may go on.  False: it ends. */
static bool let_go(const struct spawn_request *r, pid_t pid, int gate, struct err *e)
{
        if (!r->born)
                return true;
        if (r->born(r->context, pid, e) && write(gate, "", 1) == 1)
                return true;
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        return false;
}

static void close_all(const int *fds)
{
        for (int i = 0; i < 4; i++)
                if (fds[i] >= 0)
                        close(fds[i]);
}

pid_t spawn_start(const struct spawn_request *r, struct err *e)
{
        struct passwd *pw = r->user ? getpwnam(r->user) : NULL;
        char **env = make_environment(r, pw), **shell_argv = make_shell_argv(r);
        struct failure failure = { FAILED_NOTHING, 0 };
        int ends[4] = { -1, -1, -1, -1 }; /* of a pipe for a report, and of one to wait for */
        bool good = pipe2(ends, O_CLOEXEC) == 0 && (!r->born || pipe2(ends + 2, O_CLOEXEC) == 0);
        pid_t pid = good ? fork() : -1;

        if (pid == 0)
                child_run(r, pw, env, shell_argv, ends);
        free(shell_argv);
        free_environment(env);
        if (pid < 0) {
                err_sys(e, ERR_EXIT_CANNOT_TRACE,
                        good ? "cannot start a process" : "cannot make a pipe");
                close_all(ends);
                return -1;
        }
        close(ends[1]);
        ends[1] = -1;
        good = let_go(r, pid, ends[3], e);
        if (good)
                failure = read_report(ends[0]);
        close_all(ends);
        if (!good)
                return -1;
        return failure.what ? report_failure(pid, failure, r, e) : pid;
}
