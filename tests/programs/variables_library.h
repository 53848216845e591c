/* SPDX-License-Identifier: MIT */
#ifndef VARIABLES_LIBRARY_H
#define VARIABLES_LIBRARY_H

struct shelf {
        int number;
        struct shelf *next;
};

extern struct shelf *library_copied;

void library_tell(void (*tell)(void *address, const char *name, int line, int is_static));
void *library_thread_place(void);

#endif
