/* SPDX-License-Identifier: MIT */
/* label.h -- a frame of a stack in words: "function [file:line]". */
#ifndef SEEP_WORDS_LABEL_H
#define SEEP_WORDS_LABEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "names/symbol.h"
#include "profile/model.h"

/* Append the function's name; "module+0xoffset" or "0xaddress" where there is none. */
void label_function(const struct profile *p, uint32_t node, const struct symbol_frame *frame,
                    struct str *out);

/* Append " [file:line]", the path relative to the working directory when it lies below
 * it; nothing when unknown. */
void label_place(const struct symbol_frame *frame, struct str *out);

/* Both. */
void label_frame(const struct profile *p, uint32_t node, const struct symbol_frame *frame,
                 struct str *out);

/* Append "function [file:line]", in at most COLUMNS columns where that is possible (0: no limit).
 * Parameters, template arguments, folders of the path, the front of the name (shorten.h) and the
 * place are dropped, in this order. */
void label_fit(const struct profile *p, uint32_t node, const struct symbol_frame *frame,
               size_t columns, int color, struct str *out);

/* Make label_fit() append the object, " (/lib/libx.so)", and shorten nothing (--long); for the
 * whole process. */
void label_with_objects(void);

/* After label_with_objects(): append " (object)" of the frame at NODE, its WHOLE path or the last
 * part. */
void label_object(const struct profile *p, uint32_t node, bool whole, struct str *out);

/* Append the function's name without its parameters, as label_fit() shows it. */
void label_short(const struct profile *p, uint32_t node, const struct symbol_frame *frame,
                 struct str *out);

/* The same without the type of the result, which names of C++'s templates begin with: "grow<int>"
 * of "void grow<int>(Table&)".  Not for what is compared with a list that was written earlier. */
void label_called(const struct profile *p, uint32_t node, const struct symbol_frame *frame,
                  struct str *out);

/* Length of NAME without the parameters at its end: "f(int) const" is f,
 * "operator()(int)" is operator(), "leak (p.py)" stays. */
size_t label_length(const char *name);

/* The last part of a path. */
const char *label_base(const char *path);

/* Whether the code at NODE belongs to the C library or the loader. */
bool label_in_libc(const struct profile *p, uint32_t node);

#endif
