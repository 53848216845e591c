/* SPDX-License-Identifier: MIT */
/* err.c -- filling and wording of error values. */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool err_set(struct err *e, int exit_code, const char *format, ...)
{
        va_list ap;

        e->exit_code = exit_code;
        va_start(ap, format);
        vsnprintf(e->text, sizeof e->text, format, ap);
        va_end(ap);
        return false;
}

bool err_sys(struct err *e, int exit_code, const char *format, ...)
{
        int saved = errno;
        va_list ap;
        size_t used;

        e->exit_code = exit_code;
        va_start(ap, format);
        vsnprintf(e->text, sizeof e->text, format, ap);
        va_end(ap);
        used = strlen(e->text);
        snprintf(e->text + used, sizeof e->text - used, ": %s", strerror(saved));
        errno = saved;
        return false;
}

bool err_context(struct err *e, const char *format, ...)
{
        char rest[sizeof e->text];
        va_list ap;
        size_t used;

        memcpy(rest, e->text, sizeof rest);
        va_start(ap, format);
        vsnprintf(e->text, sizeof e->text, format, ap);
        va_end(ap);
        used = strlen(e->text);
        snprintf(e->text + used, sizeof e->text - used, ": %s", rest);
        return false;
}
