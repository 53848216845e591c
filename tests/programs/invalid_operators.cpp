// SPDX-License-Identifier: MIT
/*
 * invalid_operators.cpp -- a plug-in with operators of its own, which keep a word in front of each
 * block; for invalid.cpp.
 *
 * Room:   tests only.
 */
#include <cstdlib>
#include <new>

void *operator new(std::size_t size)
{
        char *p = (char *)malloc(size + 16);
        return p + 16;
}

void operator delete(void *p) noexcept { free((char *)p - 16); }
void operator delete(void *p, std::size_t) noexcept { free((char *)p - 16); }

extern "C" void plug_work()
{
        for (int i = 0; i < 100; i++)
                ::operator delete(::operator new(8 + i % 50));
}
