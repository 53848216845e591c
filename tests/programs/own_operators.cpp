/* SPDX-License-Identifier: MIT */
/*
 * own_operators.cpp -- a correct program with operators new and delete of its own, the plain ones
 * only: all other forms are the library's, and call these.
 *
 * Room:   tests only.  argv[1]: so many bytes are in front of each block.  With -DLIBRARY only the
 *         operators, with -DPROGRAM only the rest.
 */
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#ifdef PROGRAM
extern std::size_t front;
extern long live;
#else
std::size_t front;
long live;

void *operator new(std::size_t size)
{
        void *p = std::malloc(size + front);

        if (!p)
                throw std::bad_alloc();
        live++;
        return static_cast<char *>(p) + front;
}

void operator delete(void *p) noexcept
{
        if (!p)
                return;
        live--;
        std::free(static_cast<char *>(p) - front);
}

#endif

#ifndef LIBRARY
struct thing {
        int numbers[5];
        ~thing() { numbers[0] = 1; }
};

int main(int, char **argv)
{
        long before = live;

        front = std::strtoul(argv[1], nullptr, 0);
        delete new thing;
        delete[] new thing[3];
        delete new (std::nothrow) thing;
        delete[] new (std::nothrow) int[7];
        {
                std::vector<int> v(100);
                auto shared = std::make_shared<thing>();
        }
        std::printf("%ld\n", live - before);
}
#endif
