/* SPDX-License-Identifier: MIT */
/* terminal_none.c -- in place of terminal.c in a build without ncurses. */
#include "top/terminal.h"

bool terminal_open(bool color, struct err *e)
{
        (void)color;
        return err_set(e, ERR_EXIT_USAGE,
                       "this seep was built without ncurses, which draws the view; 'seep top "
                       "--batch 1' prints it. A build that finds ncursesw (Debian: libncurses-dev) "
                       "draws it");
}

void terminal_close(void)
{
}

void terminal_size(uint32_t *columns, uint32_t *lines)
{
        *columns = 80;
        *lines = 24;
}

void terminal_draw(const struct screen *s)
{
        (void)s;
}

unsigned terminal_wait(int fd, int timeout_ms)
{
        (void)fd;
        (void)timeout_ms;
        return 0;
}

uint32_t terminal_key(void)
{
        return 0;
}

int terminal_signal(void)
{
        return 0;
}
