/* SPDX-License-Identifier: MIT */
/*
 * terminal.c -- the terminal: lines out, keys in, and back to how it was on every way out.
 *
 * Keeps:  signals are blocked except while we wait, so that none falls between a test and a wait.
 */
#include "top/terminal.h"

#include <curses.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#include "base/io.h"
#include "top/keys.h"

#define TERMINAL_ESCAPE_MS 25
#define TERMINAL_LEAST 1
#define TERMINAL_MOST 1000 /* columns and lines */

static const int ending[] = { SIGTERM, SIGHUP, SIGINT, SIGQUIT };
static const int crashing[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL };

static volatile sig_atomic_t ended_by, stop_wanted, resized;
static SCREEN *screen;
static WINDOW *window; /* the whole terminal */
/* The library's own one is a variable of it, and the library is loaded when it is called
 * (lazy/lazy.h). */
#define stdscr window
static sigset_t waiting; /* the mask while we wait */
static struct termios before;
static char farewell[256]; /* what brings the screen back, for a crash */

static void on_end(int signal)
{
        ended_by = signal;
}

static void on_stop(int signal)
{
        (void)signal;
        stop_wanted = 1;
}

static void on_resize(int signal)
{
        (void)signal;
        resized = 1;
}

/* The default action follows (SA_RESETHAND). */
static void on_crash(int signal)
{
        tcsetattr(STDIN_FILENO, TCSANOW, &before);
        io_write(STDOUT_FILENO, farewell, strlen(farewell));
        raise(signal);
}

static void handle(int signal, void (*handler)(int), int flags)
{
        struct sigaction action = { .sa_handler = handler, .sa_flags = flags };

        sigemptyset(&action.sa_mask);
        sigaction(signal, &action, NULL);
}

static void take_signals(void)
{
        sigset_t blocked;

        sigemptyset(&blocked);
        for (size_t i = 0; i < sizeof ending / sizeof ending[0]; i++) {
                struct sigaction now;

                sigaction(ending[i], NULL, &now);
                if (now.sa_handler == SIG_IGN) /* nohup: whoever started us wants it so */
                        continue;
                handle(ending[i], on_end, 0);
                sigaddset(&blocked, ending[i]);
        }
        for (size_t i = 0; i < sizeof crashing / sizeof crashing[0]; i++)
                handle(crashing[i], on_crash, (int)SA_RESETHAND);
        handle(SIGTSTP, on_stop, 0);
        handle(SIGWINCH, on_resize, 0);
        sigaddset(&blocked, SIGTSTP);
        sigaddset(&blocked, SIGWINCH);
        pthread_sigmask(SIG_BLOCK, &blocked, &waiting);
        for (size_t i = 0; i < sizeof ending / sizeof ending[0]; i++)
                sigdelset(&waiting, ending[i]);
}

static void keep_farewell(void)
{
        const char *parts[] = { tigetstr("sgr0"), tigetstr("cnorm"), tigetstr("rmcup") };

        for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
                if (parts[i] && parts[i] != (char *)-1 &&
                    strlen(farewell) + strlen(parts[i]) < sizeof farewell)
                        strcat(farewell, parts[i]);
}

static void choose_colors(bool color)
{
        if (!color || !has_colors())
                return;
        start_color();
        use_default_colors();
        init_pair(1, COLOR_RED, -1);
        init_pair(2, COLOR_CYAN, -1);
}

