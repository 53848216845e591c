/* SPDX-License-Identifier: MIT */
/*
 * holders.c -- one data structure of each kind, held from one kind of root each; tells the right
 * path to a block in it.
 *
 * usage: holders [wait]      wait: with everything in place, until standard input ends
 *
 * What variables hold is built by main.  What a stack or a register holds alone, and what is lost,
 * is built by a thread that wipes its stack before it ends, and handed over disguised, so that no
 * copy of the address lies around elsewhere.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "holders.h"
#include "seep.h"

void library_fill(void), library_tell(void);

struct node {
        struct node *next;
        long value;
        char *name;
};

struct branch {
        long key;
        struct branch *left, *right;
};

struct entry {
        char *key;
        struct entry *next;
        struct node *value;
};

struct table {
        long count;
        struct entry **buckets;
};

struct vector {
        long count;
        struct node **items;
};

struct link {
        struct link *next, *previous;
};

struct member {
        long number;
        struct link link;
        char *text;
};

enum { LIST_LINE = __LINE__ + 1 };
struct node *list;
enum { TREE_LINE = __LINE__ + 1 };
static struct branch *tree;
enum { TABLE_LINE = __LINE__ + 1 };
static struct table table __attribute__((used)); /* not to be taken apart */
enum { VECTOR_LINE = __LINE__ + 1 };
struct vector vectors[3];
enum { MEMBERS_LINE = __LINE__ + 1 };
static struct link members = { &members, &members };
enum { RING_LINE = __LINE__ + 1 };
struct node *ring;
enum { CHAIN_LINE = __LINE__ + 1 };
static struct node *chain;
enum { THREAD_LINE = __LINE__ + 1 };
static __thread struct node *thread_list;

static struct node *node_new(struct node *next)
{
        struct node *node = calloc(1, sizeof *node);

        node->next = next;
        node->name = malloc(20);
        return node;
}

/* ---- held by variables ---- */

static void list_tell(const char *name, const char *kind, const char *variable, int line,
                      struct node *at)
{
        PATH(name, kind, variable, line, "-");
        STEP(at, "-");
        STEP(at->next, ".next");
        STEP(at->next->next, ".next");
        STEP(at->next->next->name, ".name");
        PATH_END();
}

static struct branch *branch_new(int depth)
{
        struct branch *branch = calloc(1, sizeof *branch);

        if (depth) {
                branch->left = branch_new(depth - 1);
                branch->right = branch_new(depth - 1);
        }
        return branch;
}

static void tree_tell(void)
{
        PATH("tree", "data", "tree", TREE_LINE, "-");
        STEP(tree, "-");
        STEP(tree->left, ".left");
        STEP(tree->left->right, ".right");
        STEP(tree->left->right->left, ".left");
        PATH_END();
}

static void table_add(long bucket)
{
        struct entry *entry = calloc(1, sizeof *entry);

        entry->next = table.buckets[bucket];
        entry->value = node_new(NULL);
        table.buckets[bucket] = entry;
        table.count++;
}

static void table_tell(void)
{
        PATH("table", "data", "table", TABLE_LINE, "-");
        STEP(table.buckets, ".buckets");
        STEP(table.buckets[17], "[17]");
        STEP(table.buckets[17]->next, ".next");
        STEP(table.buckets[17]->next->value, ".value");
        PATH_END();
}

static void vector_fill(struct vector *v)
{
        v->count = 10;
        v->items = calloc(10, sizeof *v->items);
        for (int i = 0; i < 10; i++)
                v->items[i] = node_new(NULL);
}

static void vector_tell(void)
{
        PATH("vector", "data", "vectors", VECTOR_LINE, "-");
        STEP(vectors[2].items, "[2].items");
        STEP(vectors[2].items[7], "[7]");
        PATH_END();
}

static void member_add(void)
{
        struct member *member = calloc(1, sizeof *member);

        member->text = malloc(30);
        member->link = (struct link){ members.next, &members };
        members.next->previous = &member->link;
        members.next = &member->link;
}

static struct member *member_of(struct link *link)
{
        return (struct member *)((char *)link - offsetof(struct member, link));
}

/* Pointers lead to the middle of the next block: what type it has is not known from there on. */
static void members_tell(void)
{
        PATH("members", "data", "members", MEMBERS_LINE, "-");
        STEP(member_of(members.next), ".next");
        STEP(member_of(members.next->next), "?");
        STEP(member_of(members.next->next)->text, "?");
        PATH_END();
}

static void ring_fill(void)
{
        ring = node_new(node_new(node_new(NULL)));
        ring->next->next->next = ring;
}

enum { KEEP_LINE = __LINE__ + 4 };
/* A static variable of a function. */
__attribute__((noinline)) static struct node *keep(struct node *node)
{
        static struct node *kept;

        if (node)
                kept = node;
        return kept;
}

static void keep_tell(void)
{
        struct node *kept = keep(NULL);

        PATH("keep", "data", "kept", KEEP_LINE, "keep");
        STEP(kept, "-");
        STEP(kept->next, ".next");
        PATH_END();
}

static void **mapping;

static void mapping_fill(void)
{
        mapping = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        mapping[100] = node_new(node_new(NULL));
}

static pthread_key_t key;

static void key_fill(void)
{
        if (pthread_key_create(&key, NULL) || pthread_setspecific(key, node_new(node_new(NULL))))
                exit(1);
}

/* Made behind the back of every hook, so that nothing but SEEP_ROOT tells that it is ours. */
static void **given;

