/* SPDX-License-Identifier: MIT */
/*
 * wordy.cpp -- one line of its own from which the C++ library allocates in two ways: the node of a
 * map, and the storage of a vector in it.
 *
 * usage: wordy ENTRIES
 */
#include <cstdlib>
#include <map>
#include <vector>

static std::map<int, std::vector<int>> *entries;

static void add_entry(int key)
{
        (*entries)[key].push_back(key);
}

int main(int argc, char **argv)
{
        int count = argc > 1 ? atoi(argv[1]) : 0;

        entries = new std::map<int, std::vector<int>>;
        for (int i = 0; i < count; i++)
                add_entry(i);
        return 0;
}
