/* SPDX-License-Identifier: MIT */
/*
 * main.c -- seep-target: programs with the agent in them, for a host that keeps the ledger.
 *
 * Keeps:  the program's standard input and output are its own, and so are the terminal's signals;
 *         it goes on when we are killed.
 */
#include "target/target.h"

#include <dirent.h>
#include <errno.h>

#include "target/arch/arch.h"

#define PATH_ROOM 1024u
#define OPTIONS_ROOM 512u
#define TICK_MS 5
#define HOLD_MS 60000u
#define VARIABLES_MOST 4096u

#define SIGNAL_HUP 1
#define SIGNAL_INT 2
#define SIGNAL_TERM 15
#define SIGNALS (1ull << (SIGNAL_HUP - 1) | 1ull << (SIGNAL_INT - 1) | 1ull << 2 /* QUIT */ | \
                 1ull << (SIGNAL_TERM - 1))

struct target target;

__asm__(".text\n" ARCH_START);

void main_start(const unsigned long *stack);

static struct {
        const char *listen, *token_file, *agent, *overflow, *follow;
        uint64_t mask; /* of signals, as we found it */
        bool wait, quiet, no_scan;
        char **program, **environment;
        struct attach_order attach;
        char folder[64], socket[96], library[PATH_ROOM], image[PATH_ROOM + 32],
                preload[2 * PATH_ROOM], options[OPTIONS_ROOM];
} main_ = { .listen = "localhost", .overflow = "block", .follow = "exec" };

/* ---- words ---- */

static void put_out(long fd, const char *text)
{
        sys_call3(SYS_write, fd, (long)text, (long)strlen(text));
}

static char *append(char *to, const char *text)
{
        memcpy(to, text, strlen(text) + 1);
        return to + strlen(text);
}

void say_more(const char *a, const char *b, const char *c)
{
        static char line[2 * PATH_ROOM];
        char *at = append(line, "seep-target: ");

        if (main_.quiet || strlen(a) + strlen(b) + strlen(c) + 32 > sizeof line)
                return;
        at = append(at, a);
        at = append(at, b);
        at = append(at, c);
        append(at, "\n");
        put_out(2, line);
}

void say(const char *text)
{
        say_more(text, "", "");
}

static void fail(int status, const char *a, const char *b)
{
        main_.quiet = false;
        say_more(a, b, "");
        kernel_exit(status);
}

static const char usage[] =
        "usage: seep-target [OPTIONS] -- PROGRAM [ARG...]\n"
        "       seep-target [OPTIONS] -p PID...\n"
        "Run PROGRAM, or attach to processes that run, and send what they allocate to\n"
        "'seep connect ADDR' on a host, which keeps the ledger. They wait for nobody, and go\n"
        "on when the host leaves.\n"
        "\n"
        "  --listen ADDR         where the host connects: localhost:PORT, IPv4:PORT,\n"
        "                        [IPv6]:PORT, a path with a slash, or . (your own\n"
        "                        socket) (localhost:4576)\n"
        "  --token-file FILE     the host must have the token in FILE, too\n"
        "  -p, --pid PID         a process that runs, up to 16 times; it is left as it was at\n"
        "                        the end (Ctrl-C)\n"
        "  --wait                begin when a host has connected\n"
        "  --overflow MODE       when the host is too slow: block (the program waits, ten\n"
        "                        seconds at most) or drop (events are left out, and counted)\n"
        "  --follow MODE         other processes: exec (programs that it starts), all (forked\n"
        "                        children, too) (exec)\n"
        "  --hold SECONDS        at the end, wait so long for a host, and so long for its\n"
        "                        search for leaks (60)\n"
        "  --no-leak-scan        the program does not wait at its end for a search for leaks\n"
        "  --agent FILE          libseep.so, where it is not found\n"
        "  --agents FD           start no program: what is recorded comes through descriptor FD,\n"
        "                        from seep serve --light -p PID, which attaches\n"
        "  -q, --quiet           print errors only\n"
        "  -h, --help            print this; --version: the version\n"
        "\n"
        "Exit status: the program's own (128+N when signal N killed it), 2 usage error,\n"
        "3 cannot be recorded, 126 not executable, 127 not found.\n";

