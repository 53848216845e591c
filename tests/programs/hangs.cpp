// SPDX-License-Identifier: MIT
// Two mistakes at places with long names: one block is lost, with 40 KiB that hang on it, and 20
// blocks on which nothing hangs, 1 KiB each.
#include <cstdlib>
#include <cstring>

namespace depot {

struct Shelf {
        char *boxes[4];
};

class Receiver {
public:
        __attribute__((noinline)) Shelf *put_up_a_shelf()
        {
                return static_cast<Shelf *>(calloc(1, sizeof(Shelf)));
        }
        __attribute__((noinline)) char *unpack_a_box(size_t bytes)
        {
                return static_cast<char *>(calloc(1, bytes));
        }
        __attribute__((noinline)) char *write_a_delivery_note()
        {
                return static_cast<char *>(calloc(1, 1024));
        }
};

} // namespace depot

static void *volatile kept;

int main()
{
        depot::Receiver receiver;

        auto *shelf = receiver.put_up_a_shelf();
        for (char *&box : shelf->boxes)
                box = receiver.unpack_a_box(10240);
        kept = shelf;
        for (int i = 0; i < 20; i++)
                kept = receiver.write_a_delivery_note();
        kept = nullptr;
}
