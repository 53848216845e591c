/* SPDX-License-Identifier: MIT */
/*
 * wrapper.c -- functions that only pass an allocation on.
 *
 * Cost:   each name is compared with the table once.
 */
#include "query/wrapper.h"

#include <fnmatch.h>
#include <string.h>

#include "base/str.h"
#include "query/walk.h"

enum wrapper_kind { WRAPPER_UNSEEN, WRAPPER_OTHER, WRAPPER_LIBRARY, WRAPPER_ALLOCATOR };

/* Patterns of the shell.  Names are compared without result type, template arguments and
 * parameters; those of Rust that begin with '<' as they are. */
static const struct {
        enum wrapper_kind kind;
        const char *pattern;
} wrapper_table[] = {
        { WRAPPER_ALLOCATOR, "xmalloc*" },
        { WRAPPER_ALLOCATOR, "xcalloc" },
        { WRAPPER_ALLOCATOR, "xrealloc*" },
        { WRAPPER_ALLOCATOR, "xzalloc" },
        { WRAPPER_ALLOCATOR, "xnmalloc" },
        { WRAPPER_ALLOCATOR, "xnrealloc" },
        { WRAPPER_ALLOCATOR, "x2realloc" },
        { WRAPPER_ALLOCATOR, "x2nrealloc" },
        { WRAPPER_ALLOCATOR, "do_xmalloc*" },
        { WRAPPER_ALLOCATOR, "[es]malloc" },
        { WRAPPER_ALLOCATOR, "[es]calloc" },
        { WRAPPER_ALLOCATOR, "[es]realloc" },
        { WRAPPER_ALLOCATOR, "safe_[mc]alloc" },
        { WRAPPER_ALLOCATOR, "safe_realloc" },
        { WRAPPER_ALLOCATOR, "checked_[mc]alloc" },
        { WRAPPER_ALLOCATOR, "checked_realloc" },
        { WRAPPER_ALLOCATOR, "z[mc]alloc*" },
        { WRAPPER_ALLOCATOR, "zrealloc*" },
        { WRAPPER_ALLOCATOR, "ztry[mc]alloc*" },
        { WRAPPER_ALLOCATOR, "ztryrealloc*" },
        { WRAPPER_ALLOCATOR, "g_malloc*" },
        { WRAPPER_ALLOCATOR, "g_realloc*" },
        { WRAPPER_ALLOCATOR, "g_try_malloc*" },
        { WRAPPER_ALLOCATOR, "g_try_realloc*" },
        { WRAPPER_ALLOCATOR, "g_aligned_alloc*" },
        { WRAPPER_ALLOCATOR, "g_slice_alloc*" },
        { WRAPPER_ALLOCATOR, "PyMem_*[MCRmcr]*alloc" },
        { WRAPPER_ALLOCATOR, "PyObject_[MCR]*alloc" },
        { WRAPPER_ALLOCATOR, "_PyMem_*[MCRmcr]*alloc" },
        { WRAPPER_ALLOCATOR, "_PyObject_[MCR]*alloc" },
        { WRAPPER_ALLOCATOR, "sqlite3MemMalloc" },
        { WRAPPER_ALLOCATOR, "sqlite3MemRealloc" },
        { WRAPPER_ALLOCATOR, "sqlite3Malloc*" },
        { WRAPPER_ALLOCATOR, "sqlite3Realloc" },
        { WRAPPER_ALLOCATOR, "operator new*" },
        { WRAPPER_ALLOCATOR, "std::allocator::*" },
        { WRAPPER_ALLOCATOR, "std::allocator_traits::*" },
        { WRAPPER_ALLOCATOR, "std::__new_allocator::*" },
        { WRAPPER_ALLOCATOR, "std::__allocate*" },
        { WRAPPER_ALLOCATOR, "std::__shared*" },
        { WRAPPER_ALLOCATOR, "std::__detail::_*" },
        { WRAPPER_ALLOCATOR, "std::_[A-Z]*" },
        { WRAPPER_ALLOCATOR, "std::*::_[A-Z]*" },
        { WRAPPER_ALLOCATOR, "std::pmr::*::allocate" },
        { WRAPPER_ALLOCATOR, "std::pmr::*::do_allocate" },
        { WRAPPER_ALLOCATOR, "std::__1::allocator::*" },
        { WRAPPER_ALLOCATOR, "std::__1::allocator_traits::*" },
        { WRAPPER_ALLOCATOR, "std::__1::__allocat*" },
        { WRAPPER_ALLOCATOR, "std::__1::__libcpp_allocate" },
        { WRAPPER_ALLOCATOR, "std::__1::__libcpp_operator_new" },
        { WRAPPER_ALLOCATOR, "__gnu_cxx::new_allocator::*" },
        { WRAPPER_ALLOCATOR, "__gnu_cxx::malloc_allocator::*" },
        { WRAPPER_ALLOCATOR, "__gnu_cxx::__alloc_traits::*" },
        { WRAPPER_ALLOCATOR, "alloc::*" },
        { WRAPPER_ALLOCATOR, "<alloc::*" },
        { WRAPPER_ALLOCATOR, "<* as alloc::*" },
        { WRAPPER_ALLOCATOR, "<* as core::alloc::*" },
        { WRAPPER_ALLOCATOR, "std::alloc::*" },
        { WRAPPER_ALLOCATOR, "std::sys::*alloc::*" },
        { WRAPPER_ALLOCATOR, "__rust_alloc*" },
        { WRAPPER_ALLOCATOR, "__rust_realloc" },
        { WRAPPER_ALLOCATOR, "__rdl_*alloc*" },
        { WRAPPER_ALLOCATOR, "__rg_*alloc*" },
        { WRAPPER_LIBRARY, "std::*" },
        { WRAPPER_LIBRARY, "__gnu_cxx::*" },
        { WRAPPER_LIBRARY, "core::*" },
        { WRAPPER_LIBRARY, "<core::*" },
        { WRAPPER_LIBRARY, "<std::*" },
        { WRAPPER_LIBRARY, "<* as core::*" },
        { WRAPPER_LIBRARY, "hashbrown::*" },
};

