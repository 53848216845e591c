/* SPDX-License-Identifier: MIT */
/* variables.cpp -- variables of C++: namespaces, classes, the library's containers; objects with
 * virtual functions. */
#include "variables.h"

#include <forward_list>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace store {

struct Item {
        long id = 0;
        Item *next = nullptr;
};

class Base {
public:
        virtual ~Base() {}
        virtual int work() { return 1; }
        Item *held = nullptr;
};

template <class T> class Keeper : public Base {
public:
        int work() override { return 2; }
        T kept{};
        static Item *last;
};

template <class T> Item *Keeper<T>::last;

class Registry {
public:
        static Registry *instance;
        static inline Item *inlined_member = nullptr;
        struct Entry : Item {
                char *label = nullptr;
        };
        Entry entries[3];
        std::unique_ptr<Item> owned;
};

Registry *Registry::instance;
Item *first_item;
static Item *file_item;
inline Item *inline_item;

namespace {
Item *anonymous_item;

struct Local : Base {
        int work() override { return 3; }
};
} // namespace

std::unique_ptr<Item> unique;
std::shared_ptr<Item> shared;
std::vector<Item> items;
std::vector<std::unique_ptr<Item>> owners;
std::string text;
std::map<int, Item *> sorted;
std::list<Item *> chained;
std::forward_list<Item *> stacked;
std::unordered_map<int, Item> hashed;
thread_local Item *per_thread;

template <class T> Item *&cached(T)
{
        static Item *cache;

        return cache;
}

class Second {
public:
        virtual ~Second() {}
        long second_value = 0;
};

class Both : public Base, public Second {
public:
        char pad[40];
};

} // namespace store

using namespace store;

static void tell_data()
{
        TELL_DATA(&first_item, "8",
                  "name=store::first_item;static=0;size=8;type=store::Item *;path=->.next");
        TELL_DATA(&file_item, "",
                  "name=store::file_item;static=1;size=8;type=store::Item *;target=store::Item");
        TELL_DATA(&inline_item, "", "name=store::inline_item;static=0");
        TELL_DATA(&anonymous_item, "",
                  "name=store::(anonymous namespace)::anonymous_item;static=1;target=store::Item");
        TELL_DATA(&Registry::instance, "",
                  "name=store::Registry::instance;static=0;type=store::Registry *;target_size=%zu",
                  sizeof(Registry));
        TELL_DATA(&Registry::instance, "20", "path=->.entries[1].next;member=store::Item *");
        TELL_DATA(&Registry::instance, "28", "path=->.entries[1].label;member=char *");
        TELL_DATA(&Registry::instance, "48 8", "path=->.owned->.next;member=store::Item *");
        TELL_DATA(&Registry::inlined_member, "", "name=store::Registry::inlined_member;size=8");
        TELL_DATA(&Keeper<int>::last, "", "name=store::Keeper<int>::last;target=store::Item");
        TELL_DATA(&cached(1), "", "name=cache;function=store::cached<int>(int);static=1;size=8");
}

static void tell_library()
{
        TELL_DATA(&unique, "8", "path=->.next");
        TELL_DATA(&unique, "", "member=std::unique_ptr<store::Item>;target=store::Item;path=");
        TELL_DATA(&shared, "8", "path=._M_ptr->.next");
        TELL_DATA(&items, "8", "path=._M_impl._M_start->.next");
        TELL_DATA(&owners, "0 8", "path=._M_impl._M_start->->.next");
        TELL_DATA(&text, "", "name=store::text;type=std::string");
        TELL_DATA(
                (char *)&sorted + 16, "10 18 28",
                "path=._M_t._M_impl._M_header._M_parent->._M_left->._M_right->._M_storage.second");
        TELL_DATA(&chained, "0 8", "path=._M_impl._M_node._M_next->._M_next->._M_prev");
        TELL_DATA(&chained, "8 10 8",
                  "path=._M_impl._M_node._M_next->._M_prev->._M_storage->.next");
        TELL_DATA(&stacked, "0 8 8", "path=._M_impl._M_head._M_next->._M_next->._M_storage->.next");
        TELL_DATA((char *)&hashed + 16, "0", "path=._M_h._M_before_begin._M_nxt->._M_nxt");
        TELL_DATA(&hashed, "18 0 18", "path=._M_h._M_buckets->->._M_nxt->._M_storage.second.next");
}

static void tell_classes()
{
        Base plain;
        Keeper<int> keeper;
        Keeper<std::vector<std::string>> complex;
        Local local;
        Both both;

        TELL_CLASS(&plain, "class=store::Base;type=store::Base;type_size=%zu", sizeof plain);
        TELL_CLASS(&keeper, "class=store::Keeper<int>;type=store::Keeper<int>;type_size=%zu",
                   sizeof keeper);
        TELL_CLASS(&complex, "class=store::Keeper<std::vector<std::string> >;type_size=%zu",
                   sizeof complex);
        TELL_CLASS(&local, "class=store::(anonymous namespace)::Local;type_size=%zu", sizeof local);
        TELL_CLASS(static_cast<Second *>(&both), "class=store::Both;type=store::Both;type_size=%zu",
                   sizeof both);
}

int main()
{
        TELL_MODULES();
        tell_data();
        tell_library();
        TELL_THREAD(0, &per_thread, "name=store::per_thread;static=0;size=8;type=store::Item *");
        tell_classes();
        chained.push_back(first_item);
        stacked.push_front(first_item);
        return chained.size() != 1;
}
