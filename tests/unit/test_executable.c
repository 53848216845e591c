/* SPDX-License-Identifier: MIT */
/*
 * test_executable.c -- files that a program may become: which of them cannot have our library.
 */
#include "agent/executable.h"

#include "tap.h"

#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/environment.h"
#include "agent/hello.h"
#include "agent/real.h"

/* A small program: headers, the dynamic section with one library, and its name. */
static struct program {
        Elf64_Ehdr e;
        Elf64_Phdr headers[2];
        Elf64_Dyn dynamic[3];
        char names[32];
} program;

#define AT_ADDRESS 0x10000u /* where the file is in memory */

static char folder[] = "/tmp/seep-target-XXXXXX", search[128];
static char *environment[] = { "OTHER=PATH=/nowhere", search, NULL };

static const char *ours = "/proc/self/exe";

const char *real_library(void)
{
        return ours;
}

char **environment_now(void)
{
        return environment;
}

/* The observer. */
static int asked, asked_to_spawn, stayed;
static bool granted;

bool hello_launch(const char *path, long fd, bool spawn)
{
        is_true(strcmp(path, "/socket") == 0 && fd >= 0);
        asked++;
        asked_to_spawn += spawn;
        return granted;
}

void hello_stay(const char *path)
{
        (void)path;
        stayed++;
}

static void make(const char *library)
{
        program = (struct program){
                .e = { .e_phoff = offsetof(struct program, headers),
                       .e_phentsize = sizeof(Elf64_Phdr),
                       .e_phnum = 2,
                       .e_machine = EM_X86_64 },
                .headers = { { .p_type = PT_LOAD,
                               .p_vaddr = AT_ADDRESS,
                               .p_filesz = sizeof program },
                             { .p_type = PT_DYNAMIC,
                               .p_offset = offsetof(struct program, dynamic),
                               .p_filesz = sizeof program.dynamic } },
                .dynamic = { { .d_tag = DT_NEEDED, .d_un.d_val = 1 },
                             { .d_tag = DT_STRTAB,
                               .d_un.d_ptr = AT_ADDRESS + offsetof(struct program, names) } },
        };
        memcpy(program.e.e_ident, ELFMAG, SELFMAG);
        program.e.e_ident[EI_CLASS] = ELFCLASS64;
        snprintf(program.names + 1, sizeof program.names - 1, "%s", library);
}

static void put(const char *name, const void *bytes, size_t count, mode_t mode)
{
        int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

        is_true(fd >= 0 && write(fd, bytes, count) == (ssize_t)count);
        is_true(fchmod(fd, mode) == 0 && close(fd) == 0);
}

static bool refused(void)
{
        put("file", &program, sizeof program, 0755);
        return executable_refuses("file", EXECUTABLE_ALONE);
}

static void begin(void)
{
        is_true(mkdtemp(folder) && chdir(folder) == 0);
        snprintf(search, sizeof search, "PATH=/nowhere:%s/inner:%s", folder, folder);
}

static void end(void)
{
        unlink("file");
        unlink("inner/file");
        rmdir("inner");
        is_true(chdir("/") == 0 && rmdir(folder) == 0);
        memcpy(folder + sizeof folder - 7, "XXXXXX", 6);
}

TEST(the_runtime_of_a_sanitizer_refuses_us)
{
        static const char *const libraries[] = { "libasan.so.8", "liblsan.so.0", "libtsan.so.2",
                                                 "libclang_rt.asan-x86_64.so" };

        begin();
        for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
                make(libraries[i]);
                is_true(refused());
        }
        make("libubsan.so.1"); /* it leaves malloc alone */
        is_true(!refused());
        make("libc.so.6");
        is_true(!refused());
        is_true(!executable_refuses("/bin/sh", EXECUTABLE_ALONE));
        end();
}

