/* SPDX-License-Identifier: MIT */
/*
 * The programs looked at are compiled here and tell the truth themselves: each prints the return
 * addresses it saw, and the functions and lines (by __LINE__) that belong to them.
 */
#include "tap.h"

#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/io.h"
#include "base/str.h"
#include "names/module.h"
#include "names/symbol.h"
#include "profile/model.h"

/* OUTER inlines MIDDLE inlines INNER, which calls `mark` that prints its return address.  A line of
 * output is "address function:line function:line ...", innermost first. */
static const char program_text[] =
        "#define _GNU_SOURCE\n"
        "#include <link.h>\n"
        "#include <stdio.h>\n"
        "__attribute__((noinline, noclone)) void mark(int a, int b, int c)\n"
        "{\n"
        "        printf(\"%p inner:%d middle:%d outer:%d\\n\", __builtin_return_address(0), a, b, "
        "c);\n"
        "}\n"
        "static inline __attribute__((always_inline)) void inner(int b, int c)\n"
        "{\n"
        "        mark(__LINE__, b, c); __asm__ volatile(\"\");\n"
        "}\n"
        "static inline __attribute__((always_inline)) void middle(int c)\n"
        "{\n"
        "        inner(__LINE__, c); __asm__ volatile(\"\");\n"
        "}\n"
        "__attribute__((noinline, noclone)) void outer(void)\n"
        "{\n"
        "        middle(__LINE__);\n"
        "        __asm__ volatile(\"\");\n"
        "        middle(__LINE__);\n"
        "        __asm__ volatile(\"\");\n"
        "}\n"
        "__attribute__((noinline, noclone)) static void hidden(void)\n"
        "{\n"
        "        printf(\"%p hidden:%d\\n\", __builtin_return_address(0), 0);\n"
        "}\n"
        "static int base(struct dl_phdr_info *info, size_t size, void *data)\n"
        "{\n"
        "        (void)size, (void)data;\n"
        "        printf(\"%#lx base\\n\", (unsigned long)info->dlpi_addr);\n"
        "        return 1;\n"
        "}\n"
        "int main(void)\n"
        "{\n"
        "        dl_iterate_phdr(base, NULL);\n"
        "        outer();\n"
        "        hidden();\n"
        "        return 0;\n"
        "}\n";

static char directory[64];

static void path_in(struct str *out, const char *name)
{
        str_clear(out);
        str_format(out, "%s/%s", directory, name);
}

static int shell(const char *format, const char *a, const char *b)
{
        struct str command = { 0 };
        int status;

        str_format(&command, "cd %s && ", directory);
        str_format(&command, format, a, b);
        status = system(str_get(&command));
        str_free(&command);
        return status;
}

static void make_directory(void)
{
        struct str file = { 0 };
        int fd;

        strcpy(directory, "/tmp/seep-symbol-XXXXXX");
        is_true(mkdtemp(directory) != NULL);
        setenv("XDG_CACHE_HOME", directory, 1);
        path_in(&file, "p.c");
        fd = open(str_get(&file), O_WRONLY | O_CREAT, 0666);
        is_true(io_write(fd, program_text, sizeof program_text - 1));
        close(fd);
        str_free(&file);
}

static void remove_directory(void)
{
        is_equal(shell("rm -rf '%s%s'", directory, ""), 0);
}

/* Compile p.c to NAME, run it, keep what it said in "NAME.truth". */
static void build(const char *name, const char *flags)
{
        is_equal(shell("cc -O2 -Wl,--build-id=sha1 -o %s p.c %s", name, flags), 0);
        is_equal(shell("./%s > %s.truth", name, name), 0);
}

/* A recording with one node for each address that NAME printed, and its own truth beside it. */
struct truth {
        struct profile p;
        char *lines[16]; /* by node: "inner:10 middle:14 outer:18" */
        struct str text;
};

static void read_build_id(struct profile_module *m, const char *file)
{
        struct str id = { 0 };
        int fd;
        FILE *f;
        unsigned byte;

        is_equal(shell("readelf -n %s | sed -n 's/.*Build ID: //p' > %s.id", file, file), 0);
        path_in(&id, file);
        str_text(&id, ".id");
        fd = open(str_get(&id), O_RDONLY);
        f = fdopen(fd, "r");
        while (f && m->build_id_bytes < 20 && fscanf(f, "%2x", &byte) == 1)
                m->build_id[m->build_id_bytes++] = (uint8_t)byte;
        if (f)
                fclose(f);
        is_equal(m->build_id_bytes, 20);
        str_free(&id);
}

