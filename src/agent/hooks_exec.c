/* SPDX-License-Identifier: MIT */
/*
 * hooks_exec.c -- the program becomes another one, or starts one: what it lost must be found
 * before, and the other one is recorded too.
 *
 * Room:   inside; called by the program, also in children of vfork, which share our memory.
 * Keeps:  a file that is not there is no end of the program: no search then.  One that turns out
 *         not to be executable costs a search in vain.  The environment of the new program lies in
 *         the frame of the hook, which a search reads: it is made behind the search.
 */
#include <stdarg.h>

#include "agent/agent.h"
#include "agent/apart.h"
#include "agent/bytes.h"
#include "agent/environment.h"
#include "agent/executable.h"
#include "agent/hook.h"
#include "agent/life.h"
#include "agent/real.h"
#include "agent/search_request.h"
#include "agent/space.h"
#include "agent/sys.h"

#include "agent/guest.h"

int hook_execve(const char *path, char *const *argv, char *const *env) HOOK("execve");
int hook_execv(const char *path, char *const *argv) HOOK("execv");
int hook_execvp(const char *file, char *const *argv) HOOK("execvp");
int hook_execvpe(const char *file, char *const *argv, char *const *env) HOOK("execvpe");
int hook_fexecve(int fd, char *const *argv, char *const *env) HOOK("fexecve");
int hook_execveat(int fd, const char *path, char *const *argv, char *const *env, int flags)
        HOOK("execveat");
int hook_execl(const char *path, const char *word, ...) HOOK("execl");
int hook_execlp(const char *file, const char *word, ...) HOOK("execlp");
int hook_execle(const char *path, const char *word, ...) HOOK("execle");
int hook_system(const char *command) HOOK("system");
int hook_wordexp(const char *words, void *out, int flags) HOOK("wordexp");

#define MAY_EXECUTE 1

static bool is_there(const char *path)
{
        return !sys_failed(sys_access(path, MAY_EXECUTE));
}

#define LEAVE(there)                                                           \
        do {                                                                   \
                if (search_request_wanted(LEDGER_SCAN_EXEC) && (there))        \
                        SCAN_ASK(LEDGER_SCAN_EXEC);                            \
        } while (0)

#define FOR_EXEC(env) ENVIRONMENT_FOR(ENVIRONMENT_EXEC, env, executable_library(fit))

/* Whether the next program says hello or not, this one has not ended by itself.  FILE, SEARCHED:
 * for space_lower().  REFUSES: it cannot have our library. */
#define BECOME(file, searched, env, REFUSES, CALL)                                                \
        struct space_limit limit;                                                                 \
        enum executable_how how = environment_leads_on(env) ? EXECUTABLE_EXEC : EXECUTABLE_ALONE; \
        enum executable_fit fit;                                                                  \
        bool lowered, refuses;                                                                    \
        int result;                                                                               \
                                                                                                  \
        apart_settle();                                                                           \
        life_leaving(true);                                                                       \
        fit = REFUSES;                                                                            \
        refuses = fit == EXECUTABLE_REFUSES;                                                      \
        lowered = (refuses || !environment_leads_on(env)) && space_lower(&limit, file, searched); \
        result = CALL;                                                                            \
        if (refuses && how != EXECUTABLE_ALONE)                                                   \
                executable_stays();                                                               \
        if (lowered)                                                                              \
                space_raise(&limit);                                                              \
        life_leaving(false);                                                                      \
        return result

int hook_execve(const char *path, char *const *argv, char *const *env)
{
        LEAVE(is_there(path));
        BECOME(path, false, env, executable_refuses(path, how),
               REAL(execve_)(path, argv, FOR_EXEC(env)));
}

int hook_execv(const char *path, char *const *argv)
{
        return hook_execve(path, argv, environment_now());
}

/* A name that PATH leads to is mostly there. */
int hook_execvpe(const char *file, char *const *argv, char *const *env)
{
        LEAVE(!bytes_find(file, '/') || is_there(file));
        BECOME(file, true, env, executable_refuses_name(file, how),
               REAL(execvpe_)(file, argv, FOR_EXEC(env)));
}