TEST(the_observer_is_told_of_what_has_no_loader_or_refuses)
{
        begin();
        make("libc.so.6");
        is_true(!refused() && asked == 0);
        is_true(!executable_refuses("file", EXECUTABLE_EXEC) && asked == 0); /* nobody listens */
        agent.socket = "/socket";
        is_true(!executable_refuses("file", EXECUTABLE_EXEC) && asked == 1 && asked_to_spawn == 0);
        granted = true;
        is_true(executable_refuses("file", EXECUTABLE_SPAWN) && asked == 2 && asked_to_spawn == 1);
        program.headers[0].p_type = PT_INTERP;
        is_true(!refused() && !executable_refuses("file", EXECUTABLE_EXEC) && asked == 2);
        granted = false;
        make("libasan.so.8");
        is_true(refused() && executable_refuses("file", EXECUTABLE_EXEC) && asked == 3);
        agent.sandboxed = 1;
        is_true(executable_refuses("file", EXECUTABLE_EXEC) && asked == 3);
        executable_stays();
        is_true(stayed == 0);
        agent.sandboxed = 0;
        executable_stays();
        is_true(stayed == 1);
        agent.socket = NULL;
        end();
}

TEST(so_do_programs_for_other_machines)
{
        begin();
        make("libc.so.6");
        program.e.e_ident[EI_CLASS] = ELFCLASS32;
        is_true(refused());
        make("libc.so.6");
        program.e.e_machine = EM_386;
        is_true(refused());
        end();
}

/* The same program with words of 32 bits. */
static struct {
        Elf32_Ehdr e;
        Elf32_Phdr headers[3];
        Elf32_Dyn dynamic[3];
        char names[32];
} narrow;

static enum executable_fit fit_of_narrow(const char *library, uint32_t loader)
{
        memset(&narrow, 0, sizeof narrow);
        memcpy(narrow.e.e_ident, ELFMAG, SELFMAG);
        narrow.e.e_ident[EI_CLASS] = ELFCLASS32;
        narrow.e.e_machine = ARCH_OTHER_MACHINE;
        narrow.e.e_phoff = (char *)narrow.headers - (char *)&narrow;
        narrow.e.e_phentsize = sizeof *narrow.headers;
        narrow.e.e_phnum = 3;
        narrow.headers[0] = (Elf32_Phdr){ .p_type = PT_LOAD, .p_vaddr = AT_ADDRESS,
                                          .p_filesz = sizeof narrow };
        narrow.headers[1] = (Elf32_Phdr){ .p_type = PT_DYNAMIC,
                                          .p_offset = (Elf32_Off)((char *)narrow.dynamic -
                                                                  (char *)&narrow),
                                          .p_filesz = sizeof narrow.dynamic };
        narrow.headers[2] = (Elf32_Phdr){ .p_type = loader };
        narrow.dynamic[0] = (Elf32_Dyn){ .d_tag = DT_NEEDED, .d_un.d_val = 1 };
        narrow.dynamic[1] = (Elf32_Dyn){
                .d_tag = DT_STRTAB,
                .d_un.d_ptr = (Elf32_Addr)(AT_ADDRESS + (narrow.names - (char *)&narrow))
        };
        snprintf(narrow.names + 1, sizeof narrow.names - 1, "%s", library);
        put("file", &narrow, sizeof narrow, 0755);
        return executable_refuses("file", EXECUTABLE_ALONE);
}

TEST(a_program_of_the_other_word_size_has_a_library_of_its_own)
{
        char own[64], wanted[64];

        begin();
        snprintf(own, sizeof own, "%s/libseep.so", folder);
        snprintf(wanted, sizeof wanted, "%s/" ARCH_OTHER_FOLDER "libseep.so", folder);
        put(own, "", 0, 0644);
        ours = own;
        is_true(fit_of_narrow("libc.so.6", PT_INTERP) == EXECUTABLE_REFUSES); /* it is not there */
        is_true(mkdir(ARCH_OTHER_FOLDER, 0755) == 0);
        put(wanted, "", 0, 0644);
        is_true(fit_of_narrow("libc.so.6", PT_INTERP) == EXECUTABLE_REFUSES); /* it is none */
        narrow.e.e_machine = EM_PPC; /* as found by a program that an emulator runs */
        put(wanted, &narrow, sizeof narrow, 0644);
        is_true(fit_of_narrow("libc.so.6", PT_INTERP) == EXECUTABLE_REFUSES);
        put(wanted, &narrow, sizeof narrow, 0644);
        is_true(fit_of_narrow("libc.so.6", PT_INTERP) == EXECUTABLE_OTHER);
        is_true(strcmp(executable_library(EXECUTABLE_OTHER), wanted) == 0);
        is_true(fit_of_narrow("libasan.so.8", PT_INTERP) == EXECUTABLE_REFUSES);
        /* nobody would load it */
        is_true(fit_of_narrow("libc.so.6", PT_NULL) == EXECUTABLE_REFUSES);
        is_true(executable_library(EXECUTABLE_FITS) == own &&
                !executable_library(EXECUTABLE_REFUSES));
        ours = "/proc/self/exe";
        unlink(wanted);
        unlink(own);
        rmdir(ARCH_OTHER_FOLDER);
        end();
}

