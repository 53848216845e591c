/* SPDX-License-Identifier: MIT */
/*
 * test_program.c -- finding a program and judging its file, with files made here.
 */
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/elf.h"
#include "attach/program.h"
#include "base/io.h"
#include "tap.h"

static char place[64];
static const struct program_user somebody = { 4711, 4711 };

static void enter(void)
{
        strcpy(place, "/tmp/seep-program-XXXXXX");
        is_true(mkdtemp(place) && chdir(place) == 0);
}

static void leave(void)
{
        char command[128];

        snprintf(command, sizeof command, "/bin/rm -rf %s", place);
        is_true(chdir("/") == 0 && system(command) == 0);
}

static void put(const char *name, const void *bytes, size_t count, mode_t mode)
{
        int fd = open(name, O_CREAT | O_WRONLY | O_TRUNC, mode);

        is_true(fd >= 0 && io_write(fd, bytes, count) && fchmod(fd, mode) == 0 && close(fd) == 0);
}

static void put_text(const char *name, const char *text, mode_t mode)
{
        put(name, text, strlen(text), mode);
}

/* This test program itself, a dynamic program of our own kind, with its first bytes changed by
 * EDIT. */
static void put_self(const char *name, void (*edit)(ElfW(Ehdr) *head, ElfW(Phdr) *phdr))
{
        struct str self = { 0 };

        is_true(io_read_file("/proc/self/exe", &self));
        if (edit) {
                ElfW(Ehdr) *head = (ElfW(Ehdr) *)(void *)self.data;

                edit(head, (ElfW(Phdr) *)(void *)(self.data + head->e_phoff));
        }
        put(name, self.data, self.length, 0755);
        str_free(&self);
}

static int refused(const char *path, const char *why)
{
        struct err e = { 0 };

        if (program_check(path, &somebody, &e))
                return 0;
        has_text(e.text, why);
        return e.exit_code;
}

TEST(a_name_without_a_slash_is_looked_up_in_path)
{
        struct err e = { 0 };
        char *found;

        enter();
        is_true(mkdir("a", 0700) == 0 && mkdir("b", 0700) == 0);
        put_text("a/tool", "x", 0644);
        put_text("b/tool", "x", 0755);
        put_text("here", "x", 0755);
        setenv("PATH", "nowhere:a:b:", 1);
        found = program_find("tool", &e);
        is_text(found, "b/tool");
        free(found);
        found = program_find("here", &e);
        is_text(found, "./here");
        free(found);
        leave();
}

TEST(what_cannot_be_found_or_run_has_its_own_exit_code)
{
        struct err e = { 0 };

        enter();
        is_true(mkdir("a", 0700) == 0);
        put_text("a/tool", "x", 0644);
        setenv("PATH", "a", 1);
        is_true(!program_find("nothing", &e));
        is_equal(e.exit_code, ERR_EXIT_NOT_FOUND);
        is_true(!program_find("./nothing", &e));
        is_equal(e.exit_code, ERR_EXIT_NOT_FOUND);
        is_true(!program_find("", &e));
        is_equal(e.exit_code, ERR_EXIT_NOT_FOUND);
        is_true(!program_find("tool", &e));
        is_equal(e.exit_code, ERR_EXIT_NOT_EXECUTABLE);
        is_true(!program_find("./a/tool", &e));
        is_equal(e.exit_code, ERR_EXIT_NOT_EXECUTABLE);
        is_true(!program_find("./a", &e));
        is_equal(e.exit_code, ERR_EXIT_NOT_EXECUTABLE);
        has_text(e.text, "directory");
        leave();
}

static void make_static(ElfW(Ehdr) *head, ElfW(Phdr) *phdr)
{
        for (int i = 0; i < head->e_phnum; i++)
                if (phdr[i].p_type == PT_INTERP)
                        phdr[i].p_type = PT_NULL;
}

static void make_arm(ElfW(Ehdr) *head, ElfW(Phdr) *phdr)
{
        (void)phdr;
        head->e_ident[EI_CLASS] = ELFCLASS32;
        head->e_machine = EM_ARM;
}

TEST(a_file_our_library_cannot_enter_is_refused)
{
        enter();
        put_self("static", make_static);
        put_self("arm", make_arm);
        is_equal(refused("./static", "statically linked"), ERR_EXIT_CANNOT_TRACE);
        is_equal(refused("./arm", "32-bit ARM"), ERR_EXIT_CANNOT_TRACE);
        leave();
}

