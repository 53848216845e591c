/* SPDX-License-Identifier: MIT */
#include "alone.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "agent/descriptor.h"
#include "agent/hook.h"
#include "agent/mark.h"
#include "agent/omit.h"
#include "agent/ring.h"
#include "agent/signal.h"
#include "agent/stack.h"
#include "agent/sys.h"
#include "agent/thin.h"
#include "book/tree.h"

#define PART_BYTES (64ull << 20)
#define HEAD_BYTES (1ull << 20)
#define STAND_IN __attribute__((weak))

struct agent agent;
struct book agent_book;
struct thread alone_threads[ALONE_THREADS];
uint64_t alone_room[LEDGER_PARTS];
uint32_t alone_ends, alone_site, alone_marks[16], alone_aborts;
enum ledger_stop alone_end;
static volatile uint32_t gate;
STAND_IN __thread struct thread *thread_self __attribute__((tls_model("initial-exec")));

void alone_begin(void)
{
        static uint8_t *memory;
        uint64_t size = HEAD_BYTES + LEDGER_PARTS * PART_BYTES;

        if (memory)
                munmap(memory, size);
        memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        memset(&agent, 0, sizeof agent);
        memset(alone_threads, 0, sizeof alone_threads);
        memset(alone_marks, 0, sizeof alone_marks);
        alone_ends = alone_site = alone_aborts = 0;
        gate = GATE_ON;
        agent.gate = &gate;
        agent.head = (struct ledger_head *)(void *)memory;
        for (uint32_t part = 0; part < LEDGER_PARTS; part++) {
                agent.head->part[part] = (struct ledger_extent){ HEAD_BYTES + part * PART_BYTES,
                                                                 PART_BYTES, PART_BYTES };
                alone_room[part] = PART_BYTES;
        }
        memset(&agent_book, 0, sizeof agent_book);
        book_begin(&agent_book, agent.head);
        agent.head->node_count = 2;
        agent.head->site_count = 1;
}

void alone_join(uint32_t count)
{
        for (uint32_t i = agent.head->slot_count; i < count; i++) {
                alone_threads[i] = (struct thread){
                        .writer = { .slot = book_slot(&agent_book, i), .index = i, .record = i }
                };
                alone_threads[i].writer.slot->tid = 100 + i;
        }
        agent.head->slot_count = count;
}

/* ---- memory ---- */

STAND_IN bool arena_commit(enum ledger_part part, uint64_t bytes)
{
        return bytes <= alone_room[part];
}

STAND_IN void *arena_private(size_t size)
{
        void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        return p == MAP_FAILED ? NULL : p;
}

STAND_IN void *arena_dense(size_t size)
{
        return arena_private(size);
}

STAND_IN void arena_private_free(void *p, size_t size)
{
        munmap(p, size);
}

STAND_IN void *arena_table(struct arena_table *t, uint64_t size)
{
        *t = (struct arena_table){ .at = arena_private(size), .size = size };
        return t->at;
}

STAND_IN bool arena_table_open(struct arena_table *t, uint64_t bytes)
{
        t->open = bytes;
        return bytes <= t->size;
}

STAND_IN void thin_check(void)
{
}

STAND_IN void thin_end(enum ledger_stop reason)
{
        alone_ends++;
        alone_end = reason;
}

/* ---- what is asked of others ---- */

STAND_IN bool sandbox_allows(long number, const uint64_t arguments[SANDBOX_ARGUMENTS])
{
        (void)number;
        (void)arguments;
        return true;
}

STAND_IN uint64_t stack_capture_whole(struct thread *t, struct arch_state caller)
{
        (void)t;
        (void)caller;
        return 1;
}

STAND_IN uint64_t stack_none(struct thread *t)
{
        (void)t;
        return 1;
}

/* Node and site of one number. */
STAND_IN uint32_t stack_node(struct thread *t)
{
        (void)t;
        return alone_site;
}

STAND_IN uint32_t tree_site_find(struct book *k, uint32_t node, uint32_t kind)
{
        (void)k;
        (void)kind;
        return node;
}

STAND_IN void ring_write(const struct thread *t, enum ledger_event_type type, uint32_t kind,
                         uint32_t site, uint64_t address, uint64_t size)
{
        (void)t;
        (void)type;
        (void)kind;
        (void)site;
        (void)address;
        (void)size;
}

STAND_IN bool omit_code(uint64_t pc)
{
        return pc == 0;
}

STAND_IN bool agent_wake(void)
{
        return false;
}

STAND_IN struct thread *hook_enter_slow(const struct arch_state *caller)
{
        (void)caller;
        return NULL;
}

STAND_IN void hook_leave_slow(struct thread *t)
{
        (void)t;
}

STAND_IN bool descriptor_is_there(const struct descriptor_stack *stack)
{
        (void)stack;
        return true;
}

STAND_IN uint32_t mark_add(enum ledger_mark_type type, const char *label, uint32_t flags)
{
        (void)label;
        (void)flags;
        return alone_marks[type % 16]++;
}

STAND_IN void mark_wait(uint32_t mark)
{
        (void)mark;
}

STAND_IN void signal_abort(void)
{
        alone_aborts++;
}
