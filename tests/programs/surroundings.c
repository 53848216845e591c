/* SPDX-License-Identifier: MIT */
/*
 * surroundings.c -- what a program sees of its environment, and starts others with; argv[1] names
 * the way.
 *
 * Room:   tests only.  "show" tells all views of the environment on stdout; any other word starts
 *         this program again with "show".  What differs with and without the tool goes to
 *         descriptor 3.
 */
#include "truth.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <wordexp.h>

extern char **environ;
static char *self;
static char early[1 << 16]; /* the environment as the first constructor sees it */

__attribute__((constructor(101))) static void look_early(void)
{
        size_t used = 0;

        for (char **e = environ; *e && used + strlen(*e) + 2 < sizeof early; e++)
                used += (size_t)sprintf(early + used, "%s\n", *e);
}

static void show_array(const char *title, char **array)
{
        printf("%s\n", title);
        for (char **e = array; *e; e++)
                printf("%s\n", *e);
}

/* Behind the environment, as runtimes find it; values differ from run to run. */
static void show_auxiliary(char **env)
{
        const ElfW(auxv_t) *a;

        while (*env)
                env++;
        for (a = (const void *)(env + 1); a->a_type != AT_NULL; a++)
                if (a->a_type != AT_IGNORE)
                        printf("auxiliary %lu %d\n", (unsigned long)a->a_type,
                               getauxval(a->a_type) == a->a_un.a_val);
}

static int mentions(const char *path, const char *word)
{
        static char text[1 << 20];
        int fd = open(path, O_RDONLY);
        size_t used = 0;
        ssize_t got;

        while (fd >= 0 && used < sizeof text &&
               (got = read(fd, text + used, sizeof text - used)) > 0)
                used += (size_t)got;
        close(fd);
        return memmem(text, used, word, strlen(word)) != NULL;
}

static int show(char **argv, char **env)
{
        int count = 0;

        while (argv[count])
                count++;
        printf("early\n%s", early);
        show_array("third argument", env);
        show_array("environ", environ);
        show_array("behind the arguments", argv + count + 1);
        show_auxiliary(argv + count + 1);
        printf("getenv %s %s\n", getenv("LD_PRELOAD") ? getenv("LD_PRELOAD") : "-",
               getenv("SEEP_SESSION") ? "?" : "-");
        fflush(stdout);
        truth_say("fact agent=%d\n", mentions("/proc/self/maps", "libseep.so"));
        truth_say("fact variables=%d\n", mentions("/proc/self/environ", "SEEP_SESSION"));
        truth_say("fact shown=%d\n", (int)getpid());
        return 0;
}

/* ---- ways that leave this process ---- */

static void by_execve(char **argv) { execve(self, argv, environ); }
static void by_execv(char **argv) { execv(self, argv); }
static void by_execvp(char **argv) { execvp(self, argv); }
static void by_execvpe(char **argv) { execvpe(self, argv, environ); }
static void by_execl(char **argv) { execl(self, argv[0], argv[1], (char *)NULL); }
static void by_execlp(char **argv) { execlp(self, argv[0], argv[1], (char *)NULL); }
static void by_execle(char **argv) { execle(self, argv[0], argv[1], (char *)NULL, environ); }
static void by_fexecve(char **argv) { fexecve(open(self, O_RDONLY | O_CLOEXEC), argv, environ); }

static void with_other(char **argv)
{
        char *other[] = {"ONE=1", "LD_PRELOAD=libm.so.6", "TWO=2", NULL};

        execve(self, argv, other);
}

static void with_nothing(char **argv)
{
        char *none[] = {NULL};

        execve(self, argv, none);
}

static void with_many(char **argv)
{
        static char texts[3000][16], *many[3001];

        for (int i = 0; i < 3000; i++) {
                sprintf(texts[i], "V%d=%d", i, i);
                many[i] = texts[i];
        }
        execve(self, argv, many);
}

static void with_changes(char **argv)
{
        setenv("ADDED", "by the program", 1);
        unsetenv("HOME");
        setenv("LD_PRELOAD", "libm.so.6", 1);
        execvp(self, argv);
}

static void when_cleared(char **argv)
{
        clearenv();
        setenv("ONLY", "this", 1);
        execv(self, argv);
}

/* As Go's runtime does. */
static void by_system_call(char **argv)
{
        syscall(SYS_execve, self, argv, environ);
}

static void say_result(const char *call, int result)
{
        int error = errno;

        printf("%s %d %d\n", call, result, error);
        errno = 0;
}

/* Environments that the kernel refuses to read; each call says so and returns.  Behind every other
 * page of memory is one that nobody can read. */
static void with_unreadable(char **argv)
{
        enum { PAGES = 64 << 10 }; /* the largest pages that there are */
        char *memory = mmap(NULL, 4 * PAGES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                            -1, 0);
        char **last = (char **)(void *)(memory + 3 * PAGES) - 1, *text = memory + PAGES - 8;
        char *entry[] = {"GOOD=1", memory + PAGES, NULL}, *unended[] = {text, NULL};
        char **bad[] = {last, entry, unended, (char **)(void *)(memory + PAGES), (char **)-64L};
        pid_t pid;

        *last = "GOOD=1";
        memset(text, 'x', 8);
        mprotect(memory + PAGES, PAGES, PROT_NONE);
        mprotect(memory + 3 * PAGES, PAGES, PROT_NONE);
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
                say_result("execve", execve(self, argv, bad[i]));
                say_result("execvpe", execvpe(self, argv, bad[i]));
                say_result("fexecve", fexecve(open(self, O_RDONLY | O_CLOEXEC), argv, bad[i]));
                say_result("posix_spawn", posix_spawn(&pid, self, NULL, NULL, argv, bad[i]));
        }