TEST(what_cannot_be_read_or_run_does_not)
{
        begin();
        is_true(!executable_refuses("file", EXECUTABLE_ALONE) &&
                !executable_refuses("", EXECUTABLE_ALONE));
        is_true(!executable_refuses("/", EXECUTABLE_ALONE));
        is_true(!executable_refuses((const char *)8, EXECUTABLE_ALONE));
        put("file", "#!/bin/sh\n", 10, 0755);
        is_true(!executable_refuses("file", EXECUTABLE_ALONE));
        make("libasan.so.8");
        put("file", &program, sizeof program.e - 1, 0755);
        is_true(!executable_refuses("file", EXECUTABLE_ALONE));
        put("file", &program, sizeof program, 0644);
        is_true(!executable_refuses("file", EXECUTABLE_ALONE));
        is_true(!executable_refuses_at(-1, "", EXECUTABLE_ALONE));
        is_true(!executable_refuses_at(12345, "file", EXECUTABLE_ALONE));
        end();
}

TEST(without_our_library_nothing_is_preloaded)
{
        begin();
        make("libc.so.6");
        is_true(!refused());
        ours = "nowhere.so";
        is_true(refused());
        ours = "/proc/self/exe";
        is_true(!refused());
        end();
}

TEST(headers_that_lie_lead_nowhere)
{
        begin();
        make("libasan.so.8");
        program.e.e_phoff = UINT64_MAX - 8;
        is_true(!refused());
        make("libasan.so.8");
        program.e.e_phnum = UINT16_MAX; /* the file has two */
        is_true(!refused());
        make("libasan.so.8");
        program.headers[1].p_filesz = UINT64_MAX;
        is_true(!refused());
        make("libasan.so.8");
        program.dynamic[0].d_un.d_val = UINT64_MAX / 2;
        is_true(!refused());
        make("libasan.so.8");
        program.dynamic[1].d_un.d_ptr = 8;
        is_true(!refused());
        end();
}

TEST(a_name_is_looked_for_as_the_c_library_does)
{
        int here;

        begin();
        is_true(mkdir("inner", 0755) == 0);
        make("libasan.so.8");
        is_true(refused() && executable_refuses_name("file", EXECUTABLE_ALONE) &&
                executable_refuses_name("./file", EXECUTABLE_ALONE));
        is_true(!executable_refuses_name("", EXECUTABLE_ALONE) &&
                !executable_refuses_name("other", EXECUTABLE_ALONE));
        make("libc.so.6");
        put("inner/file", &program, sizeof program, 0644); /* passed over: it may not be executed */
        is_true(executable_refuses_name("file", EXECUTABLE_ALONE));
        put("inner/file", &program, sizeof program, 0755);
        is_true(!executable_refuses_name("file", EXECUTABLE_ALONE));
        here = open("file", O_RDONLY | O_CLOEXEC);
        is_true(executable_refuses_at(here, "", EXECUTABLE_ALONE));
        close(here);
        here = open(".", O_RDONLY | O_CLOEXEC);
        is_true(executable_refuses_at(here, "file", EXECUTABLE_ALONE));
        is_true(!executable_refuses_at(here, "inner/file", EXECUTABLE_ALONE) &&
                !executable_refuses_at(here, "", EXECUTABLE_ALONE));
        close(here);
        end();
}

TAP_MAIN(the_runtime_of_a_sanitizer_refuses_us, so_do_programs_for_other_machines,
         the_observer_is_told_of_what_has_no_loader_or_refuses,
         a_program_of_the_other_word_size_has_a_library_of_its_own,
         what_cannot_be_read_or_run_does_not, without_our_library_nothing_is_preloaded,
         headers_that_lie_lead_nowhere, a_name_is_looked_for_as_the_c_library_does)
