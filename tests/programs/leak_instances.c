/* SPDX-License-Identifier: MIT */
/*
 * leak_instances.c -- objects of GLib with private data, which lies in front of them.
 *
 * Room:   tests only.  See leak.h.  It needs no headers of GLib's: of its library version 2.0
 *         nothing changes.
 * Usage:  leak_instances LIBRARY [wait]   LIBRARY is libgobject-2.0.so.0
 */
#include "leak.h"

#include <dlfcn.h>

#define OBJECT ((size_t)(20 << 2)) /* G_TYPE_OBJECT */
#define KINDS 3

struct instance {
        void *class;
        unsigned int count;
        void *data; /* the class GObject is as large as this */
        void *held; /* another object, or none */
};

static size_t (*type_register)(size_t parent, const char *name, unsigned int class_bytes,
                               void *init, unsigned int bytes, void *instance_init, int flags);
static void (*add_private)(void *class, size_t bytes);
static void *(*new_object)(size_t type, const char *first, ...);
static void *(*class_ref)(size_t type);
static size_t types[KINDS];
static const size_t private_bytes[KINDS] = { 16, 48, 400 };
static void *volatile held[8];
static uintptr_t hidden;
static int begun; /* whose class is made */

static void *find(void *library, const char *name)
{
        void *found = dlsym(library, name);
        if (!found)
                truth_die("leak_instances: no such function\n");
        return found;
}

static void begin_class(void *class, void *unused)
{
        (void)unused;
        add_private(class, private_bytes[begun]);
}

static void open_library(const char *path)
{
        static const char *const names[KINDS] = { "LeakSmall", "LeakMiddle", "LeakLarge" };
        void *library = dlopen(path, RTLD_NOW);
        if (!library)
                truth_die("leak_instances: no GLib\n");
        *(void **)&type_register = find(library, "g_type_register_static_simple");
        *(void **)&add_private = find(library, "g_type_class_add_private");
        *(void **)&new_object = find(library, "g_object_new");
        *(void **)&class_ref = find(library, "g_type_class_ref");
        for (begun = 0; begun < KINDS; begun++) {
                types[begun] = type_register(OBJECT, names[begun], 136, (void *)begin_class,
                                             sizeof(struct instance), NULL, 0);
                class_ref(types[begun]);
        }
}

#define OBJECT_MAKER(name)                                                                         \
        LEAK_ALONE static struct instance *name(const char *kind, int which)                       \
        {                                                                                          \
                struct instance *object = new_object(types[which], NULL);                          \
                leak_note(kind, #name, private_bytes[which] + sizeof *object);                     \
                return object;                                                                     \
        }

OBJECT_MAKER(in_variable)
OBJECT_MAKER(in_object)
OBJECT_MAKER(lost_object)
OBJECT_MAKER(in_lost_object)
OBJECT_MAKER(behind_its_start)
OBJECT_MAKER(in_private_data)

static void objects(void)
{
        for (int i = 0; i < KINDS; i++) {
                struct instance *object = in_variable(REACHABLE, i);
                held[i] = object;
                object->held = in_object(REACHABLE, i);
                object = lost_object(DEFINITE, i);
                object->held = in_lost_object(INDIRECT, i);
                hidden ^= leak_hidden(object);
                held[3 + i] = (char *)behind_its_start(POSSIBLE, i) + 8;
        }
        ((void **)held[2])[-2] = in_private_data(REACHABLE, 0);
}

int main(int argc, char **argv)
{
        leak_waits = argc > 2;
        if (argc < 2)
                truth_die("leak_instances: no library\n");
        open_library(argv[1]);
        objects();
        leak_wipe();
        leak_ready();
        leak_wipe();
        return 0;
}