static void read_truth(struct truth *t, const char *name)
{
        struct str path = { 0 };
        char *line, *rest;

        *t = (struct truth){ 0 };
        path_in(&path, name);
        str_text(&path, ".truth");
        is_true(io_read_file(str_get(&path), &t->text));
        path_in(&path, name);
        t->p.modules = heap_zero(1, sizeof *t->p.modules);
        t->p.module_count = 1;
        t->p.modules[0].path = heap_text(str_get(&path));
        read_build_id(&t->p.modules[0], name);
        t->p.nodes = heap_zero(16, sizeof *t->p.nodes);
        t->p.nodes[0].module = t->p.nodes[1].module = PROFILE_NO_MODULE;
        t->p.node_count = 2;
        for (line = strtok_r(t->text.data, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
                char *names;
                uint64_t address = strtoull(line, &names, 16);

                if (strcmp(names, " base") == 0) {
                        t->p.modules[0].bias = address;
                        continue;
                }
                t->lines[t->p.node_count] = names + 1;
                t->p.nodes[t->p.node_count++] = (struct profile_node){ address, 0, 0, 0 };
        }
        is_equal(t->p.node_count, 5);
        str_free(&path);
}

static void free_truth(struct truth *t)
{
        profile_free(&t->p);
        str_free(&t->text);
}

/* What the resolver says of NODE, in the form of the truth. */
static void answer(struct symbols *s, uint32_t node, struct str *out)
{
        const struct symbol_frame *frames;
        uint32_t count = symbols_node(s, node, &frames);

        str_clear(out);
        for (uint32_t i = 0; i < count; i++) {
                str_format(out, "%s%s:%u", i ? " " : "",
                           symbol_name(&frames[i]) ? frames[i].function : "?", frames[i].line);
                is_equal(frames[i].inlined, i + 1 < count);
                if (frames[i].line)
                        is_true(frames[i].file &&
                                strcmp(strrchr(frames[i].file, '/'), "/p.c") == 0);
        }
}

static void check_inlined(const struct truth *t, const struct symbol_options *options)
{
        struct symbols *s = symbols_new(&t->p, options);
        struct str said = { 0 };

        for (uint32_t i = 2; i < 4; i++) {
                answer(s, i, &said);
                is_text(str_get(&said), t->lines[i]);
        }
        is_true(symbols_has_lines(s, 0));
        symbols_free(s);
        str_free(&said);
}

static void check_name(const struct truth *t, const struct symbol_options *options, uint32_t node,
                       const char *expected)
{
        struct symbols *s = symbols_new(&t->p, options);
        struct str said = { 0 };

        answer(s, node, &said);
        is_text(str_get(&said), expected);
        symbols_free(s);
        str_free(&said);
}

static const struct symbol_options no_cache = { .no_cache = true, .no_debuginfod = true };

TEST(inlined_frames_come_innermost_first_with_the_lines_of_their_calls)
{
        static const char *const flags[] = { "-g", "-g -gdwarf-4", "-g -static-pie", "-g -no-pie",
                                             "-g -gz" };

        for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
                struct truth t;

                build("lines", flags[i]);
                read_truth(&t, "lines");
                check_inlined(&t, &no_cache);
                free_truth(&t);
        }
}

TEST(clang_writes_no_aranges_and_is_understood)
{
        struct truth t;

        if (system("command -v clang > /dev/null 2>&1") != 0) {
                tap_skip("clang is not installed");
                return;
        }
        is_equal(shell("clang -w -g -O2 -Wl,--build-id=sha1 -o %s p.c && ./%s > clang.truth",
                       "clang", "clang"),
                 0);
        read_truth(&t, "clang");
        check_inlined(&t, &no_cache);
        free_truth(&t);
}

TEST(separate_debug_files_are_found_by_link_and_by_build_id)
{
        struct symbol_options options = no_cache;
        struct str debug = { 0 };
        const char *paths[1];
        struct truth t;

        build("split", "-g");
        read_truth(&t, "split");
        is_equal(shell("objcopy --only-keep-debug %s split.debug && strip -g %s", "split", "split"),
                 0);
        is_equal(shell("objcopy --add-gnu-debuglink=%s.debug %s", "split", "split"), 0);
        check_inlined(&t, &no_cache);
        is_equal(shell("id=$(cat %s.id) && mkdir -p d/.build-id/$(echo $id | cut -c1-2) && mv "
                       "%s.debug "
                       "d/.build-id/$(echo $id | cut -c1-2)/$(echo $id | cut -c3-).debug",
                       "split", "split"),
                 0);
        check_name(&t, &no_cache, 2, "outer:0");
        path_in(&debug, "d");
        paths[0] = str_get(&debug);
        options.debug_paths = paths;
        options.debug_path_count = 1;
        check_inlined(&t, &options);
        is_equal(shell("rm %s%s", "split", ""), 0); /* the debug file alone is enough */
        check_inlined(&t, &options);
        str_free(&debug);
        free_truth(&t);
}

