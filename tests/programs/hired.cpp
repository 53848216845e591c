// SPDX-License-Identifier: MIT
// hired.cpp -- a function that allocates in threads of the C++ library, called in two ways.
#include <cstdlib>
#include <thread>

static void *volatile kept[64];

struct Worker {
    int first;
    void run()
    {
        for (int i = 0; i < 10; i++)
            kept[first + i] = std::malloc(1000);
    }
};

int main()
{
    Worker one{0}, two{20};
    std::thread by_lambda([&] { one.run(); });
    by_lambda.join();
    std::thread by_member(&Worker::run, &two);
    by_member.join();
    return 0;
}