int hook_execvp(const char *file, char *const *argv)
{
        return hook_execvpe(file, argv, environment_now());
}

int hook_fexecve(int fd, char *const *argv, char *const *env)
{
        if (!env) /* glibc refuses that, and would take one of ours */
                return REAL(fexecve_)(fd, argv, NULL);
        LEAVE(fd >= 0);
        BECOME(NULL, false, env, executable_refuses_at(fd, "", how),
               REAL(fexecve_)(fd, argv, FOR_EXEC(env)));
}

int hook_execveat(int fd, const char *path, char *const *argv, char *const *env, int flags)
{
        LEAVE(true);
        BECOME(NULL, false, env, executable_refuses_at(fd, path, how),
               REAL(execveat_)(fd, path, argv, FOR_EXEC(env), flags));
}

static size_t count_words(va_list words)
{
        size_t count = 1;

        while (va_arg(words, const char *))
                count++;
        return count;
}

/* WORDS is left behind the last one: what a va_list that is passed by itself is not everywhere. */
static void copy_words(const char **to, const char *first, va_list *words)
{
        *to++ = first;
        while ((*to++ = va_arg(*words, const char *)))
                ;
}

/* The words behind WORD as an array on the stack; LIST is left behind the last of them. */
#define WORDS(array, word, list)                                                        \
        va_start(list, word);                                                           \
        array = __builtin_alloca((1 + (word ? count_words(list) : 0)) * sizeof *array); \
        va_end(list);                                                                   \
        va_start(list, word);                                                           \
        if (word)                                                                       \
                copy_words(array, word, &list);                                         \
        else                                                                            \
                *array = NULL

int hook_execl(const char *path, const char *word, ...)
{
        const char **array;
        va_list list;

        WORDS(array, word, list);
        va_end(list);
        return hook_execv(path, (char *const *)array);
}

int hook_execlp(const char *file, const char *word, ...)
{
        const char **array;
        va_list list;

        WORDS(array, word, list);
        va_end(list);
        return hook_execvp(file, (char *const *)array);
}

int hook_execle(const char *path, const char *word, ...)
{
        char *const *env;
        const char **array;
        va_list list;

        WORDS(array, word, list);
        env = va_arg(list, char *const *);
        va_end(list);
        return hook_execve(path, (char *const *)array, env);
}

/* ---- programs started as children ---- */

#define SPAWN_PARAMETERS                                                                      \
        (int *out, const char *file, const void *actions, const void *how, char *const *argv, \
         char *const *env)

/* Their result is an error number, also when the C library has no such function. */
#define SPAWNS(NAME, REFUSES)                                                                  \
        int hook_##NAME SPAWN_PARAMETERS HOOK(#NAME);                                          \
        int hook_##NAME SPAWN_PARAMETERS                                                       \
        {                                                                                      \
                enum executable_how to = environment_bytes(env, ENVIRONMENT_CHILD, "")         \
                                             ? EXECUTABLE_SPAWN : EXECUTABLE_ALONE;            \
                int result;                                                                    \
                                                                                               \
                if (!real.NAME##_)                                                             \
                        real_need(&real.NAME##_);                                              \
                if (!real.NAME##_)                                                             \
                        return SYS_ENOSYS;                                                     \
                result = real.NAME##_(out, file, actions, how, argv,                           \
                                      ENVIRONMENT_FOR(ENVIRONMENT_CHILD, env,                  \
                                                      executable_library(REFUSES(file, to)))); \
                if (!result)                                                                   \
                        life_starts(true);                                                     \
                return result;                                                                 \
        }

SPAWNS(posix_spawn, executable_refuses)
SPAWNS(posix_spawnp, executable_refuses_name)
SPAWNS(pidfd_spawn, executable_refuses)
SPAWNS(pidfd_spawnp, executable_refuses_name)

/* The C library starts a shell by itself. */
int hook_system(const char *command)
{
        int result;

        environment_lend();
        result = REAL(system_)(command);
        environment_give_back();
        return result;
}

int hook_wordexp(const char *words, void *out, int flags)
{
        int result;

        environment_lend();
        result = REAL(wordexp_)(words, out, flags);
        environment_give_back();
        return result;
}