static uint64_t take_number(const char *text, const char *why)
{
        uint64_t value = 0;
        const char *at = text;

        for (; *at >= '0' && *at <= '9' && value < 1000000; at++)
                value = value * 10 + (uint64_t)(*at - '0');
        if (at == text || (*at && !bytes_same_text(at, "s")))
                fail(2, why, "");
        return value;
}

/* The value of option NAME at *AT, in the same word or the next; NULL: it is another one. */
static const char *value_of(char ***at, const char *name)
{
        const char *rest = bytes_after(**at, name);

        if (!rest || (*rest && *rest != '='))
                return NULL;
        if (*rest == '=')
                return rest + 1;
        ++*at;
        if (!**at)
                fail(2, name, ": a value is missing; 'seep-target --help' tells more");
        return **at;
}

static void take_pid(const char *text)
{
        struct attach_order *o = &main_.attach;
        uint64_t pid = take_number(text, "-p needs the number of a process");

        if (!pid || o->count == ATTACH_MOST)
                fail(2, "-p takes the numbers of 1 to 16 processes, not ", text);
        for (uint32_t i = 0; i < o->count; i++)
                if (o->pids[i] == pid)
                        return;
        o->pids[o->count++] = (uint32_t)pid;
}

static bool take_flag(const char *word)
{
        if (bytes_same_text(word, "--wait"))
                main_.wait = true;
        else if (bytes_same_text(word, "-q") || bytes_same_text(word, "--quiet"))
                main_.quiet = true;
        else if (bytes_same_text(word, "--no-leak-scan"))
                main_.no_scan = true;
        else
                return false;
        return true;
}

static void take_words(char **at)
{
        for (; *at && **at == '-' && !bytes_same_text(*at, "--"); at++) {
                const char *value;

                if (bytes_same_text(*at, "-h") || bytes_same_text(*at, "--help")) {
                        put_out(1, usage);
                        kernel_exit(0);
                } else if (bytes_same_text(*at, "--version")) {
                        put_out(1, "seep-target " SEEP_VERSION "\n");
                        kernel_exit(0);
                } else if (take_flag(*at)) {
                        continue;
                } else if ((value = value_of(&at, "--listen"))) {
                        main_.listen = value;
                } else if ((value = value_of(&at, "--token-file"))) {
                        main_.token_file = value;
                } else if ((value = value_of(&at, "--overflow"))) {
                        main_.overflow = value;
                } else if ((value = value_of(&at, "--follow"))) {
                        main_.follow = value;
                } else if ((value = value_of(&at, "--hold"))) {
                        target.hold_ms =
                                1000 * take_number(value, "--hold needs a number of seconds");
                } else if ((value = value_of(&at, "--agents"))) {
                        target.agents =
                                (long)take_number(value, "--agents needs a descriptor's number");
                } else if ((value = value_of(&at, "--agent"))) {
                        main_.agent = value;
                } else if ((value = value_of(&at, "-p")) || (value = value_of(&at, "--pid"))) {
                        take_pid(value);
                } else if ((value = bytes_after(*at, "-p"))) {
                        take_pid(value);
                } else {
                        fail(2, *at, ": no such option; 'seep-target --help' lists them");
                }
        }
        main_.program = *at && bytes_same_text(*at, "--") ? at + 1 : at;
        if (!*main_.program && target.agents < 0 && !main_.attach.count)
                fail(2, "which program? seep-target [OPTIONS] -- PROGRAM [ARG...]", "");
        if (main_.attach.count && (*main_.program || target.agents >= 0))
                fail(2, "either a program is started, or -p says which processes run already", "");
        if (!bytes_same_text(main_.overflow, "block") && !bytes_same_text(main_.overflow, "drop"))
                fail(2, "--overflow is block or drop, not ", main_.overflow);
        if (!bytes_same_text(main_.follow, "exec") && !bytes_same_text(main_.follow, "all"))
                fail(2, "--follow is exec or all, not ", main_.follow);
}

/* ---- files ---- */

