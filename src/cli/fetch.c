/* SPDX-License-Identifier: MIT */
#include "cli/fetch.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/heap.h"
#include "base/io.h"
#include "base/plain.h"
#include "cli/message.h"
#include "cli/pager.h"
#include "profile/file.h"
#include "profile/packed.h"
#include "report/summary.h"
#include "wire/hello.h"

#define FETCH_AGAIN_MS 30000u /* a link that is down may come back */
#define FETCH_STEP_MS 500

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
        interrupted = number;
}

/* ---- one recording ---- */

/* FD, a whole recording, gets its file here and its place in the summary. */
static bool store(struct fetch *f, int fd, const struct protocol_process *from, struct err *e)
{
        struct profile p = { 0 };
        char source[32], *path;
        bool good, is_main = from->flags & PROTOCOL_PROCESS_MAIN;

        snprintf(source, sizeof source, "/proc/self/fd/%d", fd);
        if (!file_take(&p, source, PACKED_LEAST, e))
                return err_context(e, "what the target sent");
        path = output_name(&f->output, p.meta.program, p.meta.pid, f->roster.count + 1, is_main);
        good = output_copy(&f->output, fd, path, e);
        if (good)
                roster_add(&f->roster, &p, path, is_main);
        profile_free(&p);
        free(path);
        return good;
}

static bool fetch_ended(struct fetch *f, const struct protocol_process *from, struct err *e)
{
        int fd = link_fetch(&f->connection, from->number, e);
        bool good = fd >= 0 && store(f, fd, from, e) &&
                    link_stored(&f->connection, from->number, e);

        if (fd >= 0)
                close(fd);
        return good;
}

/* Of one that runs: searched for leaks, if that can be done. */
static bool fetch_running(struct fetch *f, const struct protocol_process *from, struct err *e)
{
        struct ask_image image = { .pid = from->pid, .search = true, .fd = -1 };
        struct err why = { 0 };
        bool good = ask_for_image(&image, &why);

        if (!good) {
                image.search = false;
                image.flags = WIRE_LOOK_BLOCKS;
                good = ask_for_image(&image, e);
        }
        good = good && store(f, image.fd, from, e);
        ask_image_close(&image);
        return good;
}

static bool is_done(struct fetch *f, uint32_t number)
{
        if (number >= f->done_count) {
                f->done = heap_grow(f->done, number + 1, sizeof *f->done);
                while (f->done_count <= number)
                        f->done[f->done_count++] = false;
        }
        return f->done[number];
}

/* ---- all of them ---- */

static void say_connected(struct fetch *f, const struct link_list *l)
{
        const struct protocol_process *p = link_main(l);

        if (f->told || f->quiet)
                return;
        if (p)
                message("connected to %s: %s (pid %u)%s; Ctrl-C writes what there is and leaves",
                        f->connection.channel.peer, p->program, p->pid,
                        l->count > 1 ? " and others" : "");
        else
                message("connected to %s, where nothing runs yet", f->connection.channel.peer);
        f->told = p != NULL;
}

/* What has ended since.  OVER: and nothing more will. */
static bool take_news(struct fetch *f, struct link_list *l, bool *over, struct err *e)
{
        if (!link_list(&f->connection, l, &interrupted, e))
                return false;
        say_connected(f, l);
        for (uint32_t i = 0; i < l->count; i++) {
                const struct protocol_process *p = &l->at[i];

                if (!(p->flags & PROTOCOL_PROCESS_ENDED) || is_done(f, p->number))
                        continue;
                if (!fetch_ended(f, p, e))
                        return false;
                f->done[p->number] = true;
        }
        *over = l->head.state == PROTOCOL_STATE_ENDED;
        return true;
}

static bool connect_again(struct fetch *f, struct err *e)
{
        const struct timespec nap = { .tv_nsec = FETCH_STEP_MS * 1000000 };
        uint64_t end_ns = clock_now_ns() + FETCH_AGAIN_MS * 1000000ull;
        bool good = false;

        message("%s; trying again for %u s", e->text, FETCH_AGAIN_MS / 1000);
        while (!good && !interrupted && clock_now_ns() < end_ns) {
                nanosleep(&nap, NULL);
                good = link_connect(f->link, &f->connection, e);
        }
        if (good)
                message("connected to %s again", f->connection.channel.peer);
        return good;
}

/* Until all is over; false: E, when that is not because of Ctrl-C. */
static bool follow(struct fetch *f, struct link_list *l, struct err *e)
{
        bool over = false;

        f->connected = link_connect(f->link, &f->connection, e);
        while (f->connected && !over && !interrupted) {
                if (take_news(f, l, &over, e))
                        continue;
                link_disconnect(&f->connection);
                f->connected = !interrupted && connect_again(f, e);
        }
        if (f->connected)
                link_disconnect(&f->connection);
        return over || interrupted;
}

/* Ctrl-C: as they are now. */
static bool take_rest(struct fetch *f, struct err *e)
{
        struct link_list l = { 0 };
        bool good = link_connect(f->link, &f->connection, e);

        if (good) {
                good = link_list(&f->connection, &l, NULL, e);
                link_disconnect(&f->connection);
        }
        link_route(f->link);
        for (uint32_t i = 0; good && i < l.count; i++)
                if (!(l.at[i].flags & PROTOCOL_PROCESS_ENDED))
                        good = fetch_running(f, &l.at[i], e);
        ask_through(NULL);
        link_list_free(&l);
        return good;
}

static void summarize(struct fetch *f)
{
        struct roster_choice choice;
        struct symbols *symbols;
        struct str out = { 0 };

        if (!roster_choose(&f->roster, &choice))
                return;
        output_make_newest(choice.path);
        if (f->quiet || f->no_summary)
                return;
        symbols = symbols_new(choice.profile, &f->names->options);
        summary_write(choice.profile, symbols,
                      &(struct summary_options){ choice.path,
                                                 pager_color(PAGER_COLOR_AUTO, STDERR_FILENO),
                                                 NULL }, &out);
        roster_list(&f->roster, &out);
        symbols_free(symbols);
        plain_output(&out, 0, true);
        io_write(STDERR_FILENO, str_get(&out), out.length);
        str_free(&out);
}

int fetch_run(struct fetch *f)
{
        struct sigaction action = { .sa_handler = on_signal };
        struct link_list l = { 0 };
        struct err e = { 0 };
        int status = 0;

        if (!output_prepare(&f->output, f->pattern ? f->pattern : OUTPUT_DEFAULT, f->force, &e))
                return message_error(&e);
        if (e.text[0])
                message("%s", e.text);
        sigaction(SIGINT, &action, NULL);
        sigaction(SIGTERM, &action, NULL);
        sigaction(SIGHUP, &action, NULL);
        signal(SIGPIPE, SIG_IGN);
        if (!follow(f, &l, &e) || (interrupted && !take_rest(f, &e)))
                status = message_error(&e);
        if (!status && !f->roster.count)
                message("nothing was recorded there");
        summarize(f);
        link_list_free(&l);
        roster_free(&f->roster);
        output_free(&f->output);
        free(f->done);
        return status;
}
