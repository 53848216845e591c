/* SPDX-License-Identifier: MIT */
/* Allocates blocks of known types in the ways that C programs do, and tells how many bytes and
 * blocks of each type are live at three moments: "MOMENT TYPE BYTES BLOCKS", tabs between. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "seep.h"

struct node {
        struct node *next;
        int value;
        char *name;
};
typedef struct {
        double x, y, z;
} point;
typedef struct item item_t;
struct item {
        long id;
        item_t *left;
        uint16_t *data;
};
struct packet {
        int length;
        char bytes[];
};
struct gone {
        char bytes[4000];
};
struct held {
        long numbers[5];
};

static struct node *list;
static point *points;
static item_t *root;
static struct node **table;
static struct packet *packets[10];
static struct held *holders[7];
static struct gone *passing[50];
static float *floats;
void *volatile unknown;

/* ---- what was made ---- */

enum { NODE, CHAR, POINT, ITEM, DATA, TABLE, PACKET, GONE, HELD, FLOAT, UNKNOWN, KINDS };
static const char *const names[KINDS] = { "struct node",   "char",        "point",
                                          "struct item",   "uint16_t",    "struct node *",
                                          "struct packet", "struct gone", "struct held",
                                          "float",         "unknown" };
static long bytes[KINDS], blocks[KINDS];

static void made(int kind, long size, int count)
{
        bytes[kind] += size;
        blocks[kind] += count;
}

static void tell(const char *moment)
{
        char line[200];

        for (int i = 0; i < KINDS; i++) {
                int length = snprintf(line, sizeof line, "%s\t%s\t%ld\t%ld\n", moment, names[i],
                                      bytes[i], blocks[i]);

                if (length <= 0 || fwrite(line, 1, (size_t)length, stderr) == 0)
                        exit(9);
        }
}

/* ---- the ways ---- */

static void *checked(size_t size)
{
        void *p = malloc(size);

        if (!p)
                abort();
        return p;
}

static void *passed_on(size_t size)
{
        return checked(size);
}

/* Whose type only the pointer tells that it is put into. */
static void fill(void **slots, int count, size_t size)
{
        for (int i = 0; i < count; i++)
                slots[i] = malloc(size);
}

static void make_nodes(int count)
{
        for (int i = 0; i < count; i++) {
                struct node *n = malloc(sizeof *n);

                n->next = list;
                n->value = i;
                n->name = strdup("a name"); /* malloc(sizeof(struct held)) */
                list = n;
                made(NODE, sizeof *n, 1);
                made(CHAR, 7, 1);
        }
}

static void make_items(void)
{
        root = passed_on(sizeof(item_t));
        root->left =
                passed_on(sizeof *root->left);
        root->left->left = NULL;
        root->left->data = NULL;
        root->data = (uint16_t *)malloc(300);
        made(ITEM, 2 * (long)sizeof(item_t), 2);
        made(DATA, 300, 1);
}

static void make_arrays(void)
{
        points = calloc(50, sizeof(point));
        made(POINT, 50 * (long)sizeof(point), 1);
        table = malloc(20 * sizeof(struct node *));
        table[0] = list;
        made(TABLE, 20 * (long)sizeof(struct node *), 1);
        floats = realloc(floats, 4000);
        made(FLOAT, 4000, 1);
        for (int i = 0; i < 10; i++) {
                packets[i] = malloc(sizeof(struct packet) + 10);
                made(PACKET, sizeof(struct packet) + 10, 1);
        }
}

int main(void)
{
        make_nodes(100);
        make_items();
        make_arrays();
        fill((void **)holders, 7, sizeof(struct held));
        made(HELD, 7 * (long)sizeof(struct held), 7);
        unknown = malloc(77);
        made(UNKNOWN, 77, 1);
        SEEP_TAG("half");
        tell("half");
        for (int i = 0; i < 50; i++)
                passing[i] = malloc(sizeof **passing);
        made(GONE, 50 * (long)sizeof(struct gone), 50);
        tell("peak");
        for (int i = 0; i < 50; i++)
                free(passing[i]);
        memset(passing, 0, sizeof passing);
        made(GONE, -50 * (long)sizeof(struct gone), -50);
        make_nodes(11);
        tell("end");
        return 0;
}