TEST(a_stripped_program_has_the_names_it_exports_and_no_others)
{
        struct truth t;

        build("bare", "-rdynamic -s");
        read_truth(&t, "bare");
        check_name(&t, &no_cache, 2, "outer:0");
        check_name(&t, &no_cache, 4, "main:0");
        free_truth(&t);
        build("mute", "-s");
        read_truth(&t, "mute");
        check_name(&t, &no_cache, 2, "?:0");
        free_truth(&t);
}

/* As distributions make it: names of local functions, packed, in a section of the stripped file. */
TEST(names_are_read_from_a_packed_symbol_table)
{
        struct truth t;

        if (system("command -v xz > /dev/null 2>&1") != 0) {
                tap_skip("xz is not installed");
                return;
        }
        build("packed", "-g");
        read_truth(&t, "packed");
        is_equal(shell("objcopy -S --keep-symbol=outer --keep-symbol=main %s mini && xz -f mini && "
                       "strip -s %s",
                       "packed", "packed"),
                 0);
        check_name(&t, &no_cache, 2, "?:0");
        is_equal(shell("objcopy --add-section .gnu_debugdata=mini.xz %s %s", "packed", "packed"),
                 0);
        check_name(&t, &no_cache, 2, "outer:0");
        free_truth(&t);
}

TEST(a_program_that_was_rebuilt_is_not_used)
{
        struct truth t;

        build("changed", "-g");
        read_truth(&t, "changed");
        check_inlined(&t, &no_cache);
        build("changed", "-g -DANOTHER=1 -O1");
        check_name(&t, &no_cache, 2, "?:0");
        free_truth(&t);
}

TEST(a_sysroot_comes_before_this_machine)
{
        struct symbol_options options = no_cache;
        struct str root = { 0 }, path = { 0 };
        struct truth t;

        build("rooted", "-g");
        read_truth(&t, "rooted");
        is_equal(shell("mkdir -p root%s && mv rooted root%s/", directory, directory), 0);
        check_name(&t, &no_cache, 2, "?:0");
        path_in(&root, "root");
        options.sysroot = str_get(&root);
        check_inlined(&t, &options);
        str_free(&root);
        str_free(&path);
        free_truth(&t);
}

static void damage_cache(off_t offset)
{
        struct str path = { 0 };
        struct dirent *entry;
        DIR *dir;
        char byte;

        path_in(&path, "seep");
        dir = opendir(str_get(&path));
        while (dir && (entry = readdir(dir)) && !strstr(entry->d_name, ".names"))
                continue;
        if (is_true(dir && entry)) {
                int fd;

                str_format(&path, "/%s", entry->d_name);
                fd = open(str_get(&path), O_RDWR);
                is_equal(pread(fd, &byte, 1, offset), 1);
                byte ^= 0x10;
                is_equal(pwrite(fd, &byte, 1, offset), 1);
                close(fd);
        }
        if (dir)
                closedir(dir);
        str_free(&path);
}

TEST(answers_are_kept_by_build_id_and_damage_is_harmless)
{
        static const struct symbol_options cached = { .no_debuginfod = true };
        struct truth t;

        is_equal(shell("rm -rf %s%s", "seep", ""), 0);
        build("kept", "-g");
        read_truth(&t, "kept");
        check_inlined(&t, &cached);
        is_equal(shell("mv %s %s.away", "kept", "kept"), 0);
        check_inlined(&t, &cached);
        for (off_t offset = 0; offset < 200; offset += 3) {
                damage_cache(offset);
                check_name(&t, &cached, 2, "?:0");
                damage_cache(offset);
        }
        check_inlined(&t, &cached);
        is_equal(shell("mv %s.away %s", "kept", "kept"), 0);
        damage_cache(100);
        check_inlined(&t, &cached);
        is_equal(shell("rm %s%s", "kept", ""), 0);
        check_inlined(&t, &cached); /* it was written anew */
        free_truth(&t);
}

/* Whoever makes a file chooses its build id, and tools that edit one keep it: names are from the
 * file that is there. */
