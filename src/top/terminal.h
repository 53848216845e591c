/* SPDX-License-Identifier: MIT */
/*
 * terminal.h -- the terminal: output, keys, and its old state restored on every way out.
 *
 * Room:   outside.  The only room that knows ncurses.
 */
#ifndef SEEP_TOP_TERMINAL_H
#define SEEP_TOP_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "top/screen.h"

/* What terminal_wait() found. */
enum { TERMINAL_KEYS = 1, TERMINAL_ANSWER = 2, TERMINAL_REDRAW = 4 };

/* Take over the terminal that stdin and stdout are.  false: it cannot show the view (exit code
 * 2). */
bool terminal_open(bool color, struct err *e);

/* Give it back; may be called twice. */
void terminal_close(void);

void terminal_size(uint32_t *columns, uint32_t *lines);
void terminal_draw(const struct screen *s);

/* Wait for keys, for FD to be readable, for another size of the terminal, for a signal, or for
 * TIMEOUT_MS (negative: for ever). */
unsigned terminal_wait(int fd, int timeout_ms);

/* The next key (keys.h); 0: there is none. */
uint32_t terminal_key(void);

/* The signal that tells us to end; 0: none came. */
int terminal_signal(void);

#endif
