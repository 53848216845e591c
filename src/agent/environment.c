/* SPDX-License-Identifier: MIT */
/*
 * environment.c -- our variables: taken out of what the program sees, and given to the
 * programs that it starts.
 *
 * Room:   inside; see environment.h.
 * Keeps:  nothing waits.  Memory that was lent as an environment is never unmapped: another thread
 *         may be reading it.  It is not listed as ours, because it holds the program's pointers.
 */
#include "agent/environment.h"

#include <elf.h>
#include <link.h>

#include "agent/agent.h"
#include "agent/arena.h"
#include "agent/bytes.h"
#include "agent/executable.h"
#include "agent/real.h"
#include "agent/sys.h"

#include "agent/guest.h"

#define PRELOAD "LD_PRELOAD="
#define SESSION WIRE_SESSION_ENV "="
#define FILLER WIRE_FILLER_ENV "="

#define WORDS_MAX 8192u     /* entries of an environment that we copy, on a stack
                             * whose size we do not know */
#define PRELOAD_MAX 4096u   /* bytes of the program's own LD_PRELOAD */
#define NOTE_GO_BUILD_ID 4u /* of "Go": where its linker puts the number of the build */

/* The program's: the copy in the executable, if it has one, else the C library's. */
extern char **environ __attribute__((weak));

static char session_variable[sizeof SESSION + WIRE_SESSION_MAX];
static char filler_variable[] = FILLER;

/* The environment that the program has while environment_lend() is in force. */
static struct {
        char **own;     /* the one that it had before */
        char *preload;  /* the entry LD_PRELOAD in it; NULL none */
        char **lent;    /* memory for the other one ... */
        size_t room;    /* ... and its bytes */
        uint32_t users; /* calls that need it */
        bool made;
} loan;

/* ---- LD_PRELOAD ---- */

static bool ends_name(char c)
{
        return !c || c == ':' || c == ' ' || c == '\t';
}

/* Where our library stands in VALUE, a list; NULL when it does not. */
static const char *find_library(const char *value)
{
        const char *library = real_library();

        for (const char *at = value; library && *at;) {
                const char *rest = bytes_after(at, library);

                if (rest && ends_name(*rest))
                        return at;
                while (!ends_name(*at))
                        at++;
                at += *at != 0;
        }
        return NULL;
}

/* ENTRY, an LD_PRELOAD that names our library, as it was before; NULL: there was none.  A separator
 * alone tells that it was empty. */
static char *without_library(char *entry)
{
        static char text[PRELOAD_MAX];
        const char *value = bytes_after(entry, PRELOAD), *at = find_library(value),
                   *rest = at + strlen(real_library());
        size_t before = (size_t)(at - entry), after;

        if (at == value && !*rest)
                return NULL;
        if (*rest)
                rest++;
        else
                before--;
        after = strlen(rest);
        if (before + after >= sizeof text)
                return entry;
        memcpy(text, entry, before);
        memcpy(text + before, rest, after + 1);
        return text;
}

/* ---- hiding ---- */

static bool is_ours(const char *entry)
{
        return bytes_after(entry, SESSION) || bytes_after(entry, FILLER);
}

/* ENTRY as the program is to see it; NULL: not at all. */
static char *visible(char *entry)
{
        const char *value = bytes_after(entry, PRELOAD);

        if (is_ours(entry))
                return NULL;
        return value && find_library(value) ? without_library(entry) : entry;
}

/* Whether [AT, END), which are notes, say that Go's linker was here. */
static bool notes_name_go(const char *at, const char *end)
{
        while (at + sizeof(ElfW(Nhdr)) <= end) {
                const ElfW(Nhdr) *n = (const void *)at;
                const char *name = at + sizeof *n;

                at = name + ((n->n_namesz + 3) & ~3u) + ((n->n_descsz + 3) & ~3u);
                if (n->n_type == NOTE_GO_BUILD_ID && n->n_namesz == 4 && at <= end &&
                    bytes_same_text(name, "Go"))
                        return true;
        }
        return false;
}

/* The program's headers, as the auxiliary vector tells them. */
struct headers {
        const ElfW(Phdr) *at;
        arch_word count, bias;
        bool placed;
};

static struct headers read_headers(const ElfW(auxv_t) *auxiliary)
{
        struct headers h = { 0 };

        for (; auxiliary->a_type != AT_NULL; auxiliary++) {
                if (auxiliary->a_type == AT_PHDR)
                        h.at = (const void *)auxiliary->a_un.a_val;
                if (auxiliary->a_type == AT_PHNUM)
                        h.count = auxiliary->a_un.a_val;
        }
        for (uint64_t i = 0; h.at && i < h.count; i++)
                if (h.at[i].p_type == PT_PHDR) {
                        h.bias = (arch_word)h.at - h.at[i].p_vaddr;
                        h.placed = true;
                }
        return h;
}

