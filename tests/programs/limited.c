/* SPDX-License-Identifier: MIT */
/* limited RESOURCE: what a limit (data or space) is, how much memory there is under it, and whether
 * it can be set again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define STEP (64ul << 10)

int main(int argc, char **argv)
{
        int resource = argc > 1 && strcmp(argv[1], "data") == 0 ? RLIMIT_DATA : RLIMIT_AS;
        struct rlimit limit;
        size_t got = 0;
        int result;

        setvbuf(stdout, NULL, _IOLBF, 256);
        free(malloc(100));
        if (getrlimit(resource, &limit))
                return 2;
        while (mmap(NULL, STEP, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
               MAP_FAILED)
                got += STEP;
        result = setrlimit(resource, &limit);
        printf("%lld %lld %d %zu\n", (long long)limit.rlim_cur, (long long)limit.rlim_max, result,
               got);
        return 0;
}