#ifdef __GLIBC__ /* musl takes it for an empty one */
        say_result("fexecve", fexecve(open(self, O_RDONLY | O_CLOEXEC), argv, NULL));
#endif
        environ = entry;
        say_result("system", system("exit 3"));
}

/* ---- ways that make a child ---- */

static void wait_for(pid_t pid)
{
        int status;

        if (pid < 0 || waitpid(pid, &status, 0) != pid)
                truth_die("surroundings: no child\n");
}

static void by_spawn(char **argv)
{
        pid_t pid = -1;

        posix_spawn(&pid, self, NULL, NULL, argv, environ);
        wait_for(pid);
}

static void by_spawnp(char **argv)
{
        pid_t pid = -1;

        posix_spawnp(&pid, self, NULL, NULL, argv, environ);
        wait_for(pid);
}

static void by_vfork(char **argv)
{
        pid_t pid = vfork();

        if (pid == 0) {
                execv(self, argv);
                _exit(127);
        }
        wait_for(pid);
}

static void by_fork(char **argv)
{
        pid_t pid = fork();

        if (pid == 0) {
                execv(self, argv);
                _exit(127);
        }
        wait_for(pid);
}

static char *command(char **argv)
{
        static char text[4096];

        snprintf(text, sizeof text, "'%s' %s", argv[0], argv[1]);
        return text;
}

/* The environment is the same again behind the call. */
static void by_system(char **argv)
{
        char **before = environ;

        if (system(command(argv)) != 0 || environ != before)
                truth_die("surroundings: system\n");
        if (system(NULL) == 0)
                truth_die("surroundings: no shell\n");
        fflush(stdout);
        show_array("behind system", environ);
        setenv("LATER", "1", 1);
        if (system("echo $LATER; exit 3") != 3 << 8)
                truth_die("surroundings: system again\n");
        show_array("behind the second", environ);
}

static void by_system_when_cleared(char **argv)
{
        clearenv();
        if (system(command(argv)) != 0)
                truth_die("surroundings: system\n");
        setenv("ONLY", "this", 1);
        show_array("behind system", environ);
}

/* Another thread changes the environment while system() waits for its child, which waits for
 * that. */
static void *change(void *unused)
{
        char word;

        if (read(6, &word, 1) != 1)
                truth_die("surroundings: no word from the child\n");
        setenv("HOME", "elsewhere", 1);
        unsetenv("LC_ALL");
        setenv("ADDED", "meanwhile", 1);
        setenv("HOME", "elsewhere again", 1);
        if (write(9, "\n", 1) != 1)
                truth_die("surroundings: no word to the child\n");
        return unused;
}

/* Shells know descriptors of one digit only. */
static void make_pipe(int out, int in)
{
        int ends[2];

        if (pipe(ends) || dup2(ends[0], out) < 0 || dup2(ends[1], in) < 0)
                truth_die("surroundings: no pipe\n");
}

static void by_system_with_changes(char **argv)
{
        static char text[5000];
        pthread_t other;

        make_pipe(6, 7);
        make_pipe(8, 9);
        if (pthread_create(&other, NULL, change, NULL))
                truth_die("surroundings: no thread\n");
        snprintf(text, sizeof text, "%s; echo >&7; read line <&8", command(argv));
        if (system(text) != 0)
                truth_die("surroundings: system\n");
        pthread_join(other, NULL);
        show_array("behind system", environ);
        setenv("LATER", "1", 1);
        show_array("later", environ);
}

static void by_popen(char **argv)
{
        FILE *f = popen(command(argv), "r");
        char line[4096];

        while (f && fgets(line, sizeof line, f))
                fputs(line, stdout);
        if (!f || pclose(f) != 0)
                truth_die("surroundings: popen\n");
        show_array("behind popen", environ);
}

static void by_wordexp(char **argv)
{
        static char text[5000];
        wordexp_t out;

        snprintf(text, sizeof text, "\"$(%s)\"", command(argv));
        if (wordexp(text, &out, 0) != 0 || out.we_wordc != 1)
                truth_die("surroundings: wordexp\n");
        puts(out.we_wordv[0]);
        show_array("behind wordexp", environ);
}

static const struct {
        const char *name;
        void (*run)(char **argv);
} ways[] = {
        { "execve", by_execve },
        { "execv", by_execv },
        { "execvp", by_execvp },
        { "execvpe", by_execvpe },
        { "execl", by_execl },
        { "execlp", by_execlp },
        { "execle", by_execle },
        { "fexecve", by_fexecve },
        { "other", with_other },
        { "nothing", with_nothing },
        { "many", with_many },
        { "changes", with_changes },
        { "cleared", when_cleared },
        { "call", by_system_call },
        { "unreadable", with_unreadable },
        { "spawn", by_spawn },
        { "spawnp", by_spawnp },
        { "vfork", by_vfork },
        { "fork", by_fork },
        { "system", by_system },
        { "popen", by_popen },
        { "wordexp", by_wordexp },
        { "cleared-system", by_system_when_cleared },
        { "changed-system", by_system_with_changes },
};

#ifdef AS_GO
/* The note that Go's linker puts into its programs. */
__attribute__((section(".note.go.buildid"), used, aligned(4))) static const struct {
        unsigned name_bytes, bytes, type;
        char name[4], text[4];
} note = {4, 4, 4, "Go", "abc"};
#endif

int main(int argc, char **argv, char **env)
{
        char *again[] = {argv[0], "show", NULL};

        self = argv[0];
        if (argc > 1 && !strcmp(argv[1], "show"))
                return show(argv, env);
        for (size_t i = 0; argc > 1 && i < sizeof ways / sizeof ways[0]; i++)
                if (!strcmp(argv[1], ways[i].name))
                        ways[i].run(again);
        return 0;
}
