/* SPDX-License-Identifier: MIT */
/*
 * budgets.c -- takes and loses what its arguments say, for `seep check`.
 *
 * Room:   tests only.  A step is a word, or word:value.
 *
 *   lose:COUNT:SIZE    COUNT lost blocks of lose_block
 *   other:COUNT:SIZE   the same of lose_other
 *   deep:LEVELS        one lost block of 8 bytes of lose_block, called by climb, which calls itself
 *                      so often
 *   group              a lost block of 64 bytes with two of 32 bytes hanging on it, by lose_group
 *   keep:SIZE          one block that a global points to, by keep_block
 *   peak:SIZE          one block that is freed at once, by peak_block
 *   render:COUNT       so many calls of malloc and free by mix, below audio_render
 *   say:TEXT           a line on stdout
 *   run                a child runs this program (or $BUDGETS_CHILD) with the steps that follow;
 *                      ends as it does
 *   exit:N  abort  kill
 *
 * Lines:  leak CLASS FUNCTION BYTES BLOCKS, then fact allocs=.. live=.. peak=..
 */
#include "leak.h"

#include <signal.h>
#include <sys/wait.h>

static size_t allocs, live, peak;

LEAK_ALONE static void count(size_t size)
{
        allocs++;
        live += size;
        peak = live > peak ? live : peak;
}

static void *kept[16];
static int kept_count;

MAKER(lose_block)
#ifdef SHIFTED
#line 1000
#endif
MAKER(lose_other)
MAKER(lose_group)
MAKER(keep_block)

LEAK_ALONE static void lose(void *(*maker)(const char *, size_t), long blocks, size_t size)
{
        for (long i = 0; i < blocks; i++) {
                maker(DEFINITE, size);
                count(size);
        }
}

LEAK_ALONE static void climb(long levels)
{
        if (levels > 1)
                climb(levels - 1);
        else
                lose(lose_block, 1, 8);
        __asm__ volatile(""); /* not a tail call */
}

LEAK_ALONE static void group(void)
{
        void **head = lose_group(DEFINITE, 64);

        count(64);
        for (int i = 0; i < 2; i++) {
                head[i] = lose_group(INDIRECT, 32);
                count(32);
        }
}

LEAK_ALONE static void keep(size_t size)
{
        kept[kept_count++] = keep_block(REACHABLE, size);
        count(size);
}

LEAK_ALONE static void peak_block(size_t size)
{
        void *p = malloc(size);

        count(size);
        LEAK_ESCAPE(p);
        free(p);
        live -= size;
}

LEAK_ALONE static void mix(void)
{
        void *p = malloc(48);

        count(48);
        LEAK_ESCAPE(p);
        free(p);
        live -= 48;
}

LEAK_ALONE static void audio_render(long calls)
{
        while (calls-- > 0)
                mix();
}

/* The rest of the steps in a process of its own. */
LEAK_ALONE static int run(char *program, char **steps)
{
        int status;
        pid_t pid = fork();

        if (pid == 0) {
                *steps = program;
                execv(getenv("BUDGETS_CHILD") ? getenv("BUDGETS_CHILD") : "/proc/self/exe", steps);
                _exit(99);
        }
        if (waitpid(pid, &status, 0) != pid)
                truth_die("budgets: no child\n");
        return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void tell_all(void)
{
        leak_tell();
        truth_say("fact allocs=%zu live=%zu peak=%zu\n", allocs, live, peak);
}

static int is(const char *word, const char *name)
{
        return strncmp(word, name, strlen(name)) == 0 && strchr(":", word[strlen(name)]);
}

/* One of "exit:N", "abort", "kill", or nothing. */
static int last_step(const char *word, long a)
{
        if (is(word, "exit"))
                return (int)a;
        tell_all();
        if (is(word, "abort"))
                abort();
        if (is(word, "kill"))
                raise(SIGKILL);
        truth_die("budgets: no such step\n");
        return 0;
}

/* WORD:A:B */
LEAK_ALONE static int step(const char *word)
{
        const char *first = strchr(word, ':'), *second = first ? strchr(first + 1, ':') : NULL;
        long a = first ? strtol(first + 1, NULL, 10) : 0,
             b = second ? strtol(second + 1, NULL, 10) : 0;

        if (is(word, "lose"))
                lose(lose_block, a, (size_t)b);
        else if (is(word, "other"))
                lose(lose_other, a, (size_t)b);
        else if (is(word, "deep"))
                climb(a);
        else if (is(word, "group"))
                group();
        else if (is(word, "keep"))
                keep((size_t)a);
        else if (is(word, "peak"))
                peak_block((size_t)a);
        else if (is(word, "render"))
                audio_render(a);
        else if (is(word, "say"))
                tell("%s\n", first + 1);
        else
                return last_step(word, a);
        return 0;
}

int main(int argc, char **argv)
{
        int status = 0;

        for (int i = 1; i < argc && !status; i++) {
                if (!strcmp(argv[i], "run")) {
                        status = run(argv[0], argv + i);
                        break;
                }
                status = step(argv[i]);
                leak_wipe();
        }
        tell_all();
        return status;
}
