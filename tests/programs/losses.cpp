/* SPDX-License-Identifier: MIT */
/*
 * losses.cpp -- a little shop that loses memory in every way that a report has to tell, and tells
 * what it lost.
 *
 * Room:   tests only.  See leak.h.
 * Keeps:  functions are not static: only such have one name for all tools.
 *
 * Usage:  losses CASE...   baskets receipts shelf stock worker mismatch deep; "obey": then, for
 *         each line of its input, what it says: "lose N" loses N bytes in lose_more, "end" ends;
 *         each is answered by "done".
 */
#include "leak.h"

#include <pthread.h>
#include <stdio.h>

#ifdef OWN_RULES
#define RULES "# the shop knows\nleak:print_receipt\n"
const char *rules_variable = RULES;
extern "C" const char *__lsan_default_suppressions()
{
        return OWN_RULES; /* RULES, or the variable */
}
#endif

static void *volatile held[8];

namespace shop {

/* Objects with virtual functions, and what hangs on them. */
class Basket {
public:
        Basket();
        virtual ~Basket();
        void *items[2];
};

Basket::Basket()
{
        items[0] = items[1] = nullptr;
}

Basket::~Basket() = default;

LEAK_ALONE void *new_item(int number)
{
        char *p = new char[24]();
        leak_note(INDIRECT, "shop::new_item", 24);
        snprintf(p, 24, "item %d", number);
        LEAK_ESCAPE(p);
        return p;
}

LEAK_ALONE void fill_basket(int)
{
        Basket *p = new Basket;
        leak_note(DEFINITE, "shop::fill_basket", sizeof *p);
        p->items[0] = new_item(1);
        p->items[1] = new_item(2);
        LEAK_ESCAPE(p);
}

} // namespace shop

static void baskets()
{
        for (int i = 0; i < 3; i++)
                shop::fill_basket(i);
}

LEAK_ALONE void print_receipt(int number)
{
        char *p = static_cast<char *>(leak_blank(malloc(40), 40));
        leak_note(DEFINITE, __func__, 40);
        snprintf(p, 40, "receipt %04d: thank you!", number);
        LEAK_ESCAPE(p);
}

static void receipts()
{
        for (int i = 1; i <= 5; i++)
                print_receipt(i);
}

LEAK_ALONE void put_on_shelf()
{
        char *p = static_cast<char *>(leak_blank(malloc(500), 500));
        leak_note(POSSIBLE, __func__, 500);
        held[0] = p + 100;
}

LEAK_ALONE void fill_stock()
{
        held[1] = leak_blank(calloc(1, 3000), 3000);
        leak_note(REACHABLE, __func__, 3000);
}

LEAK_ALONE void *work(void *)
{
        pthread_setname_np(pthread_self(), "worker");
        void *p = leak_blank(malloc(77), 77);
        leak_note(DEFINITE, __func__, 77);
        LEAK_ESCAPE(p);
        leak_wipe();
        return nullptr;
}

static void worker()
{
        pthread_t thread;
        pthread_create(&thread, nullptr, work, nullptr);
        pthread_join(thread, nullptr);
}

LEAK_ALONE void *make_array()
{
        return new char[60];
}

LEAK_ALONE void throw_away(void *p)
{
        free(p);
}

static void mismatch()
{
        void *p = make_array();
        LEAK_ESCAPE(p);
        throw_away(p);
}

/* Deeper than Valgrind looks by itself. */
LEAK_ALONE void dig(int depth)
{
        if (depth) {
                dig(depth - 1);
                LEAK_ESCAPE(depth);
                return;
        }
        void *p = leak_blank(malloc(900), 900);
        leak_note(DEFINITE, __func__, 900);
        LEAK_ESCAPE(p);
}

static void deep()
{
        dig(20);
}

LEAK_ALONE void lose_more(size_t size)
{
        void *p = leak_blank(malloc(size), size);
        LEAK_ESCAPE(p);
}

LEAK_ALONE void lose_at_last(size_t size)
{
        lose_more(size);
        leak_wipe();
}

static void obey()
{
        char line[64];
        size_t length = 0;
        tell("ready\n");
        while (read(0, line + length, 1) > 0) {
                if (line[length] != '\n') {
                        length += length < sizeof line - 1;
                        continue;
                }
                line[length] = 0;
                length = 0;
                if (strcmp(line, "end") == 0)
                        break;
                lose_at_last(strtoul(line + 5, nullptr, 10));
                tell("done\n");
        }
}

int main(int, char **argv)
{
        static const struct leak_case cases[] = {
                { "baskets", baskets },  { "receipts", receipts }, { "shelf", put_on_shelf },
                { "stock", fill_stock }, { "worker", worker },     { "mismatch", mismatch },
                { "deep", deep },        { "obey", obey },         { nullptr, nullptr }
        };

        return leak_main(argv, cases);
}
