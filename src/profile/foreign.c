/* SPDX-License-Identifier: MIT */
#include "profile/foreign.h"

#include <stdint.h>
#include <string.h>

/* First bytes, and what to say about them.  The first match counts. */
#define FOREIGN_FILES(X)                                                                       \
        X("\x28\xb5\x2f\xfd",                                                                  \
          "a zstd file (heaptrack writes such recordings: 'heaptrack_print FILE' opens them)") \
        X("\x1f\x8b",                                                                          \
          "a gzip file (heaptrack and pprof profiles are; 'heaptrack_print' or 'pprof' opens " \
          "them)")                                                                             \
        X("\x7f" "ELF",                                                                        \
          "an ELF file, a program or library: 'seep record FILE' would run and record it")     \
        X("\xfd" "7zXZ", "an xz file")                                                         \
        X("PK\x03\x04", "a zip file")                                                          \
        X("v 1", "a heaptrack recording: 'heaptrack_print FILE' opens it")                     \
        X("desc: ", "a massif file: 'ms_print FILE' opens it")                                 \
        X("# callgrind format", "a callgrind file: 'callgrind_annotate FILE' opens it")        \
        X("version: 1\ncreator:", "a callgrind file: 'callgrind_annotate FILE' opens it")      \
        X("{\"dhatFileVersion\"", "a DHAT file: Valgrind's dh_view.html opens it")             \
        X("SQLite format 3", "an SQLite database")                                             \
        X("PERFILE2", "a perf recording: 'perf report -i FILE' opens it")                      \
        X("memray", "a memray recording: 'memray flamegraph FILE' opens it")                   \
        X("SEEPdgr1",                                                                          \
          "a ledger, the memory of a running recording; its '.seep' file is written by 'seep " \
          "record'")                                                                           \
        X("{", "a JSON file; 'seep report' reads the '.seep' file it came from")               \
        X("#!", "a script: 'seep record FILE' would run and record it")

static const struct {
        const char *bytes;
        size_t length;
        const char *text;
} foreign_files[] = {
#define FOREIGN_FILE(bytes, text) { bytes, sizeof(bytes) - 1, text },
        FOREIGN_FILES(FOREIGN_FILE)
};

/* The type of an ELF file is a half word behind its 16 bytes of identity, of which the sixth tells
 * the byte order: 2 is big. */
static bool foreign_is_core(const uint8_t *bytes, size_t size)
{
        const int core = 4;

        return size >= 18 && !memcmp(bytes, "\x7f" "ELF", 4) &&
               (bytes[5] == 2 ? bytes[16] << 8 | bytes[17] : bytes[17] << 8 | bytes[16]) == core;
}

bool foreign_explain(const void *data, size_t size, const char *name, struct err *e)
{
        if (foreign_is_core(data, size))
                return err_set(e, ERR_EXIT_BAD_FILE,
                               "%s is not a seep recording but a core file: 'seep leaks', 'seep "
                               "why', 'seep report --retained' and 'seep report --blocks' read it",
                               name);
        for (size_t i = 0; i < sizeof foreign_files / sizeof *foreign_files; i++)
                if (size >= foreign_files[i].length &&
                    !memcmp(data, foreign_files[i].bytes, foreign_files[i].length))
                        return err_set(e, ERR_EXIT_BAD_FILE, "%s is not a seep recording but %s",
                                       name, foreign_files[i].text);
        return err_set(e, ERR_EXIT_BAD_FILE,
                       "%s is not a seep recording: it does not begin like one", name);
}
