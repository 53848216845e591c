// SPDX-License-Identifier: MIT
/*
 * within.cpp -- functions that are inlined and stand in what gives them no name for the linker: an
 * anonymous namespace, a class in a function, a lambda.
 *
 * Room:   tests only.  Each allocates blocks of a size of its own.  A line "within SIZE NAME" tells
 *         in what the function stands.
 */
#include "truth.h"

enum { HELPER = 1001, INNER, READER, LOCAL, LAMBDA, LAMBDA_IN_LAMBDA };

static void *volatile kept;

static inline void *keep(int size)
{
        return kept = new char[size];
}

namespace {
struct Reader {
        template <class T> void read(T size) { keep(size), keep(size); }
};

inline void helper()
{
        keep(HELPER);
        truth_say("within %d (anonymous namespace)::helper\n", HELPER);
}
}

namespace app {
namespace {
inline void inner()
{
        keep(INNER);
        truth_say("within %d app::(anonymous namespace)::inner\n", INNER);
}
}

static void outer()
{
        inner();
}
}

static void plain()
{
        struct Local {
                void work() { keep(LOCAL), keep(LOCAL); }
        } local;
        auto lambda = [](int size) {
                auto inside = [size] { keep(size + 1), keep(size + 1); };

                keep(size);
                inside();
        };

        local.work();
        lambda(LAMBDA);
        truth_say("within %d plain::Local::work\n", LOCAL);
        truth_say("within %d plain::{lambda}::operator()\n", LAMBDA);
        truth_say("within %d plain::{lambda}::operator()::{lambda}::operator()\n",
                  LAMBDA_IN_LAMBDA);
}

int main()
{
        Reader().read(+READER);
        truth_say("within %d (anonymous namespace)::Reader::read<int>\n", READER);
        helper();
        app::outer();
        plain();
        return 0;
}
