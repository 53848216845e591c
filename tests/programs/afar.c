/* SPDX-License-Identifier: MIT */
/*
 * afar.c -- argv[1] nodes of 64 bytes in one list that is held, argv[2] texts of 4,000 bytes that
 * are held, and argv[3] lost blocks of 100
 * bytes.  Texts are bytes by chance.  Then it says "ready" and waits for a line.
 *
 * Room:   tests and measurements only.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT 4000

struct node {
        struct node *next, *before;
        char text[48];
};

static struct node *volatile list;
static char **volatile texts;
static uint64_t chance = 1;

static void fill(char *to, size_t bytes)
{
        for (size_t i = 0; i < bytes; i++) {
                chance = chance * 6364136223846793005u + 1442695040888963407u;
                to[i] = (char)(chance >> 56);
        }
}

static void make_list(long count)
{
        for (long i = 0; i < count; i++) {
                struct node *n = malloc(sizeof *n);

                n->next = list;
                n->before = NULL;
                if (list)
                        list->before = n;
                fill(n->text, sizeof n->text);
                list = n;
        }
}

static void make_texts(long count)
{
        texts = malloc((size_t)count * sizeof *texts + 1);
        for (long i = 0; i < count; i++) {
                texts[i] = malloc(TEXT);
                fill(texts[i], TEXT);
        }
}

static __attribute__((noinline)) void lose(long count)
{
        for (long i = 0; i < count; i++) {
                char *volatile p = malloc(100);

                memset(p, 0, 100);
        }
}

int main(int argc, char **argv)
{
        if (argc != 4)
                return 2;
        lose(atol(argv[3]));
        make_list(atol(argv[1]));
        make_texts(atol(argv[2]));
        puts("ready");
        fflush(stdout);
        return getchar() == EOF;
}
