/* SPDX-License-Identifier: MIT */
/*
 * service.c -- a small service for the examples in README.md: each line of standard input is a request, a number.
 *
 * It has usual faults: a number that ends with 7 is refused, and then neither its answer nor its session is given back; for one
 * that ends with 50 a file is opened and not closed.
 */
#include <seep.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *names[1000];

static void load_names(void)
{
        char text[32];

        for (int i = 0; i < 1000; i++) {
                snprintf(text, sizeof text, "number %d", i);
                names[i] = strdup(text);
        }
}

static int refuse(const char *answer)
{
        return printf("refused: %s\n", answer);
}

static int serve(long number)
{
        char *answer = malloc(200);

        if (!answer)
                return puts("no memory");
        SEEP_RESOURCE_ACQUIRE("session", number, 1);
        snprintf(answer, 200, "%ld is %s", number, names[number % 1000]);
        if (number % 10 == 7)
                return refuse(answer);
        if (number % 100 == 50 && !fopen("/etc/services", "r"))
                perror("/etc/services");
        puts(answer);
        SEEP_RESOURCE_RELEASE("session", number);
        free(answer);
        return 0;
}

int main(void)
{
        char line[64];

        load_names();
        SEEP_TAG("startup");
        while (fgets(line, sizeof line, stdin)) {
                serve(labs(atol(line)));
                if (strcmp(line, "500\n") == 0)
                        SEEP_SNAPSHOT("half");
        }
        return 0;
}
