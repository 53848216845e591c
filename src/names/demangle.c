/* SPDX-License-Identifier: MIT */
#include "names/demangle.h"

#include <stdlib.h>
#include <string.h>

#include "base/heap.h"
#include "names/mangled.h"

/* "memcpy@@GLIBC_2.14" is memcpy. */
static char *demangle_unversioned(const char *name)
{
        char *plain = heap_text(name);
        char *at = strchr(plain, '@');

        if (at && at != plain)
                *at = 0;
        return plain;
}

/* The template's closing bracket for the opening one before TEXT; NULL when it is not there. */
static char *demangle_bracket(char *text)
{
        int depth = 1;

        for (; *text; text++) {
                depth += (*text == '<') - (*text == '>' && text[-1] != '-');
                if (!depth)
                        return text;
        }
        return NULL;
}

/* std::string is spelt with all its arguments: 76 characters instead of 11. */
static void demangle_strings(char *name)
{
        static const char tail[] = "<char, std::char_traits<char>, std::allocator<char> >";
        static const char *const heads[] = { "std::__cxx11::basic_string", "std::basic_string" };

        for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
                size_t head = strlen(heads[i]);

                for (char *at = name; (at = strstr(at, heads[i]));) {
                        char *rest = at + head + sizeof tail - 1;

                        at += head;
                        if (strncmp(at, tail, sizeof tail - 1) != 0)
                                continue;
                        if (strncmp(rest, " >", 2) == 0)
                                rest++;
                        memcpy(at - head, "std::string", 11);
                        memmove(at - head + 11, rest, strlen(rest) + 1);
                        at += 11 - head;
                }
        }
}

/* What stands in NAME from START (", std::allocator<") on to its bracket is the default, where it
 * is the last argument of a template, but for a few who know why. */
static void demangle_default(char *name, const char *start)
{
        for (char *at = name; (at = strstr(at, start));) {
                char *close = demangle_bracket(at + strlen(start));
                char *rest = close ? close + 1 : NULL;

                if (rest && *rest == ' ')
                        rest++;
                if (rest && *rest == '>')
                        memmove(at, rest, strlen(rest) + 1);
                else
                        at += strlen(start);
        }
}

void demangle_shorten(char *name)
{
        static const char *const defaults[] = { ", std::allocator<", ", std::equal_to<",
                                                ", std::hash<", ", std::less<",
                                                ", std::default_delete<" };

        demangle_strings(name);
        for (size_t i = 0; i < sizeof defaults / sizeof defaults[0]; i++)
                demangle_default(name, defaults[i]);
}

void demangle_usual(char *name)
{
        /* "Shop::page[abi:cxx11]()" is how the linker has to tell a function from an older one. */
        for (char *end, *at = name; (at = strstr(at, "[abi:")) && (end = strchr(at, ']'));)
                memmove(at, end + 1, strlen(end + 1) + 1);
        demangle_strings(name);
        demangle_default(name, ", std::allocator<");
}

const char *demangle_spoken(const char *name)
{
        if (strncmp(name, "__GI_", 5) != 0 || !name[5])
                return name;
        name += 5;
        return strncmp(name, "__", 2) == 0 && name[2] && strncmp(name, "__libc_", 7) != 0 ? name + 2
                                                                                          : name;
}

char *demangle_name(const char *name)
{
        char *plain = demangle_unversioned(demangle_spoken(name));
        char *readable = mangled_read(plain);

        if (!readable)
                return plain;
        free(plain);
        demangle_usual(readable);
        return readable;
}
