/* SPDX-License-Identifier: MIT */
#include "remote/bridge.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/io.h"
#include "remote/address.h"

/* What is there at FROM, to TO.  false: that was the end. */
static bool carry(int from, int to)
{
        char bytes[65536];
        ssize_t got = read(from, bytes, sizeof bytes);

        if (got < 0 && errno == EINTR)
                return true;
        return got > 0 && io_write(to, bytes, (size_t)got);
}

bool bridge_run(const char *address, struct err *e)
{
        struct address a;
        pid_t helper;
        int fd;

        signal(SIGPIPE, SIG_IGN);
        if (!address_parse(address, &a, e) || (fd = address_dial(&a, &helper, e)) < 0)
                return false;
        for (bool open = true; open;) {
                struct pollfd p[] = { { .fd = STDIN_FILENO, .events = POLLIN },
                                      { .fd = fd, .events = POLLIN } };

                if (poll(p, 2, -1) < 0 && errno != EINTR)
                        break;
                if (p[1].revents)
                        open = carry(fd, STDOUT_FILENO);
                else if (p[0].revents)
                        open = carry(STDIN_FILENO, fd);
        }
        close(fd);
        return true;
}
