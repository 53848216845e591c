/* SPDX-License-Identifier: MIT */
/* view.c -- the view in the terminal: keys, updates and time. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/heap.h"
#include "session/ask.h"
#include "top/terminal.h"
#include "top/top_parts.h"
#include "words/label.h"
#include "words/text.h"

#define VIEW_SHARE 20u      /* looks take at most one part in so many of the time */
#define VIEW_AGAIN_NS 5000000000ull /* after a look that was refused */
#define VIEW_FRAME_MS 100u  /* between steps of a replay */
#define VIEW_PLAY_MS 60000u /* a longer recording is played faster, so that it takes about so
                             * long */

struct top_view {
        struct top top;
        struct question *question;
        uint64_t next_look_ns;
        double play_ms; /* where the replay is */
        uint64_t play_ns;
        uint32_t columns, lines;
        bool dirty, left;
        bool gone;                /* the process is: nothing can be asked any more */
        enum question_kind wanted;  /* to be asked when the look that is under way is there */
        uint32_t wanted_flags;
};

static void say(struct top_view *v, const char *text)
{
        str_clear(&v->top.k.message);
        str_text(&v->top.k.message, text);
        v->dirty = true;
}

static void refresh(struct top_view *v)
{
        struct err e = { 0 };

        if (!top_refresh(&v->top, &e))
                say(v, e.text);
        v->dirty = true;
}

/* ---- answers ---- */

/* Whoever records may only be busy: that is tried again. */
static void miss_look(struct top_view *v, const struct err *why)
{
        struct top *t = &v->top;

        v->next_look_ns = clock_now_ns() + VIEW_AGAIN_NS;
        v->gone = ask_is_gone(t->o->pid);
        if (v->gone)
                err_set(&t->ended, 0, "the program has ended; this is the last state (q quits)");
        else
                err_set(&t->ended, 0, "no more updates: %s", why->text);
        v->dirty = true;
}

static void take_look(struct top_view *v)
{
        struct question *a = v->question;
        uint64_t pause = v->top.o->interval_ms * 1000000u, least = a->cost_ns * VIEW_SHARE;
        struct err e = { 0 };

        v->next_look_ns = clock_now_ns() + (pause > a->cost_ns ? pause - a->cost_ns : 0);
        if (pause < least)
                v->next_look_ns = clock_now_ns() + least;
        if (!a->good) {
                miss_look(v, &a->err);
                return;
        }
        if (v->top.k.paused) { /* asked for before the pause: what stands on the screen stays */
                profile_free(&a->profile);
                return;
        }
        v->top.ended = (struct err){ 0 };
        if (!top_take_look(&v->top, a, &e) || !top_follow(&v->top, &e))
                say(v, e.text);
        v->dirty = true;
}

static void take_snapshot(struct top_view *v)
{
        const struct wire_reply *reply = &v->question->reply;
        struct str text = { 0 };

        if (!v->question->good) {
                say(v, v->question->err.text);
                return;
        }
        if (reply->status) {
                say(v, reply->text);
                return;
        }
        str_format(&text, "snapshot %" PRIu32 ": ", reply->seq);
        text_size(&text, (int64_t)reply->live_bytes);
        str_format(&text, " live; report in %s (d compares with it)", label_base(reply->text));
        say(v, str_get(&text));
        str_free(&text);
        v->next_look_ns = 0; /* the look that knows it */
}

/* The pane of a search: in P, which is of this moment. */
static void show_search(struct top_view *v, enum question_kind kind, const struct profile *p)
{
        struct pane_input in = top_pane(&v->top, v->columns);
        const struct row *row = top_row(&v->top);
        struct str text = { 0 };
        struct err e = { 0 };
        bool good;

        if (kind == QUESTION_LEAKS)
                good = pane_leaks(&in, p, &text, &e);
        else
                good = row ? pane_why(&in, p, row, &text, &e)
                           : err_set(&e, 0, "there is no line to explain");
        if (good)
                keys_open(&v->top.k,
                          kind == QUESTION_LEAKS ? "leaks"
                                                 : "what keeps a typical block of this line alive",
                          &text);
        else
                say(v, e.text);
        str_free(&text);
        v->dirty = true;
}

