// SPDX-License-Identifier: MIT
// Allocates objects of known types in the ways that C++ programs do, and tells bytes and blocks of
// each type that are live at the end: "TYPE BYTES BLOCKS WAY", tabs between.  WAY is how it can be
// known.
#include <cstdio>
#include <cstdlib>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace app {

struct Point {
        double x, y, z;
};

class Shape {
public:
        virtual ~Shape() { }
        virtual int corners() = 0;
        long id = 1;
};

class Circle : public Shape {
public:
        int corners() override { return 0; }
        double r[4];
};

class Square : public Shape {
public:
        int corners() override { return 4; }
        double a[2];
};

struct Session {
        int id;
        Point *points;
};

template <class T> struct Pool {
        T *all;
        void fill(int count) { all = new T[count]; }
};

}

using namespace app;

static Shape *shapes[100];
static std::map<int, Session> sessions;
static std::list<Point> path;
static std::vector<long> numbers;
static std::shared_ptr<Session> shared;
static std::unique_ptr<Circle> owned;
Pool<Session> pool; // seen from outside, so that it cannot be optimised away
static std::string text;

static Shape *make(int i)
{
        if (i % 2)
                return new Circle;
        return new Square();
}

static void tell(const char *type, size_t bytes, int blocks, const char *way)
{
        fprintf(stderr, "%s\t%zu\t%d\t%s\n", type, bytes, blocks, way);
}

int main()
{
        for (int i = 0; i < 100; i++)
                shapes[i] = make(i);
        for (int i = 0; i < 50; i++)
                sessions[i].points = new Point[3];
        for (int i = 0; i < 20; i++)
                path.push_back(Point());
        numbers.reserve(1000);
        shared = std::make_shared<Session>();
        owned = std::make_unique<Circle>();
        pool.fill(5);
        text.assign(200, 'x');
        tell("app::Circle", 51 * sizeof(Circle), 51, "vtable");
        tell("app::Square", 50 * sizeof(Square), 50, "vtable");
        tell("app::Point", 50 * 3 * sizeof(Point), 50, "source");
        tell("std::pair<int const, app::Session> (tree node)",
             50 * (32 + sizeof(std::pair<int const, Session>)), 50, "template");
        tell("app::Point (list node)", 20 * (16 + sizeof(Point)), 20, "template");
        tell("long", 1000 * sizeof(long), 1, "template");
        tell("app::Session", 5 * sizeof(Session), 1, "source");
        tell("char (std::string)", text.capacity() + 1, 1, "template");
        _Exit(0);
}
