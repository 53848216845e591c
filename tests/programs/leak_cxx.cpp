/* SPDX-License-Identifier: MIT */
/*
 * leak_cxx.cpp -- blocks of C++ programs: operators, arrays with a cookie, several bases, strings,
 * containers, exceptions.
 *
 * Room:   tests only.  See leak.h.  -D_GLIBCXX_USE_CXX11_ABI=0 for strings that share their text.
 */
#include "leak.h"

#include <exception>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

/* Everything that is still reachable hangs on these. */
static void *volatile held[32];
static unsigned held_count;

static void hold(const void *p)
{
        held[held_count++] = const_cast<void *>(p);
}

/* ---- operators ---- */

struct Large {
        char bytes[4001];
};

LEAK_ALONE static void lost_new()
{
        Large *p = new Large();
        LEAK_ESCAPE(p);
        leak_note(DEFINITE, __func__, sizeof *p);
}

LEAK_ALONE static void lost_new_array()
{
        char *p = new char[4003]();
        LEAK_ESCAPE(p);
        leak_note(DEFINITE, __func__, 4003);
}

LEAK_ALONE static void lost_aligned_new()
{
        struct alignas(128) Wide {
                char bytes[512];
        };
        Wide *p = new Wide();
        LEAK_ESCAPE(p);
        leak_note(DEFINITE, __func__, sizeof *p);
}

LEAK_ALONE static void *kept_new()
{
        Large *p = new Large();
        LEAK_ESCAPE(p);
        leak_note(REACHABLE, __func__, sizeof *p);
        return p;
}

static void operators()
{
        lost_new();
        lost_new_array();
        lost_aligned_new();
        hold(kept_new());
}

/* ---- interior pointers that are as good as others ---- */

struct Item {
        long value = 7;
        ~Item() { LEAK_ESCAPE(value); }
};

/* The pointer that the program has is to the first element, behind their number. */
LEAK_ALONE static void *array_with_cookie()
{
        Item *p = new Item[50];
        LEAK_ESCAPE(p);
        leak_note(REACHABLE, __func__, 50 * sizeof *p + sizeof(size_t));
        return p;
}

struct First {
        virtual ~First() = default;
        virtual long first() { return 1; }
        long a[50] = {};
};

struct Second {
        virtual ~Second() = default;
        virtual long second() { return 2; }
        long b[10] = {};
};

struct Both : First, Second {
        long first() override { return 3; }
        long second() override { return 4; }
        long c = 5;
};

LEAK_ALONE static void *second_base()
{
        Second *p = new Both();
        LEAK_ESCAPE(p);
        leak_note(REACHABLE, __func__, sizeof(Both));
        return p;
}

/* A length of 64 bits before the text, as sqlite and others have it. */
LEAK_ALONE static void *length_before_text()
{
        uint64_t *p = static_cast<uint64_t *>(leak_blank(malloc(4107), 4107));
        *p = 4107 - sizeof *p;
        leak_note(REACHABLE, __func__, 4107);
        return p + 1;
}

/* Length, capacity, count of owners, text: the string of old. */
LEAK_ALONE static void *shared_text()
{
        size_t *p = static_cast<size_t *>(
                leak_blank(malloc(3 * sizeof(size_t) + 4109 + 1), 3 * sizeof(size_t) + 4109 + 1));
        p[0] = 4000;
        p[1] = 4109;
        leak_note(REACHABLE, __func__, 3 * sizeof(size_t) + 4109 + 1);
        return p + 3;
}

static void idioms()
{
        hold(array_with_cookie());
        hold(second_base());
        hold(length_before_text());
        hold(shared_text());
}

/* ---- arrays of no elements: their number is all there is, and what the program has is the end of
 * it ---- */

struct alignas(16) Pair {
        long a, b;
        ~Pair() { LEAK_ESCAPE(a); }
};

struct alignas(64) Line {
        long a;
        ~Line() { LEAK_ESCAPE(a); }
};