static void take_search(struct top_view *v)
{
        str_clear(&v->top.k.message);
        if (v->question->good)
                show_search(v, v->question->kind, &v->question->profile);
        else
                say(v, v->question->err.text);
        profile_free(&v->question->profile);
}

static void take_answer(struct top_view *v)
{
        enum question_kind kind = v->question->kind;

        question_finish(v->question);
        if (kind == QUESTION_LOOK)
                take_look(v);
        else if (kind == QUESTION_SNAPSHOT)
                take_snapshot(v);
        else
                take_search(v);
        v->question->kind = QUESTION_NONE;
        if (v->wanted != QUESTION_NONE && !v->gone)
                question_start(v->question, v->wanted, v->wanted_flags);
        v->wanted = QUESTION_NONE;
}

/* ---- questions ---- */

static void ask_for(struct top_view *v, enum question_kind kind, uint32_t flags, const char *words)
{
        if (v->gone) {
                say(v, v->top.ended.text);
        } else if (v->wanted != QUESTION_NONE ||
                   (v->question->kind != QUESTION_NONE && v->question->kind != QUESTION_LOOK)) {
                say(v, "the previous request is not finished yet");
        } else {
                say(v, words);
                v->wanted = v->question->kind == QUESTION_LOOK ? kind : QUESTION_NONE;
                v->wanted_flags = flags;
                if (v->question->kind == QUESTION_NONE)
                        question_start(v->question, kind, flags);
        }
}

static void search(struct top_view *v, enum question_kind kind)
{
        const struct row *row = top_row(&v->top);

        if (kind == QUESTION_WHY && (!row || !row->site))
                say(v,
                    "choose a line of a table by stack, function, file or module first (g groups)");
        else if (v->top.o->pid)
                ask_for(v, kind, kind == QUESTION_WHY ? WIRE_SCAN_GRAPH : 0,
                        "searching the memory of the process ...");
        else
                show_search(v, kind, v->top.o->recording);
}

/* What was searched for is not wanted any more; false: nothing is. */
static bool cancel_search(struct top_view *v)
{
        enum question_kind kind = v->wanted != QUESTION_NONE ? v->wanted : v->question->kind;
        struct question *next;
        struct err e = { 0 };

        if (kind != QUESTION_LEAKS && kind != QUESTION_WHY)
                return false;
        if (v->wanted == QUESTION_NONE) {
                next = heap_zero(1, sizeof *next);
                if (!question_open(next, v->top.o->pid, &e)) {
                        free(next);
                        say(v, e.text);
                        return true;
                }
                question_abandon(v->question);
                v->question = next;
        }
        v->wanted = QUESTION_NONE;
        v->next_look_ns = 0;
        say(v, "the search is cancelled");
        return true;
}

/* ---- time of a replay ---- */

static void go(struct top_view *v, uint32_t at)
{
        player_go(&v->top.player, at);
        v->play_ms = (double)player_ms(&v->top.player, v->top.player.at);
        v->play_ns = clock_now_ns();
        refresh(v);
}

static void go_to_mark(struct top_view *v, bool back)
{
        const struct profile_mark *mark = player_mark(&v->top.player, back);
        struct str text = { 0 };

        if (!mark) {
                say(v, back ? "there is no earlier tag or snapshot"
                            : "there is no later tag or snapshot");
                return;
        }
        go(v, mark->slice);
        if (mark->seq)
                str_format(&text, "snapshot %" PRIu32 " %s", mark->seq, mark->label);
        else
                str_format(&text, "%s %s", profile_mark_word(mark->type), mark->label);
        say(v, str_get(&text));
        str_free(&text);
}

static void play(struct top_view *v)
{
        struct keys_state *k = &v->top.k;

        k->playing = !k->playing;
        if (k->playing && v->top.player.at >= v->top.o->recording->slice_count)
                go(v, 0);
        v->play_ms = (double)player_ms(&v->top.player, v->top.player.at);
        v->play_ns = clock_now_ns();
        v->dirty = true;
}