static void given_fill(void)
{
        given = (void **)syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        SEEP_ROOT(given, 4096);
        given[10] = node_new(node_new(NULL));
}

static void pair_tell(const char *name, const char *kind, struct node *node)
{
        PATH(name, kind, "-", 0, "-");
        STEP(node, "-");
        STEP(node->next, "?");
        PATH_END();
}

static void chain_fill(void)
{
        for (int i = 0; i < 10000; i++)
                chain = node_new(chain);
        truth_say("fact chain_blocks=%d chain_bytes=%zu\n", 20000, 10000 * (sizeof *chain + 20));
}

static void chain_tell(void)
{
        struct node *node = chain;

        while (node->next)
                node = node->next;
        PATH("chain", "data", "chain", CHAIN_LINE, "-");
        STEP(chain, "-");
        STEP(node, "...");
        PATH_END();
}

/* ---- held by less, or by nothing ---- */

#define DISGUISE(pointer) (~(uintptr_t)(pointer))

static volatile uintptr_t for_stack, for_register, lost, lost_ring;

__attribute__((noinline)) static void wipe(void)
{
        volatile char room[8192];

        for (size_t i = 0; i < sizeof room; i++)
                room[i] = 0;
}

__attribute__((noinline)) static void make_hidden(void)
{
        struct node *node = node_new(node_new(NULL));

        node->next->next = node;
        lost_ring = DISGUISE(node);
        for_stack = DISGUISE(node_new(node_new(NULL)));
        for_register = DISGUISE(node_new(node_new(NULL)));
        lost = DISGUISE(node_new(node_new(NULL)));
}

static void *maker(void *unused)
{
        (void)unused;
        make_hidden();
        wipe();
        return NULL;
}

static const char hex[] = "0123456789abcdef";

/* Tell two blocks of a list without their addresses ever being in memory: digit by digit. */
static void hidden_step(uintptr_t disguised, const char *member)
{
        char text[40] = " 0x";

        for (int i = 0; i < 16; i++)
                text[3 + i] = hex[~disguised >> (60 - 4 * i) & 15];
        text[19] = 0;
        truth_say("%s/%s", text, member);
}

__attribute__((noinline)) static uintptr_t next_of(uintptr_t disguised)
{
        uintptr_t next = DISGUISE(((struct node *)~disguised)->next);

        return next;
}

static void hidden_tell(const char *name, const char *kind, const char *variable,
                        const char *function, uintptr_t disguised)
{
        PATH(name, kind, variable, 0, function);
        hidden_step(disguised, strcmp(kind, "stack") ? "?" : "[1]");
        hidden_step(next_of(disguised), strcmp(kind, "stack") ? "?" : ".next");
        PATH_END();
}

/* The pointer is in a register and nowhere else while the thread waits. */
static void *hold_in_register(void *unused)
{
        (void)unused;
        __asm__ volatile("mov (%0), %%r12\n\t"
                         "not %%r12\n\t"
                         "movq $0, (%0)\n"
                         "1:\n\t"
                         "mov $34, %%eax\n\t" /* pause */
                         "syscall\n\t"
                         "jmp 1b"
                         :
                         : "r"(&for_register)
                         : "rax", "rcx", "r11", "r12", "memory");
        return NULL;
}

/* ---- all of it ---- */

static void fill(void)
{
        list = node_new(node_new(node_new(NULL)));
        thread_list = node_new(node_new(node_new(NULL)));
        tree = branch_new(4);
        table.buckets = calloc(64, sizeof *table.buckets);
        for (int i = 0; i < 200; i++)
                table_add(i % 64);
        for (int i = 0; i < 3; i++)
                vector_fill(&vectors[i]);
        for (int i = 0; i < 5; i++)
                member_add();
        ring_fill();
        keep(node_new(node_new(NULL)));
        mapping_fill();
        key_fill();
        given_fill();
        chain_fill();
        library_fill();
}

static void tell_all(void)
{
        list_tell("list", "data", "list", LIST_LINE, list);
        list_tell("thread", "tls", "thread_list", THREAD_LINE, thread_list);
        list_tell("ring", "data", "ring", RING_LINE, ring);
        tree_tell();
        table_tell();
        vector_tell();
        members_tell();
        keep_tell();
        pair_tell("mapping", "mapping", mapping[100]);
        pair_tell("key", "thread", pthread_getspecific(key));
        pair_tell("given", "root", given[10]);
        chain_tell();
        library_tell();
}

static void make_the_hidden(void)
{
        pthread_t thread;

        if (pthread_create(&thread, NULL, maker, NULL) || pthread_join(thread, NULL))
                exit(1);
        hidden_tell("stack", "stack", "mine", "serve", for_stack);
        hidden_tell("register", "register", "r12", "-", for_register);
        hidden_tell("lost", "-", "-", "-", lost);
        hidden_tell("lost_ring", "-", "-", "-", lost_ring);
        if (pthread_create(&thread, NULL, hold_in_register, NULL))
                exit(1);
        while (for_register)
                sched_yield();
}

__attribute__((noinline)) static void serve(bool waiting)
{
        struct node *mine[2];
        char byte;

        mine[0] = NULL;
        mine[1] = (struct node *)~for_stack;
        __asm__ volatile("" : : "r"(mine) : "memory");
        tell("ready\n");
        while (waiting && read(0, &byte, 1) > 0)
                continue;
        exit(0);
}

int main(int argc, char **argv)
{
        fill();
        tell_all();
        make_the_hidden();
        wipe();
        serve(argc > 1 && !strcmp(argv[1], "wait"));
}
