/* SPDX-License-Identifier: MIT */
/*
 * own_folder.h -- folders of ours in a shared directory, and the removal of those whose owner was
 * killed
 *
 * Keeps:  it is in use as long as a descriptor of it is open that holds it; the kernel closes those
 *         of whoever is killed.  Nothing is removed but folders of this user, and no link.
 */
#ifndef SEEP_BASE_OWN_FOLDER_H
#define SEEP_BASE_OWN_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

struct own_folder_kind {
        const char *place, *prefix; /* PLACE/PREFIXxxxxxx */
        bool empty_only; /* what is left and has files in it stays */
};

/* Remove those of KIND that are left, and make one: its PATH, and the descriptor that holds it;
 * -1: errno. */
int own_folder_make(const struct own_folder_kind *kind, char *path, size_t room);

/* One more descriptor that holds it, for another process of ours; -1: it is none. */
int own_folder_hold(const char *path);

/* Remove it with its files. */
void own_folder_remove(const char *path);

#endif
