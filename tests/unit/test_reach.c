/* SPDX-License-Identifier: MIT */
#include "tap.h"

#include <sys/mman.h>
#include <unistd.h>

#include "agent/object.h"
#include "agent/reach.h"
#include "agent/sys.h"

#define PAGE 4096ul

struct agent agent;
static struct thread t;
static uint8_t *memory;
static unsigned looks; /* at the map */

static bool forbidden; /* to ask the kernel */

bool sandbox_allows(long number, const uint64_t arguments[SANDBOX_ARGUMENTS])
{
        (void)number;
        (void)arguments;
        return !forbidden;
}

/* What the map would say: pages 16 to 16 + 255 are one mapping. */
bool object_bounds(uint64_t address, uint64_t *low, uint64_t *high)
{
        looks++;
        if (forbidden)
                return false;
        *low = (uint64_t)memory + 16 * PAGE;
        *high = *low + 256 * PAGE;
        return address >= *low && address < *high;
}

/* 512 pages of which 16 to 16 + 255 can be read. */
static uint64_t fresh(void)
{
        if (memory)
                munmap(memory, 512 * PAGE);
        memory = mmap(NULL, 512 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        mprotect(memory + 16 * PAGE, 256 * PAGE, PROT_READ | PROT_WRITE);
        t = (struct thread){ .inside = 1 };
        looks = 0;
        forbidden = false;
        agent.stack_start = 0;
        return (uint64_t)memory + 16 * PAGE;
}

TEST(the_kernel_is_asked_for_pages)
{
        uint64_t low = fresh();
        int fd = memfd_create("file", 0);
        uint8_t *file;

        is_true(sys_readable(low) && sys_readable(low + 256 * PAGE - 4));
        is_true(!sys_readable(low - 4) && !sys_readable(low + 256 * PAGE) && !sys_readable(0));
        is_true(!sys_readable(1ull << 63) && !sys_readable(-8ull) && !sys_readable(0x7ffffffff000));
        is_true(!ftruncate(fd, 2 * (off_t)PAGE));
        file = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
        is_true(sys_readable((uint64_t)file));
        munmap(file, PAGE);
        is_true(!sys_readable((uint64_t)file));
        close(fd);
}

TEST(frames_inside_of_a_stack_are_reached)
{
        uint64_t low = fresh(), sp = low + 10 * PAGE + 16;

        reach_from(&t, sp);
        is_true(t.reach_low <= sp && t.reach_high > sp);
        is_true(reach_frame(&t, sp, sp + 64) && reach_frame(&t, sp, sp + 5 * PAGE));
        is_true(t.reach_high >= sp + 5 * PAGE && t.reach_high <= low + 256 * PAGE);
        is_equal(looks, 0);
        reach_from(&t, sp - 3 * PAGE); /* deeper */
        is_true(t.reach_low <= sp - 3 * PAGE && t.reach_high >= sp + 5 * PAGE);
}

TEST(no_frame_leads_out_of_a_stack)
{
        uint64_t low = fresh(), high = low + 256 * PAGE, sp = high - 64, value;

        reach_from(&t, sp);
        is_true(reach_frame(&t, sp, high));
        is_true(!reach_frame(&t, sp, high + 8) && !reach_frame(&t, sp, high + 100 * PAGE) &&
                !reach_frame(&t, sp, sp));
        is_true(!reach_frame(&t, sp, sp - 8) && !reach_frame(&t, sp, 0) &&
                !reach_frame(&t, sp, UINT64_MAX - 7));
        is_true(!reach_frame(&t, sp, sp + (1ull << 31)));
        is_true(reach_kept(&t, sp, high - 8) && !reach_kept(&t, sp, high - 7) &&
                !reach_kept(&t, sp, high));
        is_true(!reach_kept(&t, sp, 0) && !reach_kept(&t, sp, UINT64_MAX) &&
                !reach_kept(&t, sp, UINT64_MAX - 7));
        is_true(reach_word(&t, high - 8, &value) && !reach_word(&t, high - 4, &value) &&
                !reach_word(&t, high, &value));
        is_true(!reach_word(&t, 0, &value) && !reach_word(&t, UINT64_MAX, &value) &&
                !reach_word(&t, UINT64_MAX - 7, &value));
        is_true(!reach_word(&t, 1ull << 47, &value) && !reach_word(&t, 1ull << 63, &value));
}

TEST(a_large_frame_on_a_stack_of_the_programs_own_is_not_kept)
{
        uint64_t sp = fresh() + 16;

        reach_from(&t, sp);
        is_true(reach_frame(&t, sp, sp + 100 * PAGE) && t.unsure);
        is_equal(looks, 1);
        is_true(reach_frame(&t, sp + 100 * PAGE, sp + 101 * PAGE)); /* the frame outside of it */
        is_true(reach_frame(&t, sp, sp + 100 * PAGE));
        is_equal(looks, 1);
}

TEST(the_stack_that_the_thread_started_on_is_known_for_good)
{
        uint64_t low = fresh(), sp = low + 2 * PAGE, high = low + 256 * PAGE;

        agent.stack_start = high - 128;
        reach_from(&t, sp);
        is_true(reach_frame(&t, sp, sp + 100 * PAGE) && !t.unsure);
        is_true(t.reach_low <= low + REACH_BELOW && t.reach_high == high);
        reach_from(&t, (uint64_t)&low); /* on another stack */
        is_true(t.reach_low <= (uint64_t)&low && t.reach_high >= (uint64_t)&low);
        munmap(memory + 20 * PAGE, PAGE); /* if it were asked for again */
        reach_from(&t, sp);
        is_true(t.reach_low <= sp && t.reach_high == high);
}

TEST(a_stack_that_overflowed_is_left)
{
        uint64_t low = fresh(), sp = low - 3000, value;

        reach_from(&t, sp);
        is_equal(t.reach_high, 0);
        is_true(reach_frame(&t, sp, low + 200) && t.reach_high >= low + 200 && t.reach_low > low);
        is_true(!reach_word(&t, low - 8, &value) && reach_word(&t, low, &value));
        low = fresh();
        sp = low - 3000;
        reach_from(&t, sp);
        is_true(!reach_frame(&t, sp, low + 8)); /* what is saved below that is not there */
        is_true(!reach_frame(&t, sp, low - 100));
        is_true(reach_frame(&t, sp, low + 100 * PAGE) && t.unsure);
}

TEST(where_nothing_may_be_asked_tables_are_believed)
{
        uint64_t low = fresh(), sp = low + 16;

        forbidden = true;
        reach_from(&t, sp);
        is_true(reach_frame(&t, sp, sp + 300 * PAGE));
        is_true(reach_kept(&t, sp, sp + 299 * PAGE));
        is_true(!reach_frame(&t, sp, sp + (1ull << 31)) && !reach_frame(&t, sp, sp));
}

TAP_MAIN(the_kernel_is_asked_for_pages, frames_inside_of_a_stack_are_reached,
         no_frame_leads_out_of_a_stack, a_large_frame_on_a_stack_of_the_programs_own_is_not_kept,
         the_stack_that_the_thread_started_on_is_known_for_good, a_stack_that_overflowed_is_left,
         where_nothing_may_be_asked_tables_are_believed)