static void advance(struct top_view *v)
{
        struct player *r = &v->top.player;
        uint64_t now = clock_now_ns();
        uint32_t at;

        v->play_ms += (double)(now - v->play_ns) / 1e6 * v->top.k.speed;
        v->play_ns = now;
        at = player_find(r, (uint64_t)v->play_ms);
        if (at >= r->p->slice_count)
                v->top.k.playing = false;
        if (at == r->at && v->top.k.playing)
                return;
        player_go(r, at);
        refresh(v);
}

/* ---- keys ---- */

/* Of a recording only the end tells threads apart; a process is counted anew. */
static void change_threads(struct top_view *v)
{
        struct top *t = &v->top;

        v->next_look_ns = 0;
        t->k.paused = false;
        if (t->o->pid) {
                live_forget(&t->live, t->k.thread.length ? &t->threads : NULL);
                return;
        }
        t->player.threads = t->k.thread.length ? &t->threads : NULL;
        go(v, t->o->recording->slice_count);
}

/* What was typed becomes the filter, or is told wrong. */
static void take_typed(struct top_view *v, struct str *place)
{
        struct keys_state *k = &v->top.k;
        struct str before = *place;
        struct err e = { 0 };

        *place = k->typed;
        k->typed = (struct str){ 0 };
        if (!top_filters(&v->top, &e)) {
                char *line = strchr(e.text, '\n');

                if (line) /* the last line has room for the sentence, not for the caret below */
                        *line = 0;
                str_free(place);
                *place = before;
                say(v, e.text);
                return;
        }
        str_free(&before);
        k->first = k->index = 0;
        k->chosen = 0;
        if (place == &k->thread)
                change_threads(v);
        refresh(v);
}

static void show_stack(struct top_view *v)
{
        struct pane_input in = top_pane(&v->top, v->columns);
        const struct row *row = top_row(&v->top);
        struct str text = { 0 };

        if (!row)
                return;
        pane_stack(&in, row, &text);
        keys_open(&v->top.k, row->name ? row->name : "call stack", &text);
        v->dirty = true;
}

static void show_help(struct top_view *v)
{
        struct str text = { 0 };

        pane_help(v->top.k.when, &text);
        keys_open(&v->top.k, "keys and columns", &text);
        v->dirty = true;
}

static void change_speed(struct top_view *v, double factor)
{
        double speed = v->top.k.speed * factor;

        if (speed >= 1.0 / 64 && speed <= 65536)
                v->top.k.speed = speed;
        v->dirty = true;
}

static void move_in_time(struct top_view *v, enum keys_action action)
{
        uint32_t at = v->top.player.at;

        switch (action) {
        case KEYS_DO_PLAY:
                play(v);
                break;
        case KEYS_DO_FASTER:
        case KEYS_DO_SLOWER:
                change_speed(v, action == KEYS_DO_FASTER ? 2 : 0.5);
                break;
        case KEYS_DO_MARK:
        case KEYS_DO_MARK_BACK:
                go_to_mark(v, action == KEYS_DO_MARK_BACK);
                break;
        case KEYS_DO_BACK:
                go(v, at ? at - 1 : 0);
                break;
        case KEYS_DO_FORTH:
                go(v, at + 1);
                break;
        default:
                go(v, action == KEYS_DO_START ? 0 : UINT32_MAX);
        }
}