bool terminal_open(bool color, struct err *e)
{
        const char *type = getenv("TERM"), *place;

        if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
                return err_set(e, ERR_EXIT_USAGE,
                               "the view needs a terminal, and %s is not one; --batch N prints it "
                               "as text", isatty(STDIN_FILENO) ? "stdout" : "stdin");
        tcgetattr(STDIN_FILENO, &before);
        take_signals();
        screen = newterm(NULL, stdout, stdin); /* initscr() would end us */
        if (!screen)
                return err_set(e, ERR_EXIT_USAGE,
                               "unknown terminal type '%s' (TERM); --batch N prints the view as "
                               "text", type ? type : "");
        place = tigetstr("cup");
        if (!place || place == (char *)-1) {
                terminal_close();
                return err_set(e, ERR_EXIT_USAGE,
                               "a terminal of the type '%s' (TERM) cannot show the view; --batch N "
                               "prints it as text", type);
        }
        keep_farewell();
        atexit(terminal_close);
        set_escdelay(TERMINAL_ESCAPE_MS);
        cbreak();
        noecho();
        nonl();
        window = newwin(0, 0, 0, 0);
        keypad(stdscr, TRUE);
        nodelay(stdscr, TRUE);
        curs_set(0);
        choose_colors(color);
        return true;
}

void terminal_close(void)
{
        if (!screen)
                return;
        curs_set(1);
        endwin();
        screen = NULL;
        pthread_sigmask(SIG_SETMASK, &waiting, NULL);
}

void terminal_size(uint32_t *columns, uint32_t *lines)
{
        int x = getmaxx(stdscr), y = getmaxy(stdscr);

        *columns = x > 0 ? (uint32_t)x : TERMINAL_LEAST;
        *lines = y > 0 ? (uint32_t)y : TERMINAL_LEAST;
}

/* ---- drawing ---- */

static attr_t attributes(enum screen_style style)
{
        switch (style) {
        case SCREEN_BOLD:
                return A_BOLD;
        case SCREEN_HEADING:
                return A_REVERSE | COLOR_PAIR(2);
        case SCREEN_CHOSEN:
                return A_REVERSE;
        case SCREEN_WARNING:
                return A_BOLD | COLOR_PAIR(1);
        case SCREEN_DIM:
                return A_DIM;
        default:
                return A_NORMAL;
        }
}

/* What is in another style within a line that is reversed as a whole stays reversed. */
static attr_t part_attributes(const struct screen_line *line)
{
        attr_t whole = attributes(line->style);

        if (line->style == SCREEN_HEADING)
                return whole | A_BOLD | A_UNDERLINE;
        return line->style == SCREEN_CHOSEN ? whole | A_BOLD : attributes(line->part);
}

static void draw_line(int y, const struct screen_line *line)
{
        const char *at = str_get(&line->text), *end = at + line->text.length;
        int room = getmaxx(stdscr), column = 0;
        mbstate_t state = { 0 };
        wchar_t c[2] = { 0 };

        move(y, 0);
        while (at < end) {
                size_t bytes = mbrtowc(c, at, (size_t)(end - at), &state);
                int width;

                if (bytes == 0 || bytes > (size_t)(end - at)) { /* no character of this locale */
                        state = (mbstate_t){ 0 };
                        c[0] = '?';
                        bytes = 1;
                }
                width = wcwidth(c[0]);
                if (width < 0) {
                        c[0] = '?';
                        width = 1;
                }
                if (column + width > room)
                        break;
                attrset((int)(line->to && column >= (int)line->from && column < (int)line->to
                                      ? part_attributes(line)
                                      : attributes(line->style)));
                addwstr(c);
                column += width;
                at += bytes;
        }
        attrset((int)(line->style == SCREEN_HEADING || line->style == SCREEN_CHOSEN
                              ? attributes(line->style)
                              : A_NORMAL));
        for (; column < room && (line->style == SCREEN_HEADING || line->style == SCREEN_CHOSEN);
             column++)
                addch(' ');
        attrset(A_NORMAL);
        if (column < room)
                clrtoeol();
}

void terminal_draw(const struct screen *s)
{
        int lines = getmaxy(stdscr);

        for (int y = 0; y < lines && y < (int)s->count; y++)
                draw_line(y, &s->lines[y]);
        if ((int)s->count < lines) {
                move((int)s->count, 0);
                clrtobot();
        }
        curs_set(s->prompt);
        if (s->prompt && s->count) {
                const struct str *last = &s->lines[s->count - 1].text;
                int end = (int)mbstowcs(NULL, str_get(last), 0);

                move((int)s->count - 1,
                     end >= 0 && end < getmaxx(stdscr) ? end : getmaxx(stdscr) - 1);
        }
        refresh();
}