static void read_token(void)
{
        uint8_t status[256] = { 0 }, text[PROOF_TOKEN_MOST + 2];
        long fd, got = 0;
        uint16_t mode;

        if (!main_.token_file)
                return;
        fd = sys_open(main_.token_file);
        if (fd < 0 || sys_call6(SYS_statx, fd, (long)"", 0x1000, 2, (long)status, 0) != 0)
                fail(2, "cannot read the token ", main_.token_file);
        memcpy(&mode, status + 28, 2);
        if ((mode & 0170000) == 0100000 && (mode & 077))
                fail(2, "others may read or write the token: chmod 600 ", main_.token_file);
        got = sys_read(fd, text, sizeof text);
        sys_close(fd);
        while (target.token.length < (got > 0 ? (size_t)got : 0) &&
               target.token.length < PROOF_TOKEN_MOST && text[target.token.length] != '\n' &&
               text[target.token.length] != '\r') {
                target.token.bytes[target.token.length] = text[target.token.length];
                target.token.length++;
        }
        if (target.token.length < PROOF_TOKEN_LEAST)
                fail(2, "the first line must be a token of 16 to 1024 bytes: ", main_.token_file);
}

/* libseep.so, beside us or where it is installed. */
static void find_agent(void)
{
        static const char *const places[] = { "libseep.so", "../agent/libseep.so",
                                              "../lib/seep/libseep.so" };
        char own[PATH_ROOM] = { 0 };
        long got = sys_call6(SYS_readlinkat, SYS_AT_HERE, (long)"/proc/self/exe", (long)own,
                             sizeof own - 64, 0, 0);

        if (main_.agent) {
                if (*main_.agent != '/' || strlen(main_.agent) >= PATH_ROOM ||
                    sys_access(main_.agent, 4) != 0)
                        fail(2, "--agent needs the whole path of libseep.so, not ", main_.agent);
                append(main_.library, main_.agent);
                return;
        }
        while (got > 0 && own[got - 1] != '/')
                got--;
        for (uint32_t i = 0; got > 0 && i < sizeof places / sizeof *places; i++) {
                own[got] = 0;
                append(append(main_.library, own), places[i]);
                if (sys_access(main_.library, 4) == 0)
                        return;
        }
        fail(3, "libseep.so is not beside seep-target, nor in ../lib/seep; --agent FILE names it",
             "");
}

#define PLACE "/tmp/"
#define FOLDER "seep-target-"
#define YOUNG_S 10

/* Nobody listens in FOLDER, and nobody is about to. */
static bool is_left(const char *folder)
{
        struct kernel_unix a = { .family = KERNEL_UNIX };
        long fd = sys_call3(SYS_socket, KERNEL_UNIX,
                            KERNEL_SEQPACKET | SYS_O_CLOEXEC | SYS_O_NONBLOCK, 0), why;
        uint8_t status[256] = { 0 };
        int64_t changed_s;

        append(append(a.path, folder), "/hello");
        why = sys_call3(SYS_connect, fd, (long)&a,
                        (long)(sizeof a.family + strlen(a.path) + 1));
        sys_close(fd);
        if ((why != -ECONNREFUSED && why != -SYS_ENOENT) ||
            sys_call6(SYS_statx, SYS_AT_HERE, (long)folder, 0, 0x40, (long)status, 0) != 0)
                return false;
        memcpy(&changed_s, status + 112, sizeof changed_s);
        return (int64_t)(sys_clock_ns(SYS_CLOCK_REAL) / 1000000000u) - changed_s > YOUNG_S;
}

/* What is left of those of our user that were killed; what others put there is none of it. */
static void remove_left(void)
{
        DIR *d = opendir(PLACE);
        struct dirent *entry;

        while (d && (entry = readdir(d))) {
                char folder[64], file[96];

                if (!bytes_after(entry->d_name, FOLDER) || strlen(entry->d_name) > 40)
                        continue;
                append(append(folder, PLACE), entry->d_name);
                append(append(file, folder), "/hello");
                if (!listen_is_folder(folder) || !is_left(folder))
                        continue;
                sys_call3(SYS_unlinkat, SYS_AT_HERE, (long)file, 0);
                sys_call3(SYS_unlinkat, SYS_AT_HERE, (long)folder, 0x200 /* AT_REMOVEDIR */);
        }
        if (d)
                closedir(d);
}