static void act(struct top_view *v, enum keys_action action)
{
        struct keys_state *k = &v->top.k;

        v->dirty |= action != KEYS_NOTHING;
        switch (action) {
        case KEYS_NOTHING:
        case KEYS_DRAW:
                break;
        case KEYS_DO_MOVE:
                keys_choose(k, &v->top.rows, k->index);
                break;
        case KEYS_ROWS:
                refresh(v);
                break;
        case KEYS_DO_GROUP:
                top_regroup(&v->top);
                k->paused = false;
                v->next_look_ns = 0;
                refresh(v);
                break;
        case KEYS_DO_TYPED_FILTER:
                take_typed(v, &k->filter);
                break;
        case KEYS_DO_TYPED_THREAD:
                take_typed(v, &k->thread);
                break;
        case KEYS_DO_STACK:
                show_stack(v);
                break;
        case KEYS_DO_LEAKS:
                search(v, QUESTION_LEAKS);
                break;
        case KEYS_DO_WHY:
                search(v, QUESTION_WHY);
                break;
        case KEYS_DO_SNAPSHOT:
                ask_for(v, QUESTION_SNAPSHOT, 0, "taking a snapshot ...");
                break;
        case KEYS_DO_DIFF:
                top_rebase(&v->top);
                refresh(v);
                break;
        case KEYS_DO_HELP:
                show_help(v);
                break;
        case KEYS_DO_CANCEL:
                cancel_search(v);
                break;
        case KEYS_DO_QUIT:
                v->left = !cancel_search(v);
                break;
        default:
                move_in_time(v, action);
        }
}

/* ---- the loop ---- */

static void draw(struct top_view *v)
{
        struct screen s;

        terminal_size(&v->columns, &v->lines);
        if (!v->top.picture.now)
                return;
        top_screen(&v->top, v->columns, v->lines, &s);
        terminal_draw(&s);
        screen_free(&s);
        v->dirty = false;
}

static bool wants_looks(const struct top_view *v)
{
        return v->top.o->pid && !v->top.k.paused && !v->gone && v->question->kind == QUESTION_NONE;
}

static int time_to_wait(const struct top_view *v)
{
        uint64_t now = clock_now_ns();

        if (v->top.k.playing)
                return VIEW_FRAME_MS;
        if (!wants_looks(v))
                return -1;
        return v->next_look_ns > now ? (int)((v->next_look_ns - now) / 1000000u) + 1 : 0;
}

static void step(struct top_view *v)
{
        unsigned found = terminal_wait(v->top.o->pid ? question_fd(v->question) : -1,
                                       time_to_wait(v));
        uint32_t key;

        if (terminal_signal()) {
                v->left = true;
                return;
        }
        v->dirty |= (found & TERMINAL_REDRAW) != 0;
        while (found & TERMINAL_KEYS && !v->left && (key = terminal_key()) != 0)
                act(v, keys_press(&v->top.k, key, v->top.rows.count));
        if (found & TERMINAL_ANSWER)
                take_answer(v);
        if (v->top.k.playing)
                advance(v);
        if (wants_looks(v) && clock_now_ns() >= v->next_look_ns)
                question_start(v->question, QUESTION_LOOK,
                               live_flags(&v->top.live, clock_now_ns()));
}

/* The first look is made before the terminal is taken over, so that a refusal is an ordinary
 * message. */
static bool look_first(struct top_view *v, struct err *e)
{
        question_now(v->question, QUESTION_LOOK, live_flags(&v->top.live, 0));
        if (!v->question->good)
                *e = v->question->err;
        if (!v->question->good || !top_take_look(&v->top, v->question, e))
                return false;
        v->question->kind = QUESTION_NONE;
        v->next_look_ns = clock_now_ns() + v->top.o->interval_ms * 1000000u;
        return true;
}

bool top_view(const struct top_options *o, int *signal, struct err *e)
{
        struct top_view v = { .question = heap_zero(1, sizeof *v.question) };
        bool good = top_open(&v.top, o, e);

        if (good && o->pid)
                good = question_open(v.question, o->pid, e) && look_first(&v, e);
        while (good && !o->pid &&
               (double)o->recording->meta.duration_ms > VIEW_PLAY_MS * v.top.k.speed)
                v.top.k.speed *= 2;
        good = good && top_refresh(&v.top, e) && terminal_open(o->color, e);
        if (good) {
                for (draw(&v); !v.left; step(&v))
                        if (v.dirty)
                                draw(&v);
                terminal_close();
                *signal = terminal_signal() == SIGINT ? 0 : terminal_signal();
        }
        if (v.question->kind == QUESTION_NONE)
                free(v.question); /* else a thread still writes to it: it ends with us */
        top_free(&v.top);
        return good;
}