TEST(answers_of_a_file_that_changed_under_its_build_id_are_not_used)
{
        static const struct symbol_options cached = { .no_debuginfod = true };
        struct truth t;

        is_equal(shell("rm -rf %s%s", "seep", ""), 0);
        build("same", "-g");
        read_truth(&t, "same");
        check_inlined(&t, &cached);
        is_equal(shell("objcopy --strip-debug --redefine-sym outer=other %s %s.new && "
                       "touch -r same same.new && mv -f same.new same", "same", "same"), 0);
        check_name(&t, &cached, 2, "other:0");
        check_name(&t, &cached, 2, "other:0"); /* from the cache again */
        is_equal(shell("rm %s%s", "same", ""), 0);
        free_truth(&t);
}

TEST(the_cache_does_not_grow_for_ever)
{
        static const struct symbol_options cached = { .no_debuginfod = true };
        struct truth t;

        is_equal(shell("rm -rf %s && mkdir %s && cd seep && seq -f '%%g.names' 1 600 | xargs touch "
                       "-d 2001-01-01",
                       "seep", "seep"),
                 0);
        build("fresh", "-g -gdwarf-4");
        read_truth(&t, "fresh");
        check_inlined(&t, &cached);
        is_equal(shell("test $(ls %s%s | wc -l) -eq 512", "seep", ""), 0);
        is_equal(shell("rm %s%s", "fresh", ""), 0);
        check_inlined(&t, &cached); /* the new one was kept */
        free_truth(&t);
}

/* A module without lines may get them any day: then the cache must not hide them. */
TEST(a_debug_file_that_appears_later_is_seen_through_the_cache)
{
        struct symbol_options cached = { .no_debuginfod = true };
        struct str debug = { 0 };
        const char *paths[1];
        struct truth t;

        /* other tests built the same program, with the same build id */
        is_equal(shell("rm -rf %s%s", "seep", ""), 0);
        build("late", "-g");
        read_truth(&t, "late");
        is_equal(shell("mkdir -p later && cp %s late.whole && strip -g %s", "late", "late"), 0);
        path_in(&debug, "later");
        paths[0] = str_get(&debug);
        cached.debug_paths = paths;
        cached.debug_path_count = 1;
        check_name(&t, &cached, 2, "outer:0");
        check_name(&t, &cached, 2, "outer:0");
        is_equal(shell("mv %s.whole later/%s", "late", "late"), 0);
        check_inlined(&t, &cached);
        str_free(&debug);
        free_truth(&t);
}

TEST(the_vdso_has_names)
{
        uintptr_t start = getauxval(AT_SYSINFO_EHDR);
        void *handle = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
        void *code = handle ? dlsym(handle, "__vdso_clock_gettime") : NULL;
        const struct symbol_frame *frames;
        struct profile p = { 0 };
        struct symbols *s;

        if (!start || !code) {
                tap_skip("this kernel gives no vdso with names");
                return;
        }
        p.modules = heap_zero(1, sizeof *p.modules);
        p.modules[0] = (struct profile_module){ .path = heap_text("[vdso]"), .bias = start };
        p.module_count = 1;
        p.nodes = heap_zero(3, sizeof *p.nodes);
        p.nodes[2] = (struct profile_node){ (uintptr_t)code + 1, 0, 0, 0 };
        p.node_count = 3;
        s = symbols_new(&p, &no_cache);
        is_equal(symbols_node(s, 2, &frames), 1);
        has_text(frames[0].function, "clock_gettime");
        symbols_free(s);
        profile_free(&p);
        dlclose(handle);
}

TEST(a_node_without_a_module_has_one_nameless_frame)
{
        const struct symbol_frame *frames;
        struct profile p = { 0 };
        struct symbols *s;

        p.nodes = heap_zero(2, sizeof *p.nodes);
        p.nodes[0].module = p.nodes[1].module = PROFILE_NO_MODULE;
        p.node_count = 2;
        s = symbols_new(&p, NULL);
        is_equal(symbols_node(s, 1, &frames), 1);
        is_true(frames[0].function == NULL && frames[0].file == NULL && frames[0].line == 0);
        symbols_free(s);
        profile_free(&p);
}

TAP_MAIN(make_directory, inlined_frames_come_innermost_first_with_the_lines_of_their_calls,
         clang_writes_no_aranges_and_is_understood,
         separate_debug_files_are_found_by_link_and_by_build_id,
         a_stripped_program_has_the_names_it_exports_and_no_others,
         names_are_read_from_a_packed_symbol_table, a_program_that_was_rebuilt_is_not_used,
         a_sysroot_comes_before_this_machine, answers_are_kept_by_build_id_and_damage_is_harmless,
         answers_of_a_file_that_changed_under_its_build_id_are_not_used,
         the_cache_does_not_grow_for_ever,
         a_debug_file_that_appears_later_is_seen_through_the_cache, the_vdso_has_names,
         a_node_without_a_module_has_one_nameless_frame, remove_directory)