template <typename T> __attribute__((always_inline)) static inline void *no_elements()
{
        size_t none = 0;
        LEAK_ESCAPE(none);
        T *p = new T[none];
        LEAK_ESCAPE(p);
        return p;
}

LEAK_ALONE static void *no_items()
{
        leak_note(REACHABLE, __func__, sizeof(size_t));
        return no_elements<Item>();
}

LEAK_ALONE static void *no_pairs()
{
        leak_note(REACHABLE, __func__, alignof(Pair));
        return no_elements<Pair>();
}

LEAK_ALONE static void *no_lines()
{
        leak_note(REACHABLE, __func__, alignof(Line));
        return no_elements<Line>();
}

LEAK_ALONE static void lost_no_items()
{
        leak_note(DEFINITE, __func__, sizeof(size_t));
        no_elements<Item>();
}

/* The end of something else. */
LEAK_ALONE static void *end_of_number()
{
        long *p = new long[1]();
        LEAK_ESCAPE(p);
        *p = 5;
        leak_note(DEFINITE, __func__, sizeof *p);
        return p + 1;
}

LEAK_ALONE static void *end_of_block()
{
        void *p = leak_blank(malloc(8), 8);
        leak_note(DEFINITE, __func__, 8);
        return static_cast<char *>(p) + 8;
}

static void empty_arrays()
{
        hold(no_items());
        hold(no_pairs());
        hold(no_lines());
        lost_no_items();
        hold(end_of_number());
        hold(end_of_block());
}

/* ---- interior pointers that only look like these ---- */

LEAK_ALONE static void *wrong_length()
{
        uint64_t *p = static_cast<uint64_t *>(leak_blank(malloc(4117), 4117));
        *p = 4117;
        leak_note(POSSIBLE, __func__, 4117);
        return p + 1;
}

LEAK_ALONE static void *wrong_capacity()
{
        size_t *p = static_cast<size_t *>(leak_blank(malloc(4127), 4127));
        p[0] = 20;
        p[1] = 10;
        leak_note(POSSIBLE, __func__, 4127);
        return p + 3;
}

struct Plain {
        long a[50], b[10];
};

LEAK_ALONE static void *member_of_plain()
{
        Plain *p = new Plain();
        LEAK_ESCAPE(p);
        leak_note(POSSIBLE, __func__, sizeof *p);
        return p->b;
}

/* Also what hangs on it. */
LEAK_ALONE static void *middle_of_array()
{
        Item *p = new Item[60];
        LEAK_ESCAPE(p);
        leak_note(POSSIBLE, __func__, 60 * sizeof *p + sizeof(size_t));
        return p + 30;
}

static void lookalikes()
{
        hold(wrong_length());
        hold(wrong_capacity());
        hold(member_of_plain());
        hold(middle_of_array());
}

#if !_GLIBCXX_USE_CXX11_ABI
static std::string *volatile kept_string;

/* Held by a variable that is one pointer to its text. */
LEAK_ALONE static void string_text()
{
        alignas(std::string) static char place[sizeof(std::string)];
        kept_string = new (place) std::string(4131, 'x'); /* never destroyed */
        leak_note(REACHABLE, __func__, 3 * sizeof(size_t) + kept_string->capacity() + 1);
}

static void strings()
{
        string_text();
}
#else
LEAK_ALONE static void *string_object()
{
        std::string *s = new std::string();
        LEAK_ESCAPE(s);
        leak_note(DEFINITE, __func__, sizeof *s);
        return s;
}

LEAK_ALONE static void string_text(std::string *s)
{
        s->reserve(4131);
        leak_note(INDIRECT, __func__, s->capacity() + 1);
}

/* An object that is lost with its text. */
static void strings()
{
        string_text(static_cast<std::string *>(string_object()));
}
#endif

/* ---- containers ---- */

struct Wide {
        char bytes[600];
};

using Vector = std::vector<long>;
using List = std::list<Wide>;
using Map = std::map<long, Wide>;

