/* SPDX-License-Identifier: MIT */
/* frame.h -- what is known about an address, and where names are searched. */
#ifndef SEEP_NAMES_FRAME_H
#define SEEP_NAMES_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symbol_frame {
        const char *function; /* demangled; NULL unknown */
        const char *file;     /* source path; NULL unknown */
        uint32_t line;        /* 0 unknown */
        bool inlined;         /* inlined into the next frame of the same address */
        uint64_t start;       /* not 0: FUNCTION is no name, it tells a function apart by where it
                               * begins in its file (extent.h): "libsqlite3.so.0+f_a7480" */
        const char *script;   /* path of the script that the function is of, whose last part is in
                               * FUNCTION: "leak (p.py)" (perfmap.h); NULL none */
        bool is_wrapper; /* FUNCTION only passes allocations on, as symbols_add_wrapper() knows */
};

/* What somebody has named the function; NULL unknown. */
static inline const char *symbol_name(const struct symbol_frame *frame)
{
        return frame->start ? NULL : frame->function;
}

enum symbol_fetch { SYMBOL_FETCH_BEGIN, SYMBOL_FETCH_GOING, SYMBOL_FETCH_END };

/* Who wants to hear what happens while names are looked up.  Members may be NULL. */
struct symbol_listener {
        void (*say)(const char *text); /* a sentence for the user, each once */
        /* A download: BEGIN, any number of GOING, END.  true: it shall be given up, and no other be
         * tried. */
        bool (*fetch)(enum symbol_fetch step, const char *name, uint64_t done_bytes,
                      uint64_t total_bytes);
};

struct symbol_options {
        const char *sysroot;       /* NULL none; prefix for module paths */
        const char **debug_paths;  /* directories with unstripped files */
        uint32_t debug_path_count;
        bool no_debuginfod, no_cache;
        bool no_new_cache;         /* a cache that is there is used, none is made */
        bool all_frames;           /* start code is shown, too */
        bool raw; /* names as they are, control characters and all: for formats that escape them */
        const struct symbol_listener *listener; /* NULL nobody */
};

#endif
