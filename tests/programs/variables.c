/* SPDX-License-Identifier: MIT */
/* variables.c -- variables of C, of every kind. */
#include "variables.h"

#include "variables_library.h"

struct opaque;
struct opaque *far_made(void);

struct node {
        int value;
        struct node *next;
        union {
                long number;
                char *text;
        };
        struct {
                const char *label;
                unsigned flags : 3, more : 5;
                void *blind;
        } inner[2];
};

typedef struct node node_t;
typedef const volatile node_t *node_view;

struct flexible {
        int count;
        struct node *parts[];
};

struct node *global_list = NULL;
static node_t static_table[4];
node_view view;
int matrix[3][5];
struct node *pointers[2][3];
struct flexible tail = { 2, { NULL, NULL } };
struct opaque *hidden_thing;
void (*callback)(int);
char buffer[100];
__thread int thread_global = 3;
static __thread node_t *thread_static;

#define LINE_OF(name) (lines_##name)
enum { lines_global_list = __LINE__ - 13, lines_static_table, lines_view, lines_matrix,
       lines_pointers, lines_tail, lines_hidden_thing, lines_callback, lines_buffer,
       lines_thread_global, lines_thread_static };

static void tell_library(void *address, const char *name, int line, int is_static)
{
        TELL_DATA(address, "", "name=%s;line=%d;static=%d;size=%zu", name, line, is_static,
                  line == 12 ? sizeof(int) : sizeof(void *));
}

__attribute__((noinline)) static void tell_statics(void)
{
        enum { LINE = __LINE__ + 1 };
        static node_t *cached;
        static int counter;

        TELL_DATA(&cached, "",
                  "name=cached;function=tell_statics;line=%d;static=1;size=8;type=node_t "
                  "*;target=node_t", LINE);
        TELL_DATA(&counter, "",
                  "name=counter;function=tell_statics;line=%d;static=1;size=4;type=int",
                  LINE + 1);
        if (counter > 5) {
                static int counter;

                counter++;
        }
        {
                enum { LINE = __LINE__ + 1 };
                static char inner_block[7];

                TELL_DATA(inner_block + 6, "",
                          "name=inner_block;function=tell_statics;line=%d;size=7;path=[6]", LINE);
        }
}

static inline __attribute__((always_inline)) int tell_inlined(int way)
{
        enum { LINE = __LINE__ + 1 };
        static int in_inlined;

        TELL_DATA(&in_inlined, "",
                  "name=in_inlined;function=tell_inlined;line=%d;static=1;size=4;type=int", LINE);
        return way + in_inlined;
}

static void tell_data(void)
{
        TELL_DATA(&global_list, "",
                  "name=global_list;line=%d;static=0;size=8;type=struct node *;target=struct "
                  "node;target_size=%zu", LINE_OF(global_list), sizeof(struct node));
        TELL_DATA(&global_list, "8", "path=->.next;member=struct node *");
        TELL_DATA(&global_list, "8 10", "path=->.next->.text;member=char *;target=char");
        TELL_DATA(&static_table[2].inner[1].blind, "",
                  "name=static_table;line=%d;static=1;size=%zu;type=node_t[4];path=[2].inner[1]."
                  "blind;"
                  "member=void *;target=None;left=0",
                  LINE_OF(static_table), sizeof static_table);
        TELL_DATA((char *)&static_table[1].value + 2, "", "path=[1].value;left=2;member=int");
        TELL_DATA(&static_table[1].text, "", "path=[1].text;member=char *");
        TELL_DATA(&view, "28", "name=view;line=%d;type=node_view;path=->.inner[0].blind",
                  LINE_OF(view));
        TELL_DATA(&matrix[2][3], "",
                  "name=matrix;line=%d;type=int[3][5];path=[2][3];member=int;size=%zu",
                  LINE_OF(matrix), sizeof matrix);
        TELL_DATA(&pointers[1][2], "8", "name=pointers;line=%d;path=[1][2]->.next",
                  LINE_OF(pointers));
        TELL_DATA(&tail.parts[1], "8", "name=tail;line=%d;size=%zu;path=.parts[1]->.next;",
                  LINE_OF(tail), sizeof tail + 2 * sizeof(void *));
        TELL_DATA(&hidden_thing, "8",
                  "name=hidden_thing;line=%d;path=->.sibling;member=struct opaque *;target_size=16",
                  LINE_OF(hidden_thing));
        TELL_DATA(&callback, "", "name=callback;line=%d;type=void (*)()", LINE_OF(callback));
        TELL_DATA(buffer + 77, "", "name=buffer;line=%d;type=char[100];path=[77]", LINE_OF(buffer));
        TELL_DATA(&library_copied, "8",
                  "name=library_copied;size=8;static=0;path=->.next;type=struct shelf *");
}

static void tell_thread(void)
{
        TELL_THREAD(0, &thread_global, "name=thread_global;line=%d;static=0;size=4;type=int",
                    LINE_OF(thread_global));
        TELL_THREAD(0, &thread_static, "name=thread_static;line=%d;static=1;size=8;type=node_t *",
                    LINE_OF(thread_static));
        if (told_modules[1].thread)
                TELL_THREAD(1, library_thread_place(),
                            "name=library_thread;line=7;static=0;size=8;type=struct shelf *");
}

__attribute__((noinline)) static void *here(void)
{
        __asm__ volatile("" ::: "memory");
        return __builtin_return_address(0);
}

__attribute__((noinline)) static void tell_frame(struct node *parameter, node_t on_stack[2])
{
        enum { LINE = __LINE__ + 1 };
        struct node *kept = parameter;
        unsigned long cfa = (unsigned long)__builtin_dwarf_cfa();
        volatile struct node whole = { .next = kept };

        printf("frame 0 %lx %lx %lx | name=kept;function=tell_frame;line=%d;size=8;type=struct "
               "node *\n", (unsigned long)here(), cfa, (unsigned long)&kept, LINE);
        printf("frame 0 %lx %lx %lx | name=parameter;function=tell_frame;size=8;target=struct "
               "node\n", (unsigned long)here(), cfa, (unsigned long)&parameter);
        printf("frame 0 %lx %lx %lx | name=whole;function=tell_frame;path=.next;size=%zu\n",
               (unsigned long)here(), cfa, (unsigned long)&whole.next, sizeof whole);
        {
                enum { LINE = __LINE__ + 1 };
                struct node *kept = &on_stack[1];

                printf("frame 0 %lx %lx %lx | name=kept;function=tell_frame;line=%d;type=struct "
                       "node *\n", (unsigned long)here(), cfa, (unsigned long)&kept, LINE);
        }
}

int main(void)
{
        static node_t some[2];

        TELL_MODULES();
        hidden_thing = far_made();
        tell_data();
        tell_statics();
        tell_inlined(0);
        tell_thread();
        library_tell(tell_library);
        printf("# frames\n");
        tell_frame(global_list, some);
        library_copied = NULL;
        view = thread_static = static_table;
        return 0;
}