TEST(bits_that_raise_rights_are_refused_unless_they_raise_nothing)
{
        struct program_user owner = { getuid(), getgid() };
        struct err e = { 0 };

        enter();
        put_self("plain", NULL);
        is_true(chmod("plain", 04755) == 0);
        is_equal(refused("./plain", "elevated privileges"), ERR_EXIT_CANNOT_TRACE);
        is_true(!program_check("./plain", &owner, &e)
                        ? strstr(e.text, "elevated privileges") == NULL
                        : 1);
        leave();
}

TEST(a_script_is_judged_by_its_interpreter)
{
        char text[128];

        enter();
        put_self("static", make_static);
        snprintf(text, sizeof text, "#! %s/static -x\n", place);
        put_text("script", text, 0755);
        snprintf(text, sizeof text, "#!%s/script\n", place);
        put_text("outer", text, 0755);
        put_text("orphan", "#!/no/such/interpreter\n", 0755);
        put_text("shellish", "echo no line with an interpreter\n", 0755);
        is_equal(refused("./script", "statically linked"), ERR_EXIT_CANNOT_TRACE);
        is_equal(refused("./outer", "./outer: "), ERR_EXIT_CANNOT_TRACE);
        is_equal(refused("./orphan", "/no/such/interpreter is not there"), ERR_EXIT_NOT_FOUND);
        is_equal(refused("./shellish", ""), 0);
        leave();
}

TEST(a_script_that_interprets_itself_ends)
{
        char text[128];

        enter();
        snprintf(text, sizeof text, "#!%s/loop\n", place);
        put_text("loop", text, 0755);
        is_equal(refused("./loop", "too many nested interpreters"), ERR_EXIT_NOT_EXECUTABLE);
        leave();
}

static const char *const nobodys_name = "no_such_function";

void function_of_this_test(void);

void function_of_this_test(void)
{
}

static bool may_mention(int fd, const char *word)
{
        const char *words[] = { nobodys_name, word };

        return elf_may_mention(fd, words, 2);
}

TEST(names_that_a_file_has_not_are_told_for_sure)
{
        int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), fd;

        is_true(may_mention(self, "function_of_this_test"));
        is_true(may_mention(self, "of_this_te"));
        is_true(may_mention(self, ".dynsym"));
        is_true(may_mention(self, "memcpy"));
        is_true(!may_mention(self, "gopclntab"));
        close(self);
        enter();
        put_text("script", "#!/bin/sh\n", 0755);
        fd = open("script", O_RDONLY | O_CLOEXEC);
        is_true(may_mention(fd, "gopclntab"));
        close(fd);
        leave();
}

/* Every byte of the headers and of the dynamic section may lie: nothing may crash, the answer does
 * not matter. */
TEST(a_damaged_program_file_is_read_without_harm)
{
        struct str self = { 0 };
        unsigned long seed = 5;
        int fd = memfd_create("damaged", MFD_CLOEXEC);

        is_true(io_read_file("/proc/self/exe", &self) && self.length > 4096);
        for (int i = 0; i < 300; i++) {
                struct elf_facts facts;
                char head[2048];

                memcpy(head, self.data, sizeof head);
                for (int k = 0; k < 8; k++) {
                        seed = seed * 6364136223846793005ul + 1442695040888963407ul;
                        head[EI_NIDENT + (seed >> 33) % (sizeof head - EI_NIDENT)] = (char)(seed >>
                                                                                            13);
                }
                is_true(ftruncate(fd, 0) == 0 &&
                        pwrite(fd, self.data, self.length, 0) == (ssize_t)self.length);
                is_true(pwrite(fd, head, sizeof head, 0) == (ssize_t)sizeof head);
                is_true(elf_look(fd, &facts) && facts.is_elf);
                elf_may_mention(fd, &nobodys_name, 1);
        }
        for (off_t length = 0; length < 200; length++) {
                struct elf_facts facts;

                is_true(ftruncate(fd, 0) == 0 &&
                        pwrite(fd, self.data, (size_t)length, 0) == length);
                is_true(elf_look(fd, &facts));
        }
        str_free(&self);
        close(fd);
}

TAP_MAIN(a_name_without_a_slash_is_looked_up_in_path,
         what_cannot_be_found_or_run_has_its_own_exit_code,
         a_file_our_library_cannot_enter_is_refused,
         bits_that_raise_rights_are_refused_unless_they_raise_nothing,
         a_script_is_judged_by_its_interpreter, a_script_that_interprets_itself_ends,
         names_that_a_file_has_not_are_told_for_sure, a_damaged_program_file_is_read_without_harm)
