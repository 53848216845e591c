// SPDX-License-Identifier: MIT
/*
 * attached_cxx.cpp -- operators new and delete in a process that is recorded while it runs: for
 * each line of input N blocks of each kind, and one that there is no memory for.
 *
 * Room:   tests only.  Answers each line with what it did; allocates nothing else.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <unistd.h>

struct alignas(64) Wide {
        char bytes[128];
};

static void *volatile sink;
static volatile size_t huge = SIZE_MAX - 4096; // with any size of words

// What is thrown comes out through whatever stands between.
static int refused()
{
        int caught = 0;

        for (int i = 0; i < 3; i++) {
                try {
                        sink = ::operator new(huge + (size_t)i);
                } catch (const std::bad_alloc &) {
                        caught++;
                }
                try {
                        sink = ::operator new[](huge + (size_t)i, std::align_val_t(64));
                } catch (const std::bad_alloc &) {
                        caught++;
                }
        }
        return caught + (::operator new(huge, std::nothrow) == nullptr);
}

static void blocks(int count)
{
        for (int i = 0; i < count; i++) {
                int *one = new int(i);
                char *many = new char[100];
                Wide *wide = new Wide, *wides = new Wide[2];
                void *quiet = ::operator new(50, std::nothrow);

                sink = one, sink = many, sink = wide, sink = wides, sink = quiet;
                delete one;
                delete[] many;
                delete wide;
                delete[] wides;
                ::operator delete(quiet, std::nothrow);
        }
}

int main()
{
        char line[16], answer[64];

        while (read(0, line, sizeof line) > 0) {
                blocks(10);
                int length = snprintf(answer, sizeof answer, "caught %d\n", refused());

                if (write(1, answer, (size_t)length) != length)
                        return 2;
        }
        return 0;
}