static bool is_loaded(const struct headers *h, const ElfW(Phdr) *part)
{
        for (uint64_t i = 0; i < h->count; i++)
                if (h->at[i].p_type == PT_LOAD && h->at[i].p_vaddr <= part->p_vaddr &&
                    h->at[i].p_vaddr + h->at[i].p_filesz >= part->p_vaddr + part->p_filesz)
                        return true;
        return false;
}

/* Go's runtime starts programs by system calls of its own, with the environment that it found at
 * the start: there is no other way to be passed on.  AUXILIARY lies behind the environment. */
static bool is_go(const ElfW(auxv_t) *auxiliary)
{
        struct headers h = read_headers(auxiliary);

        for (uint64_t i = 0; h.placed && i < h.count; i++) {
                const char *notes = (const char *)(h.bias + h.at[i].p_vaddr);

                if (h.at[i].p_type == PT_NOTE && is_loaded(&h, &h.at[i]) &&
                    notes_name_go(notes, notes + h.at[i].p_filesz))
                        return true;
        }
        return false;
}

/* Programs find the auxiliary vector behind the environment: entries that are to be ignored keep it
 * there.  Each is as long as two of the environment, of which we therefore add an even number. */
static void close_gap(char **end, size_t gap)
{
        ElfW(auxv_t) *a = (void *)(end + 1);

        *end = NULL;
        for (size_t i = 0; i < gap / 2; i++)
                a[i] = (ElfW(auxv_t)){ .a_type = AT_IGNORE };
}

bool environment_remember(const char *session)
{
        size_t length = strlen(session);

        if (sizeof SESSION + length > sizeof session_variable)
                return false;
        memcpy(session_variable, SESSION, sizeof SESSION - 1);
        memcpy(session_variable + sizeof SESSION - 1, session, length + 1);
        return true;
}

void environment_hide(char **env, const char *session)
{
        size_t count = 0, hidden = 0, kept = 0;

        if (!environment_remember(session))
                return;
        for (; env[count]; count++)
                hidden += !visible(env[count]);
        if (hidden % 2 || is_go((const void *)(env + count + 1)))
                return;
        for (size_t i = 0; i < count; i++) {
                char *entry = visible(env[i]);

                if (entry)
                        env[kept++] = entry;
        }
        close_gap(env + kept, hidden);
}

static void write_hex(char *to, uint64_t value)
{
        for (int shift = 8 * WIRE_FLAGS_DIGITS / 2 - 4; shift >= 0; shift -= 4)
                *to++ = "0123456789abcdef"[value >> shift & 15];
}

/* FLAGS is the second field. */
void environment_filters(uint32_t number)
{
        const char *end;
        char *flags = session_variable;

        for (int fields = 2; *flags && fields; flags++)
                fields -= *flags == ':';
        end = flags;
        if (bytes_hex(&end) && end - flags == WIRE_FLAGS_DIGITS)
                write_hex(flags, (uint64_t)number << 32 | agent.flags | WIRE_F_FILTERS);
}

/* ---- giving ---- */

static bool is_followed(enum environment_who who)
{
        if (!session_variable[0])
                return false;
        return agent.follow != FOLLOW_NONE || (who == ENVIRONMENT_EXEC && sys_pid() == agent.pid);
}

static char *const *or_empty(char *const *env)
{
        static char *const empty[] = { NULL };

        return env ? env : empty;
}

static bool is_text(const char *text)
{
        uint64_t known = 0;

        do
                if (!sys_readable_page(text, &known))
                        return false;
        while (*text++);
        return true;
}

/* The number of entries in ENV; -1: there are some that nobody can read, and who passes it to the
 * kernel is told so by EFAULT. */
static long count_entries(char *const *env)
{
        uint64_t known = 0;
        long count;

        for (count = 0; sys_readable_page(&env[count], &known) &&
                        sys_readable_page((const char *)&env[count + 1] - 1, &known);
             count++) {
                if (!env[count])
                        return count;
                if (!is_text(env[count]))
                        break;
        }
        return -1;
}

/* Its number in ENV; COUNT when there is none.  The loader takes the last one. */
static size_t find_preload(char *const *env, size_t count)
{
        size_t i = count;

        while (i-- > 0)
                if (bytes_after(env[i], PRELOAD))
                        return i;
        return count;
}

bool environment_leads_on(char *const *env)
{
        long count;

        if (session_variable[0] || (agent.follow == FOLLOW_NONE && sys_pid() != agent.pid))
                return is_followed(ENVIRONMENT_EXEC);
        env = or_empty(env);
        count = count_entries(env); /* plain LD_PRELOAD: we add nothing */
        return count > 0 && find_preload(env, (size_t)count) < (size_t)count;
}

