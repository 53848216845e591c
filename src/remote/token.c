/* SPDX-License-Identifier: MIT */
/* token.c -- the token of both sides, read from a file (proof.h). */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "remote/proof.h"

bool proof_read_token(const char *file, struct proof_token *t, struct err *e)
{
        struct str text = { 0 };
        struct stat st = { 0 };
        int fd = open(file, O_RDONLY | O_CLOEXEC);
        bool good = fd >= 0 && fstat(fd, &st) == 0;
        size_t length;

        if (!good)
                err_sys(e, ERR_EXIT_USAGE, "cannot read the token %s", file);
        else if (!S_ISREG(st.st_mode) && !S_ISFIFO(st.st_mode))
                good = err_set(e, ERR_EXIT_USAGE, "the token %s is not a file", file);
        else if (S_ISREG(st.st_mode) && (st.st_mode & 077))
                good = err_set(e, ERR_EXIT_USAGE,
                               "others may read or write the token %s: chmod 600 %s", file, file);
        else if (S_ISREG(st.st_mode) && st.st_size > (1 << 20))
                good = err_set(e, ERR_EXIT_USAGE, "%s is too large for a token", file);
        else if (!io_read(fd, &text))
                good = err_sys(e, ERR_EXIT_USAGE, "cannot read the token %s", file);
        if (fd >= 0)
                close(fd);
        length = good && text.length ? strcspn(str_get(&text), "\r\n") : 0;
        if (good && (length < PROOF_TOKEN_LEAST || length > PROOF_TOKEN_MOST))
                good = err_set(e, ERR_EXIT_USAGE,
                               "the first line of %s must be a token of %d to %d bytes; to make "
                               "one: (umask 077; head -c 24 /dev/urandom | base64 > %s)", file,
                               PROOF_TOKEN_LEAST, PROOF_TOKEN_MOST, file);
        if (good) {
                memcpy(t->bytes, text.data, length);
                t->length = length;
        }
        str_free(&text);
        return good;
}
