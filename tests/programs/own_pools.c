/* SPDX-License-Identifier: MIT */
/* own_pools.c -- allocators of the program's own: an arena in static memory, a pool in blocks of
 * malloc, and functions that have more arguments than registers. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEEP __attribute__((noinline, noipa))

/* ---- an arena: handed out in order, released as a whole ---- */

struct arena {
	char *at, *end;
};

static char memory[1 << 16];

KEEP void *arena_take(struct arena *a, size_t size)
{
	char *p = a->at;

	size = (size + 15) & ~(size_t)15;
	if ((size_t)(a->end - p) < size)
		return NULL;
	a->at += size;
	return p;
}

/* ---- a pool in blocks of malloc, with a list of what came back ---- */

struct item {
	struct item *next;
};

struct pool {
	struct item *free;
	size_t each;
	char *chunk;
};

KEEP void *pool_get(struct pool *p, size_t size)
{
	struct item *i = p->free;

	if (size > p->each)
		return NULL;
	if (!i) {
		if (!p->chunk)
			p->chunk = malloc(p->each * 64);
		for (int k = 63; k >= 0; k--) {
			struct item *one = (struct item *)(p->chunk + (size_t)k * p->each);

			one->next = p->free;
			p->free = one;
		}
		i = p->free;
	}
	p->free = i->next;
	return i;
}

KEEP void pool_put(struct pool *p, void *block)
{
	struct item *i = block;

	i->next = p->free;
	p->free = i;
}

/* One function of the pool calls another. */
KEEP void *pool_zeroed(struct pool *p, size_t count, size_t size)
{
	void *block = pool_get(p, count * size);

	return block ? memset(block, 0, count * size) : NULL;
}

KEEP void *pool_resize(struct pool *p, void *block, size_t size)
{
	void *other = pool_get(p, size);

	memcpy(other, block, 8);
	pool_put(p, block);
	return other;
}

/* ---- more arguments than registers, and a result in two of them ---- */

struct pair {
	void *block;
	size_t sum;
};

KEEP struct pair long_call(int a, int b, int c, int d, int e, size_t size, int g, int h, long i)
{
        return (struct pair){ malloc(size),
                              (size_t)(a + b + c + d + e) + size + (size_t)(g + h) + (size_t)i };
}

/* Nothing but a return: there is no room for a jump, and another function follows. */
__asm__(".text\n.type tiny, @function\n.globl tiny\ntiny: ret\n.size tiny, . - tiny\n"
	".type behind, @function\n.globl behind\nbehind: ret\n.size behind, . - behind\n");

/* ---- who uses them ---- */

static struct arena arena = { memory, memory + sizeof memory };
static struct pool pool = { .each = 64 };
static void *kept[8];

KEEP void use_arena(void)
{
	for (int i = 0; i < 10; i++)
		kept[0] = arena_take(&arena, 40);
}

KEEP void use_pool(void)
{
	for (int i = 0; i < 30; i++) {
		void *p = pool_get(&pool, 48);

		if (i < 28)
			pool_put(&pool, p);
		else
			kept[i - 27] = p;
	}
}

KEEP void use_zeroed(void)
{
	for (int i = 0; i < 5; i++)
		pool_put(&pool, pool_zeroed(&pool, 3, 10));
}

KEEP void use_resize(void)
{
	kept[1] = pool_resize(&pool, kept[1], 56);
}

KEEP size_t use_long(void)
{
	struct pair p = long_call(1, 2, 3, 4, 5, 100, 6, 7, 8);

	free(p.block);
	return p.sum;
}

int main(void)
{
	use_arena();
	use_pool();
	use_zeroed();
	use_resize();
	printf("%zu\n", use_long());
	return 0;
}
