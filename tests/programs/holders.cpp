// SPDX-License-Identifier: MIT
//
// holders.cpp -- containers and smart pointers of the C++ library that hold objects, and the right
// root and type for each; see holders.c.
// What lies between the variable and the object is the library's business: "..." stands for it.
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "holders.h"

class Shape {
public:
        virtual ~Shape() = default;
        virtual int corners() const = 0;
        long tag = 1;
};

class Square : public Shape {
public:
        int corners() const override { return 4; }
        char *label = new char[40];
};

class Named {
public:
        virtual ~Named() = default;
        virtual const char *name() const { return "named"; }
        long more = 2;
};

/* Two tables of virtual functions: pointers to Named lead to the middle. */
class Emblem : public Shape, public Named {
public:
        int corners() const override { return 0; }
        char *text = new char[50];
};

struct Link {
        std::shared_ptr<Link> next;
        char *text = new char[60];
};

enum { REGISTRY_LINE = __LINE__ + 1 };
std::map<int, Shape *> registry;
enum { SHAPES_LINE = __LINE__ + 1 };
static std::vector<std::unique_ptr<Shape>> shapes;
enum { NAMES_LINE = __LINE__ + 1 };
std::unordered_map<std::string, Shape *> names;
enum { QUEUE_LINE = __LINE__ + 1 };
static std::list<std::deque<Shape *>> queues;
enum { LINKS_LINE = __LINE__ + 2 };
namespace app {
std::shared_ptr<Link> links;
}
enum { EMBLEM_LINE = __LINE__ + 1 };
Named *emblem;

static void told(const char *name, const char *variable, int line, const void *block,
                 const char *type)
{
        PATH(name, "data", variable, line, "-");
        STEP(block, "...");
        PATH_END();
        truth_say("type %s %s\n", name, type);
}

static void fill()
{
        for (int i = 0; i < 50; i++) {
                registry[i] = new Square;
                shapes.push_back(std::make_unique<Square>());
                names[std::to_string(i) + " with a name that is too long to be kept inside"] =
                        new Square;
                queues.emplace_back(10, new Square);
                auto link = std::make_shared<Link>();
                link->next = app::links;
                app::links = link;
        }
        emblem = new Emblem;
}

/* Containers as they are at the end of main: destructors of variables run later, at exit. */
int main()
{
        fill();
        told("map", "registry", REGISTRY_LINE, registry[33], "Square");
        told("map_member", "registry", REGISTRY_LINE, static_cast<Square *>(registry[20])->label,
             "-");
        told("vector", "shapes", SHAPES_LINE, shapes[7].get(), "Square");
        told("unordered_map", "names", NAMES_LINE, names.begin()->second, "Square");
        told("list_of_deques", "queues", QUEUE_LINE, queues.back().back(), "Square");
        told("shared_pointers", "app::links", LINKS_LINE, app::links->next->next->text, "-");
        told("multiple_inheritance", "emblem", EMBLEM_LINE, dynamic_cast<Emblem *>(emblem),
             "Emblem");
        truth_say("fact registry_bytes=%zu\n",
                  50 * (sizeof(Square) + 40 +
                        sizeof(std::_Rb_tree_node<std::pair<const int, Shape *>>)));
        _exit(0); /* searched before it goes, with nothing destroyed */
}