/* "void* std::f<int>(long) const" as "std::f". */
static void wrapper_reduce(const char *name, struct str *out)
{
        const char *operator_at, *space;
        int depth = 0;

        for (const char *c = name; *c && strncmp(c, " [", 2) != 0; c++) {
                bool opens = *c == '<' || *c == '(',
                     closes = (*c == '>' && c[-(c > name)] != '-') || *c == ')';

                if (!depth && !opens && !closes)
                        str_char(out, *c);
                depth += opens - (closes && depth > 0);
        }
        if (out->length > 6 && strcmp(out->data + out->length - 6, " const") == 0)
                out->data[out->length -= 6] = 0;
        operator_at = strstr(str_get(out), "operator ");
        space = strrchr(str_get(out), ' ');
        if (operator_at || space) {
                struct str last = { 0 };

                str_text(&last, operator_at ? operator_at : space + 1);
                str_free(out);
                *out = last;
        }
}

static enum wrapper_kind wrapper_classify(const char *name)
{
        enum wrapper_kind kind = WRAPPER_OTHER;
        struct str reduced = { 0 };

        wrapper_reduce(name, &reduced);
        for (size_t i = 0;
             i < sizeof wrapper_table / sizeof wrapper_table[0] && kind == WRAPPER_OTHER; i++) {
                const char *pattern = wrapper_table[i].pattern;

                if (fnmatch(pattern, pattern[0] == '<' ? name : str_get(&reduced), 0) == 0)
                        kind = wrapper_table[i].kind;
        }
        str_free(&reduced);
        return kind;
}

bool wrapper_or_library(const struct symbol_frame *frame)
{
        return frame->function &&
               (frame->is_wrapper || wrapper_classify(frame->function) != WRAPPER_OTHER);
}

bool wrappers_add(struct wrappers *w, const char *expression, struct err *e)
{
        return expressions_add(&w->more, expression, e);
}

void wrappers_free(struct wrappers *w)
{
        expressions_free(&w->more);
        lookup_free(&w->known);
}

static enum wrapper_kind wrapper_known(struct wrappers *w, const struct symbol_frame *frame)
{
        uint32_t *known;

        if (!frame->function)
                return WRAPPER_OTHER;
        if (frame->is_wrapper)
                return WRAPPER_ALLOCATOR;
        known = lookup_pointer(&w->known, frame->function);
        if (!*known)
                *known = expressions_match(&w->more, frame->function)
                                 ? WRAPPER_ALLOCATOR
                                 : wrapper_classify(frame->function);
        return (enum wrapper_kind)*known;
}

bool wrappers_has(struct wrappers *w, const struct symbol_frame *frame)
{
        return wrapper_known(w, frame) == WRAPPER_ALLOCATOR;
}

bool wrappers_library(struct wrappers *w, const struct symbol_frame *frame)
{
        return wrapper_known(w, frame) == WRAPPER_LIBRARY;
}

bool wrappers_or_library(struct wrappers *w, const struct symbol_frame *frame)
{
        return wrapper_known(w, frame) != WRAPPER_OTHER;
}

struct wrapper_frame wrappers_trim(struct wrappers *w, const struct profile *p, struct symbols *s,
                                   uint32_t node)
{
        struct walk walk = walk_own(p, s, node);

        while (w && walk_next(&walk))
                if (!wrappers_has(w, walk.frame))
                        return (struct wrapper_frame){ walk.node, walk.level };
        return (struct wrapper_frame){ node, 0 };
}