static void make_socket(void)
{
        struct kernel_unix a = { .family = KERNEL_UNIX };
        uint8_t random[8] = { 0 };
        char *at = append(main_.folder, PLACE FOLDER);

        sys_call3(SYS_getrandom, (long)random, sizeof random, 0);
        for (uint32_t i = 0; i < sizeof random; i++)
                *at++ = (char)('a' + random[i] % 26);
        *at = 0;
        append(append(main_.socket, main_.folder), "/hello");
        memcpy(a.path, main_.socket, strlen(main_.socket) + 1);
        target.hellos = sys_call3(SYS_socket, KERNEL_UNIX, KERNEL_SEQPACKET | SYS_O_CLOEXEC, 0);
        if (sys_call3(SYS_mkdirat, SYS_AT_HERE, (long)main_.folder, 0700) != 0 ||
            sys_call3(SYS_bind, target.hellos, (long)&a,
                      (long)(sizeof a.family + strlen(a.path) + 1)) != 0 ||
            sys_call3(SYS_listen, target.hellos, 128, 0) != 0)
                fail(3, "no socket for the agent can be made in /tmp", "");
}

static void tidy_up(void)
{
        sys_call3(SYS_unlinkat, SYS_AT_HERE, (long)main_.socket, 0);
        sys_call3(SYS_unlinkat, SYS_AT_HERE, (long)main_.folder, 0x200 /* AT_REMOVEDIR */);
        listen_end();
}

/* ---- the program ---- */

static const char *variable(const char *name)
{
        for (char **at = main_.environment; *at; at++)
                if (bytes_after(*at, name))
                        return bytes_after(*at, name);
        return NULL;
}

/* As a shell finds it. */
static void become(char **environment)
{
        const char *path = variable("PATH="), *name = main_.program[0];
        char file[PATH_ROOM];
        long result = -SYS_ENOENT, last = -SYS_ENOENT;

        if (bytes_find(name, '/'))
                last = sys_call3(SYS_execve, (long)name, (long)main_.program, (long)environment);
        for (path = path ? path : "/usr/bin:/bin"; !bytes_find(name, '/') && *path;) {
                const char *end = bytes_find(path, ':');
                size_t length = end ? (size_t)(end - path) : strlen(path);

                if (length + strlen(name) + 2 < sizeof file) {
                        memcpy(file, path, length);
                        file[length] = '/';
                        append(file + length + 1, name);
                        result = sys_call3(SYS_execve, (long)file, (long)main_.program,
                                           (long)environment);
                        last = result == -SYS_ENOENT ? last : result;
                }
                path += length + (end != NULL);
        }
        fail(last == -SYS_ENOENT ? 127 : 126,
             last == -SYS_ENOENT    ? "not found: "
             : last == -SYS_ENOEXEC ? "no program of this processor, and no script: "
                                    : "cannot be executed: ",
             name);
}

#define OPTIONS "SEEP_OPTIONS="

static void make_options(void)
{
        char *at = append(append(main_.options, OPTIONS "--journal=target:"), main_.socket);

        at = append(append(at, " --overflow="), main_.overflow);
        at = append(append(at, " --follow="), main_.follow);
        append(at, main_.no_scan ? "" : " --leak-scan");
}

static void start_program(void)
{
        static char *environment[VARIABLES_MOST + 3];
        const char *preload = variable("LD_PRELOAD=");
        uint32_t count = 0;
        char *at;

        at = append(append(main_.preload, "LD_PRELOAD="), main_.library);
        if (preload && strlen(preload) < PATH_ROOM - 32)
                append(append(at, ":"), preload);
        make_options();
        for (char **from = main_.environment; *from && count < VARIABLES_MOST; from++)
                if (!bytes_after(*from, "LD_PRELOAD=") && !bytes_after(*from, OPTIONS) &&
                    !bytes_after(*from, "SEEP_SESSION="))
                        environment[count++] = *from;
        environment[count++] = main_.preload;
        environment[count++] = main_.options;
        target.started = true;
        target.child = kernel_fork();
        if (target.child == 0) {
                sys_block_signals(main_.mask);
                become(environment);
        }
        if (target.child < 0)
                fail(3, "no process can be started", "");
}

