// SPDX-License-Identifier: MIT
/*
 * late.cpp -- a library whose destructor runs after all of the program's; with -DPROGRAM the
 * program that uses it.
 *
 * Room:   tests only.  The destructor frees what the constructor made, keeps another block and
 *         tells the truth.
 */
#ifdef PROGRAM

int late_status();

int main()
{
        return late_status();
}

#else
#include "truth.h"

#include <cstdlib>

struct holder {
        void *kept;
        holder();
        ~holder();
};

holder::holder() : kept(malloc(2001))
{
        truth_got("holder::holder", kept, 2001);
}

holder::~holder()
{
        void *p = malloc(2002);
        truth_got("holder::~holder", p, 2002);
        truth_gone(kept);
        free(kept);
        truth_print();
}

static holder object;

int late_status();
int late_status()
{
        return object.kept ? 0 : 1;
}
#endif
