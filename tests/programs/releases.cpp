// SPDX-License-Identifier: MIT
/*
 * releases.cpp -- releases that are wrong, and the right ones that look like them; argv[1] names
 * the case.
 *
 * Room:   tests only.  Each wrong release happens in a function of its own, each allocation too.
 */
#include "truth.h"

#include <cstdlib>
#include <new>

#define SHOP __attribute__((noinline)) static void *
#define BIN __attribute__((noinline)) static void

SHOP by_malloc() { return malloc(31); }
SHOP by_calloc() { return calloc(1, 32); }
SHOP by_new() { return ::operator new(33); }
SHOP by_array() { return ::operator new[](34); }
SHOP by_aligned() { return ::operator new(35, std::align_val_t(64)); }

BIN to_free(void *p) { free(p); }
BIN to_delete(void *p) { ::operator delete(p); }
BIN to_delete_array(void *p) { ::operator delete[](p); }
BIN to_sized(void *p) { ::operator delete(p, size_t(33)); }
BIN to_aligned(void *p) { ::operator delete(p, std::align_val_t(64)); }
BIN to_realloc(void *p) { free(realloc(p, 100)); }

static void mismatched()
{
        for (int i = 0; i < 3; i++) {
                to_free(by_new());
                to_free(by_array());
                to_delete(by_malloc());
                to_delete(by_array());
                to_delete_array(by_new());
                to_delete_array(by_calloc());
                to_realloc(by_new());
        }
        truth_say("mismatch by_new to_free 3\nmismatch by_array to_free 3\nmismatch by_malloc "
                  "to_delete 3\n"
                  "mismatch by_array to_delete 3\nmismatch by_new to_delete_array 3\nmismatch "
                  "by_calloc to_delete_array 3\n"
                  "mismatch by_new to_realloc 3\n");
}

static void matching()
{
        for (int i = 0; i < 3; i++) {
                to_free(by_malloc());
                to_free(by_calloc());
                to_realloc(by_malloc());
                to_delete(by_new());
                to_sized(by_new());
                to_aligned(by_aligned());
                to_delete_array(by_array());
                to_delete(nullptr);
                to_free(nullptr);
        }
}

/* glibc may end the program; the first line of the output and the ledger must be there all the
 * same. */
static void twice()
{
        void *p = by_malloc(), *wall = by_malloc();
        to_free(p);
        to_free(wall);
        to_free(p);
}

static void unknown()
{
        static char memory[64];
        to_free(memory + 16);
}

/* A pointer into the middle of a live block. */
static void inside()
{
        char *p = (char *)by_malloc();
        to_free(p + 16);
}

int main(int argc, char **argv)
{
        const char *which = argc > 1 ? argv[1] : "matching";
        if (!strcmp(which, "mismatched"))
                mismatched();
        else if (!strcmp(which, "twice"))
                twice();
        else if (!strcmp(which, "unknown"))
                unknown();
        else if (!strcmp(which, "inside"))
                inside();
        else
                matching();
        tell("end\n");
        truth_print();
}