/* libseep-inject.so is beside libseep.so. */
static void attach(void)
{
        struct attach_order *o = &main_.attach;
        char *at = append(main_.image, main_.library);

        while (at > main_.image && at[-1] != '/')
                at--;
        append(at, "libseep-inject.so");
        if (sys_access(main_.image, 4) != 0)
                fail(3, "what is written into processes that run must be beside libseep.so: ",
                     main_.image);
        make_options();
        o->library = main_.library;
        o->image = main_.image;
        o->session = main_.options + strlen(OPTIONS);
        o->signals = SIGNALS;
        target.started = true;
        if (!attach_start(o))
                fail(3, "no process can be started", "");
}

/* Who attaches needs to know where agents of forked children find us. */
static void begin(void)
{
        if (main_.attach.count) {
                attach();
                return;
        }
        if (target.agents < 0) {
                start_program();
                return;
        }
        target.started = true;
        sys_call6(SYS_sendto, target.agents, (long)main_.socket, (long)strlen(main_.socket),
                  KERNEL_NOSIGNAL | KERNEL_DONTWAIT, 0, 0);
}

/* No more ledgers will come: nothing more is recorded. */
static void end_attached(void)
{
        int32_t status = 0;

        target.ended = true;
        source_leave_all();
        if (target.attacher && kernel_wait(target.attacher, &status, 0) == target.attacher &&
            status)
                target.exit = 3;
}

static void look_at_child(void)
{
        int32_t status = 0;

        if (!target.child || target.ended ||
            kernel_wait(target.child, &status, 1) != target.child || (status & 0xff) == 0x7f)
                return;
        target.ended = true;
        target.exit = status & 127 ? 128u + (status & 127) : (uint32_t)status >> 8 & 255;
        source_reaped(target.child, status);
}

/* ---- signals ---- */

/* Those of the terminal are the program's, and it has got them, too; the others are passed on.
 * Whether nobody is there to get them: then they are for us. */
static bool is_asked_to_leave(void)
{
        uint64_t set = arch_signals(SIGNALS);
        long now[2] = { 0, 0 };
        long number = sys_call6(SYS_rt_sigtimedwait, (long)&set, 0, (long)now, sizeof set, 0, 0);

        if (number <= 0)
                return false;
        if (target.ended || (!target.started && target.agents < 0))
                return true;
        /* Who attaches closes that when all is over; ours may not have got the signal. */
        if (target.attacher)
                sys_call3(SYS_kill, target.attacher, number, 0);
        if (target.agents >= 0)
                return false;
        if (number == SIGNAL_HUP || number == SIGNAL_TERM)
                sys_call3(SYS_kill, target.child, number, 0);
        return false;
}

/* ---- the loop ---- */

static void wait_and_serve(void)
{
        static struct kernel_poll p[TARGET_SOURCES + 4 + GUESTS_MOST];
        struct host *h = &target.host;
        bool room = h->stage == HOST_STREAMS && host_has_room(PROTOCOL_BODY_MAX);

        p[0] = (struct kernel_poll){ (int32_t)target.listener, KERNEL_IN, 0 };
        p[1] = (struct kernel_poll){ (int32_t)target.hellos, KERNEL_IN, 0 };
        p[2] = (struct kernel_poll){ h->stage ? (int32_t)h->fd : -1,
                                     (int16_t)(KERNEL_IN | (h->out_used ? KERNEL_OUT : 0)), 0 };
        for (uint32_t i = 0; i < TARGET_SOURCES; i++)
                p[i + 3] = (struct kernel_poll){
                        room && target.sources[i].used ? (int32_t)target.sources[i].pipe : -1,
                        KERNEL_IN, 0
                };
        p[TARGET_SOURCES + 3] = (struct kernel_poll){
                (int32_t)(target.ended ? -1 : target.agents), KERNEL_IN, 0
        };
        guests_poll(p + TARGET_SOURCES + 4);
        kernel_poll(p, TARGET_SOURCES + 4 + GUESTS_MOST, TICK_MS);
        if (p[1].revents)
                source_hello();
        if (p[TARGET_SOURCES + 3].revents && !source_attached())
                end_attached();
        look_at_child();
        reader_reap();
        source_tick();
        for (uint32_t i = 0; i < TARGET_SOURCES; i++)
                if (p[i + 3].revents && target.sources[i].used && target.sources[i].pipe >= 0)
                        source_reads(&target.sources[i]);
        if (p[2].revents & (KERNEL_IN | KERNEL_BROKEN) && h->stage)
                host_reads();
        source_asks();
        host_state();
        if (h->stage)
                host_writes();
        if (h->stage && h->stage != HOST_STREAMS &&
            kernel_now_ms() - h->since_ms > TARGET_GREETING_MS)
                host_leaves("it said nothing");
        guests_look(p + TARGET_SOURCES + 4);
        if (p[0].revents)
                guests_arrive();
}

