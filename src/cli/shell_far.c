/* SPDX-License-Identifier: MIT */
/*
 * shell_far.c -- `seep shell ADDR`: the processes that `seep serve` records elsewhere.
 *
 * Keeps:  questions go over the link (link_route), each through a connection of its own, so a link
 *         that was down is not noticed by the next command.  A target keeps what has ended for a
 *         while only: it is fetched when that is known, and at a prompt that is at once.  It is
 *         not called stored: whoever leaves the shell loses nothing.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/plain.h"
#include "cli/message.h"
#include "cli/names.h"
#include "cli/newest.h"
#include "cli/record.h"
#include "cli/shell.h"
#include "remote/light.h"

struct shell_far {
        const char *address;
        struct link link;
        struct light light;
        struct link_connection news; /* at a prompt: a list is asked for ... */
        struct link_list known;      /* ... that is another than this one */
        bool has_news, no_news;      /* no_news: it cannot be reached just now */
};

bool shell_far_is_address(const char *word)
{
        struct in_addr unused;
        struct stat st;
        uint32_t pid;

        if (newest_is_process(word, &pid))
                return false;
        if (stat(word, &st) == 0 && strcmp(word, ".") != 0)
                return S_ISSOCK(st.st_mode);
        return strcmp(word, ".") == 0 || strchr(word, ':') || strcmp(word, "localhost") == 0 ||
               inet_pton(AF_INET, word, &unused) == 1;
}

const char *shell_far_name(const struct shell *s)
{
        return s->far->address;
}

/* ---- what there is ---- */

static const struct protocol_process *find(const struct link_list *l, uint32_t pid, bool ended)
{
        for (uint32_t i = l->count; i > 0; i--)
                if (l->at[i - 1].pid == pid &&
                    !!(l->at[i - 1].flags & PROTOCOL_PROCESS_ENDED) == ended)
                        return &l->at[i - 1];
        return NULL;
}

static struct shell_target *add(struct shell *s, const struct protocol_process *p)
{
        struct shell_target *t;
        char number[16];

        snprintf(number, sizeof number, "%" PRIu32, p->pid);
        t = shell_target_add(s, number, p->pid);
        t->far = true;
        t->program = heap_text(p->program);
        plain_name(t->program);
        return t;
}

/* Those that are new, the MAIN one first; of those that have ended, their recordings.  A process
 * that is not in the list any more may have its recording in a later one. */
static bool take_list(struct shell *s, struct link_connection *to, const struct link_list *l,
                      struct err *e)
{
        const struct protocol_process *main = link_main(l);

        if (main && !shell_target_of(s, main->pid))
                add(s, main);
        for (uint32_t i = 0; i < l->count; i++)
                if (!shell_target_of(s, l->at[i].pid))
                        add(s, &l->at[i]);
        for (uint32_t i = 0; i < s->count; i++) {
                struct shell_target *t = s->targets[i];
                const struct protocol_process *end;

                if (!t->far || (t->gone && t->look >= 0) || find(l, t->pid, false))
                        continue;
                end = find(l, t->pid, true);
                t->look = end ? link_fetch(to, end->number, e) : -1;
                if (end && t->look < 0)
                        return false;
                t->number = end ? end->number : 0;
                t->gone = true;
        }
        return true;
}

bool shell_far_look(struct shell *s, struct err *e)
{
        struct link_connection *to = heap_zero(1, sizeof *to);
        struct link_list l = { 0 };
        bool good = link_connect(&s->far->link, to, e);

        if (good) {
                good = link_list(to, &l, NULL, e) && take_list(s, to, &l, e);
                link_disconnect(to);
        }
        s->far->no_news = s->far->no_news && !good;
        link_list_free(&l);
        free(to);
        return good;
}

/* ---- news ---- */

static void end_news(struct shell_far *f)
{
        if (f->has_news)
                link_disconnect(&f->news);
        f->has_news = false;
}

int shell_far_bell(struct shell *s)
{
        struct shell_far *f = s->far;
        struct err unused = { 0 };

        if (!f || f->no_news)
                return -1;
        if (!f->has_news) {
                f->has_news = link_connect(&f->link, &f->news, &unused);
                if (f->has_news && !link_list_ask(&f->news, &f->known, &unused))
                        end_news(f);
                f->no_news = !f->has_news;
        }
        return f->has_news ? f->news.channel.in : -1;
}

void shell_far_rung(struct shell *s)
{
        struct shell_far *f = s->far;
        struct err unused = { 0 };

        if (!link_list_take(&f->news, &f->known, &unused) ||
            !take_list(s, &f->news, &f->known, &unused) ||
            !link_list_ask(&f->news, &f->known, &unused))
                end_news(f);
        f->no_news = !f->has_news; /* until it can be reached again */
}

/* ---- from beginning to end ---- */

static void say(const char *text)
{
        message_sentence(text);
}

/* Until the program runs: it may wait for us. */
static bool await_program(struct shell *s, struct err *e)
{
        static const volatile sig_atomic_t never;
        struct link_connection *to = heap_zero(1, sizeof *to);
        struct link_list l = { 0 };
        bool good = link_connect(&s->far->link, to, e);

        if (good) {
                good = link_list(to, &l, NULL, e);
                while (good && !l.count && l.head.state != PROTOCOL_STATE_ENDED)
                        good = link_list(to, &l, &never, e);
                good = good && take_list(s, to, &l, e);
                link_disconnect(to);
        }
        if (good && !s->count)
                good = err_set(e, ERR_EXIT_CANNOT_TRACE, "nothing was recorded at %s",
                               s->far->address);
        link_list_free(&l);
        free(to);
        return good;
}

bool shell_far_open(struct shell *s, const char *address, const char *token_file, struct err *e)
{
        const char *sysroot = s->names->options.sysroot;
        struct light_wishes wishes = {
                .say = say,
                .root = sysroot ? sysroot : "",
                .author = { (void *)(uintptr_t)&s->names->options, record_write_report }
        };
        struct shell_far *f = heap_zero(1, sizeof *f);

        f->address = address;
        if (!link_open(&f->link, address, token_file, e) ||
            !light_open(&f->light, &f->link, &wishes, e)) {
                free(f);
                return false;
        }
        s->far = f;
        link_route(&f->link);
        if (await_program(s, e))
                return true;
        shell_far_close(s);
        return false;
}

void shell_far_close(struct shell *s)
{
        if (!s->far)
                return;
        ask_through(NULL);
        end_news(s->far);
        link_list_free(&s->far->known);
        light_close(&s->far->light);
        free(s->far);
        s->far = NULL;
}

bool shell_far_stored(struct shell *s, const struct shell_target *t, struct err *e)
{
        struct link_connection *to = heap_zero(1, sizeof *to);
        bool good = link_connect(&s->far->link, to, e);

        if (good) {
                good = link_stored(to, t->number, e);
                link_disconnect(to);
        }
        free(to);
        return good;
}