/* ---- waiting ---- */

static int between(int value, int least, int most)
{
        return value < least ? least : value > most ? most : value;
}

static void take_size(void)
{
        struct winsize size;

        resized = 0;
        if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || !size.ws_row || !size.ws_col)
                return;
        resizeterm(between(size.ws_row, TERMINAL_LEAST, TERMINAL_MOST),
                   between(size.ws_col, TERMINAL_LEAST, TERMINAL_MOST));
        clearok(stdscr, TRUE);
}

static void let_signals_in(void)
{
        sigset_t now;

        pthread_sigmask(SIG_SETMASK, &waiting, &now);
        pthread_sigmask(SIG_SETMASK, &now, NULL);
}

/* Ctrl-Z: the shell has the terminal until it lets us go on, perhaps with another size. */
static void stop(void)
{
        stop_wanted = 0;
        curs_set(1);
        endwin();
        handle(SIGTSTP, SIG_DFL, 0);
        raise(SIGTSTP);
        let_signals_in(); /* here we are stopped */
        handle(SIGTSTP, on_stop, 0);
        refresh();
        curs_set(0);
        take_size();
}

unsigned terminal_wait(int fd, int timeout_ms)
{
        struct pollfd sources[] = { { STDIN_FILENO, POLLIN, 0 }, { fd, POLLIN, 0 } };
        struct timespec time = { timeout_ms / 1000, timeout_ms % 1000 * 1000000l };
        int ready = ppoll(sources, 2, timeout_ms < 0 ? NULL : &time, &waiting);
        unsigned found = 0;

        let_signals_in(); /* what is readable at once keeps ppoll() from doing it */
        if (stop_wanted) {
                stop();
                found |= TERMINAL_REDRAW;
        }
        if (resized) {
                take_size();
                found |= TERMINAL_REDRAW;
        }
        if (ready <= 0)
                return found;
        if (sources[0].revents & (POLLHUP | POLLERR | POLLNVAL))
                ended_by = SIGHUP; /* nobody is there any more */
        found |= sources[0].revents & POLLIN ? TERMINAL_KEYS : 0;
        return found | (sources[1].revents & POLLIN ? TERMINAL_ANSWER : 0);
}

static const struct {
        int theirs;
        uint32_t ours;
} names[] = {
        { KEY_UP, KEYS_UP },         { KEY_DOWN, KEYS_DOWN },
        { KEY_LEFT, KEYS_LEFT },     { KEY_RIGHT, KEYS_RIGHT },
        { KEY_PPAGE, KEYS_PAGE_UP }, { KEY_NPAGE, KEYS_PAGE_DOWN },
        { KEY_HOME, KEYS_HOME },     { KEY_END, KEYS_END },
        { KEY_ENTER, KEYS_ENTER },   { KEY_BACKSPACE, KEYS_BACKSPACE },
        { KEY_FIND, KEYS_HOME },     { KEY_SELECT, KEYS_END },
};

uint32_t terminal_key(void)
{
        wint_t c = 0;
        int result = get_wch(&c);

        if (result == KEY_CODE_YES) {
                for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
                        if (names[i].theirs == (int)c)
                                return names[i].ours;
                return terminal_key(); /* a key without a meaning here */
        }
        if (result != OK)
                return 0;
        if (c == '\r' || c == '\n')
                return KEYS_ENTER;
        if (c == 127 || c == '\b')
                return KEYS_BACKSPACE;
        if (c == 'L' - '@')
                clearok(stdscr, TRUE);
        return c == 27 ? KEYS_ESCAPE : (uint32_t)c;
}

int terminal_signal(void)
{
        return ended_by;
}
