/* SPDX-License-Identifier: MIT */
/*
 * unwound.cpp -- allocates while exceptions leave its frames.
 *
 * Room:   tests only.  test_tables.py damages its unwind tables, which its own exceptions need too.
 */
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

static unsigned sum;

struct holder {
        std::unique_ptr<int> value;
        explicit holder(int n) : value(new int(n)) {}
        ~holder()
        {
                sum = sum * 31 + static_cast<unsigned>(*value) +
                      static_cast<unsigned>(std::string(40, 'x').size());
        }
};

__attribute__((noinline)) static int descend(int depth)
{
        holder kept(depth);

        if (!depth)
                throw std::runtime_error(std::string("at the bottom, in a text that needs memory"));
        return descend(depth - 1) + *kept.value;
}

__attribute__((noinline)) static int again(int depth)
{
        std::vector<int> v(static_cast<size_t>(depth + 1), depth);

        try {
                return descend(depth);
        } catch (const std::exception &e) {
                sum += static_cast<unsigned>(std::string(e.what()).size());
                if (depth & 1)
                        throw;
        }
        return v[0];
}

int main()
{
        for (int i = 0; i < 12; i++)
                try {
                        sum += static_cast<unsigned>(again(i));
                } catch (const std::runtime_error &) {
                        sum++;
                }
        std::printf("%u\n", sum);
        return 0;
}
