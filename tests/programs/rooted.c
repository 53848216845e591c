/* SPDX-License-Identifier: MIT */
/* Goes into the directory that it is given as its root, says so, and works there until its input
 * ends. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

int main(int count, char **words)
{
        char c;

        if (count != 2 || chroot(words[1]) != 0 || chdir("/") != 0)
                return 1;
        if (write(1, "there\n", 6) != 6 || fcntl(0, F_SETFL, O_NONBLOCK) != 0)
                return 2;
        while (read(0, &c, 1) != 0)
                free(malloc(100));
        return 0;
}