/* All is over: whether a host has it, or nobody came for it in time.  A host that is there is sent
 * everything, whatever --hold says, and has some time to store it. */
static bool is_fetched(void)
{
        static uint64_t since_ms; /* nothing more is to be sent */
        static bool had_host;
        const struct host *h = &target.host;
        bool has_host = h->stage == HOST_STREAMS;
        uint64_t patience = has_host && target.hold_ms < TARGET_PATIENCE_MS ? TARGET_PATIENCE_MS
                                                                            : target.hold_ms;

        if (!since_ms || has_host != had_host || (has_host && (!h->over_told || h->out_used)))
                since_ms = kernel_now_ms();
        had_host = has_host;
        return target.got || (!has_host && !target.next_number) ||
               kernel_now_ms() - since_ms >= patience;
}

/* No process ever said hello.  Of one that could not be executed it was told. */
static void say_nothing_recorded(void)
{
        if (!target.next_number && target.agents < 0 && target.exit != 126 && target.exit != 127)
                say("nothing was recorded: the program does not load libseep.so; it is statically "
                    "linked, has raised rights, or is of another processor");
}

/* Until the program and those that it started are over, and a host has what there is, or none
 * came. */
static void serve(void)
{
        bool said = false, fetched = false;

        while (!fetched) {
                wait_and_serve();
                if (is_asked_to_leave())
                        return;
                if (!target.started && (!main_.wait || target.host.stage == HOST_STREAMS))
                        begin();
                if (!target.ended || !source_all_over())
                        continue;
                fetched = is_fetched();
                if (!said && !fetched && target.host.stage == HOST_NONE && target.hold_ms)
                        say("the program has ended; waiting for a host that fetches what is known "
                            "of it (--hold SECONDS; Ctrl-C ends this)");
                said = said || target.host.stage == HOST_NONE;
        }
        say_nothing_recorded();
        host_writes();
}

/* Behind the environment the kernel tells how large a page is, where it decides that. */
static void find_page(void)
{
        const unsigned long *fact;
        char **end = main_.environment;

        while (*end)
                end++;
        for (fact = (const unsigned long *)(end + 1); fact[0]; fact += 2)
                if (fact[0] == 6 /* AT_PAGESZ */)
                        sys_page_bytes = fact[1];
}

void main_start(const unsigned long *stack)
{
        char **words = (char **)(stack + 1);
        const char *why = NULL;

        target.listener = target.hellos = target.host.fd = target.agents = -1;
        target.hold_ms = HOLD_MS;
        main_.environment = words + stack[0] + 1;
        find_page();
        target.uid = (uint32_t)sys_call3(KERNEL_GETEUID, 0, 0, 0);
        target.controls = sys_map(NULL, TARGET_SOURCES * sizeof *target.controls + SYS_PAGE,
                                  PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1);
        take_words(words + 1);
        read_token();
        find_agent();
        if (!listen_at(main_.listen, &why))
                fail(2, why, "");
        main_.mask = sys_block_signals(0);
        sys_block_signals(main_.mask | SIGNALS);
        remove_left();
        make_socket();
        serve();
        tidy_up();
        kernel_exit((int)target.exit);
}