#define LOSER(name, type)                                                      \
        LEAK_ALONE static type &name()                                         \
        {                                                                      \
                type *p = new type();                                          \
                LEAK_ESCAPE(p);                                                \
                leak_note(DEFINITE, #name, sizeof *p);                         \
                return *p;                                                     \
        }

LOSER(lost_vector, Vector)
LOSER(lost_list, List)
LOSER(lost_map, Map)

LEAK_ALONE static void fill_vector(Vector &v)
{
        v.reserve(521);
        leak_note(INDIRECT, __func__, 521 * sizeof(long));
}

LEAK_ALONE static void fill_list(List &l)
{
        for (int i = 0; i < 20; i++) {
                l.emplace_back();
                leak_note(INDIRECT, __func__, sizeof(Wide) + 2 * sizeof(void *));
        }
}

LEAK_ALONE static void fill_map(Map &m)
{
        for (int i = 0; i < 30; i++) {
                m[i];
                leak_note(INDIRECT, __func__, sizeof(Map::value_type) + 4 * sizeof(void *));
        }
}

static void containers()
{
        fill_vector(lost_vector());
        fill_list(lost_list());
        fill_map(lost_map());
}

static std::vector<void *> global_vector;
static std::unordered_map<std::string, void *> *never_deleted;

LEAK_ALONE static void *in_global_vector()
{
        Large *p = new Large();
        LEAK_ESCAPE(p);
        leak_note(DEFINITE, __func__, sizeof *p);
        return p;
}

LEAK_ALONE static void *in_kept_map()
{
        Large *p = new Large();
        LEAK_ESCAPE(p);
        leak_note(REACHABLE, __func__, sizeof *p);
        return p;
}

/* At the end the vector is destroyed, what it pointed to is not; the other one lives on. */
static void globals()
{
        global_vector.push_back(in_global_vector());
        never_deleted = new std::unordered_map<std::string, void *>();
        (*never_deleted)["a"] = in_kept_map();
}

/* ---- owners ---- */

struct Friend {
        std::shared_ptr<Friend> other;
        char bytes[4150];
};

/* Two that own each other: one counts as the head. */
LEAK_ALONE static void shared_cycle()
{
        std::shared_ptr<Friend> a = std::make_shared<Friend>(), b = std::make_shared<Friend>();
        size_t bytes = (sizeof(Friend) + 2 * sizeof(void *) + 7) / 8 * 8;
        a->other = b;
        b->other = a;
        leak_note(DEFINITE, __func__, bytes);
        leak_note(INDIRECT, __func__, bytes);
}

LEAK_ALONE static void released_owner()
{
        std::unique_ptr<Large> p(new Large());
        Large *raw = p.release();
        LEAK_ESCAPE(raw);
        leak_note(DEFINITE, __func__, sizeof *raw);
}

static std::function<char()> kept_function;

/* The copy that the function keeps; destroyed at the end: no leak. */
LEAK_ALONE static void captured()
{
        Large large = {};
        kept_function = [large] { return large.bytes[17]; };
}

static void owners()
{
        shared_cycle();
        released_owner();
        captured();
}

static std::exception_ptr *kept_exception;

LEAK_ALONE static void throws()
{
        throw Large();
}

/* Held by a pointer to the thrown object, which is behind a header of the runtime's. */
static void exceptions()
{
        kept_exception = new std::exception_ptr();
        try {
                throws();
        } catch (...) {
                *kept_exception = std::current_exception();
        }
        leak_note(POSSIBLE, "throws", sizeof(Large) + 128);
}

static const struct leak_case cases[] = {
        {"operators", operators},
        {"idioms", idioms},
        {"empty_arrays", empty_arrays},
        {"lookalikes", lookalikes},
        {"strings", strings},
        {"containers", containers},
        {"globals", globals},
        {"owners", owners},
        {"exceptions", exceptions},
        {nullptr, nullptr},
};

int main(int argc, char **argv)
{
        (void)argc;
        return leak_main(argv, cases);
}