size_t environment_bytes(char *const *env, enum environment_who who, const char *library)
{
        size_t count, text = sizeof PRELOAD + 1, at;
        long entries;

        env = or_empty(env);
        if (!is_followed(who))
                return 0;
        entries = count_entries(env);
        if (entries < 0 || entries > (long)WORDS_MAX)
                return 0;
        count = (size_t)entries;
        for (size_t i = 0; i < count; i++)
                if (bytes_after(env[i], SESSION))
                        return 0;
        at = find_preload(env, count);
        if (at < count)
                text += strlen(env[at]);
        return (count + 3) * sizeof *env + text + strlen(library);
}

/* LD_PRELOAD at TO with LIBRARY first.  A separator tells that there was one BEFORE, even an empty
 * one. */
static void write_preload(char *to, const char *before, const char *library)
{
        size_t length = strlen(library);

        memcpy(to, PRELOAD, sizeof PRELOAD - 1);
        to += sizeof PRELOAD - 1;
        memcpy(to, library, length + 1);
        if (!before)
                return;
        to[length] = ':';
        memcpy(to + length + 1, before, strlen(before) + 1);
}

char **environment_extend(char *const *env, void *memory, const char *library)
{
        char **out = memory, *text;
        size_t count = 0, at;
        const char *before = NULL;

        env = or_empty(env);
        for (; env[count]; count++)
                out[count] = env[count];
        text = (char *)(out + count + 3);
        at = find_preload(env, count);
        if (at < count)
                before = bytes_after(env[at], PRELOAD);
        if (!before || !find_library(before)) {
                write_preload(text, before, library);
                out[at] = text;
        }
        count += !before;
        out[count++] = session_variable;
        if (before)
                out[count++] = filler_variable;
        out[count] = NULL;
        return out;
}

char **environment_now(void)
{
        return &environ ? environ : NULL;
}

/* ---- lending ---- */

static bool loan_memory(size_t bytes)
{
        size_t whole = (bytes + sizeof(char *) + SYS_PAGE - 1) & ~(SYS_PAGE - 1);
        char **memory;

        if (loan.room >= bytes)
                return true;
        memory = sys_memory(whole);
        if (!memory)
                return false;
        loan.room = whole - sizeof *memory;
        loan.lent = memory + 1;
        return true;
}

/* For a shell. */
static void make_loan(char **own)
{
        const char *library = executable_library(executable_refuses("/bin/sh", EXECUTABLE_ALONE));
        size_t bytes = library ? environment_bytes(own, ENVIRONMENT_CHILD, library) : 0, count = 0;

        if (!bytes || !loan_memory(bytes))
                return;
        while (own && own[count])
                count++;
        loan.preload = own ? own[find_preload(own, count)] : NULL;
        loan.own = own;
        loan.made = true;
        loan.lent[-1] = (char *)own; /* what holds it, for a search for leaks */
        environment_extend(own, loan.lent, library);
        __atomic_compare_exchange_n(&environ, &own, loan.lent, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_RELAXED);
}

void environment_lend(void)
{
        if (__atomic_fetch_add(&loan.users, 1, __ATOMIC_ACQ_REL) == 0 && &environ)
                make_loan(environ);
}

/* ENTRY of a lent environment as the program had it; NULL: it had none. */
static char *own_entry(char *entry)
{
        if (entry == session_variable || entry == filler_variable)
                return NULL;
        return entry >= (char *)loan.lent && entry < (char *)loan.lent + loan.room ? loan.preload
                                                                                   : entry;
}

/* FROM without what is ours, in TO, which may be the same. */
static void take_back(char **from, char **to)
{
        size_t kept = 0;

        for (size_t i = 0; from[i]; i++) {
                char *entry = own_entry(from[i]);

                if (entry && to[kept] != entry)
                        to[kept] = entry;
                kept += entry != NULL;
        }
        if (to[kept])
                to[kept] = NULL;
}

/* What the program changed meanwhile it has changed in the lent one, or in a copy of that. */
static void end_loan(char **now)
{
        if (now && now != loan.lent)
                take_back(now, now);
        if (now == loan.lent) {
                if (loan.own)
                        take_back(now, loan.own);
                __atomic_store_n(&environ, loan.own, __ATOMIC_RELEASE);
        }
        loan.made = false;
        loan.lent[-1] = NULL;
        for (size_t i = 0; loan.lent[i]; i++)
                loan.lent[i] = NULL; /* pointers that nobody changes any more would hide leaks */
}

void environment_give_back(void)
{
        if (__atomic_sub_fetch(&loan.users, 1, __ATOMIC_ACQ_REL) == 0 && loan.made)
                end_loan(environ);
}
