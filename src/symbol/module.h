/* SPDX-License-Identifier: MIT */
/*
 * module.h -- the file on disk that a module of the recording was loaded from, opened for names.
 *
 * Room:   outside.
 * Keeps:  a file whose build id differs from the recorded one is never used: its names would be lies.
 */
#ifndef SEEP_SYMBOL_MODULE_H
#define SEEP_SYMBOL_MODULE_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>

#include "base/str.h"
#include "profile/model.h"
#include "symbol/debug.h"
#include "symbol/symbol.h"
#include "symbol/table.h"

/* Where to look; made once per resolver. */
struct module_search {
        struct symbol_options options;
        char *debuginfo_path; /* for libdwfl: where separate debug files may be */
        Dwfl_Callbacks callbacks;
};

struct module {
        Dwfl *dwfl; /* NULL: not found */
        Dwfl_Module *dwfl_module;
        struct table table;
        struct debug *debug; /* NULL: no debug information */
};

/* OPTIONS' strings must outlive S. */
void module_search_init(struct module_search *s, const struct symbol_options *options);
void module_search_free(struct module_search *s);

/* Open the file of RECORDED.  Never fails: a module without a usable file has no names. */
void module_open(struct module *m, const struct profile_module *recorded, const struct module_search *s);
void module_close(struct module *m);

/* Append to OUT the path of a usable file for RECORDED; false: there is none. */
bool module_locate(const struct profile_module *recorded, const struct module_search *s, struct str *out);

/* ".build-id/xx/yyyy" of RECORDED; "" without a build id. */
void module_build_id_path(const struct profile_module *recorded, struct str *out);

#endif
