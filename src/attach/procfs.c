/* SPDX-License-Identifier: MIT */
#include "attach/procfs.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/heap.h"
#include "base/io.h"
#include "base/str.h"

int procfs_open(pid_t pid, pid_t tid, const char *file)
{
        char path[96];

        snprintf(path, sizeof path, "/proc/%d/task/%d/%s", (int)pid, (int)tid, file);
        return open(path, O_RDONLY | O_CLOEXEC);
}

bool procfs_text(pid_t pid, pid_t tid, const char *file, struct str *out)
{
        int fd = procfs_open(pid, tid, file);
        bool good = fd >= 0 && io_read(fd, out);

        if (fd >= 0)
                close(fd);
        return good;
}

uint64_t procfs_status(pid_t pid, pid_t tid, const char *key, int base, uint64_t fallback)
{
        struct str text = { 0 };
        const char *line = NULL, *word;
        size_t length = strlen(key);

        if (procfs_text(pid, tid, "status", &text))
                for (line = str_get(&text);
                     line && !(strncmp(line, key, length) == 0 && line[length] == ':');
                     line += line != NULL)
                        line = strchr(line, '\n');
        if (line) {
                word = line + strcspn(line, "\n");
                while (word > line && !strchr("\t :", word[-1]))
                        word--;
                fallback = strtoull(word, NULL, base);
        }
        str_free(&text);
        return fallback;
}

/* "PID (NAME) STATE ...", where NAME may hold anything, also parentheses. */
char procfs_state(pid_t pid, pid_t tid)
{
        struct str text = { 0 };
        const char *end = procfs_text(pid, tid, "stat", &text) ? strrchr(str_get(&text), ')')
                                                               : NULL;
        char state = end && end[1] == ' ' && end[2] ? end[2] : 'X';

        str_free(&text);
        return state;
}

const char *procfs_name(pid_t pid, char out[PROCFS_NAME_BYTES])
{
        struct str text = { 0 };

        procfs_text(pid, pid, "comm", &text);
        snprintf(out, PROCFS_NAME_BYTES, "%.*s", (int)strcspn(str_get(&text), "\n"),
                 str_get(&text));
        str_free(&text);
        return *out ? out : strcpy(out, "?");
}

pid_t procfs_living(pid_t pid)
{
        pid_t found = 0;
        struct dirent *entry;
        char path[64];
        DIR *list;

        if (procfs_state(pid, pid) != 'Z')
                return pid;
        snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
        list = opendir(path);
        while (list && !found && (entry = readdir(list))) {
                pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
                char state = tid > 0 && tid != pid ? procfs_state(pid, tid) : 'X';

                found = state != 'X' && state != 'Z' ? tid : 0;
        }
        if (list)
                closedir(list);
        return found ? found : pid;
}

/* ---- a process as a whole ---- */

static void make_name(uint32_t pid, const char *file, char *out, size_t room)
{
        snprintf(out, room, "/proc/%u/%s", (unsigned)procfs_living((pid_t)pid), file);
}

int process_open(uint32_t pid, const char *file)
{
        char name[64];

        make_name(pid, file, name, sizeof name);
        return open(name, O_RDONLY | O_CLOEXEC);
}

static void name_first(uint32_t pid, const char *file, char *out, size_t room)
{
        snprintf(out, room, "/proc/%u/%s", pid, file);
}

/* The state of a process is that of its first thread. */
static int open_first(uint32_t pid, const char *file)
{
        char name[64];

        name_first(pid, file, name, sizeof name);
        return open(name, O_RDONLY | O_CLOEXEC);
}

int process_open_memory(uint32_t pid)
{
        char name[64];

        make_name(pid, "mem", name, sizeof name);
        return open(name, O_RDWR | O_CLOEXEC);
}

/* Mostly the first thread is there; whether it is takes the kernel longer to tell than the rest. */
char *process_link(uint32_t pid, const char *file)
{
        char name[64], text[4096];
        ssize_t length;

        name_first(pid, file, name, sizeof name);
        length = readlink(name, text, sizeof text - 1);
        if (length <= 0) {
                make_name(pid, file, name, sizeof name);
                length = readlink(name, text, sizeof text - 1);
        }
        text[length > 0 ? length : 0] = 0;
        return heap_text(text);
}

bool process_exe(uint32_t pid, uint64_t *dev, uint64_t *ino)
{
        char name[64];
        struct stat st;

        name_first(pid, "exe", name, sizeof name);
        if (stat(name, &st) < 0) {
                make_name(pid, "exe", name, sizeof name);
                if (stat(name, &st) < 0)
                        return false;
        }
        *dev = st.st_dev;
        *ino = st.st_ino;
        return true;
}

/* The start of /proc/PID/FILE. */
static bool read_start(uint32_t pid, const char *file, char *out, size_t room)
{
        int fd = open_first(pid, file);
        ssize_t n = fd < 0 ? -1 : read(fd, out, room - 1);

        if (fd >= 0)
                close(fd);
        out[n > 0 ? n : 0] = 0;
        return n > 0;
}

/* What follows the name in /proc/PID/stat: the name may have anything in it, brackets
 * too.  OUT has 1024 bytes. */
static const char *read_stat(uint32_t pid, char *out)
{
        const char *behind_name = read_start(pid, "stat", out, 1024) ? strrchr(out, ')') : NULL;

        return behind_name && behind_name[1] == ' ' ? behind_name + 2 : NULL;
}

/* A number of /proc/PID/stat, STEPS behind the state. */
static bool read_stat_number(uint32_t pid, int steps, unsigned long long *out)
{
        char text[1024];
        const char *at = read_stat(pid, text);

        for (int i = 0; i < steps && at; i++) {
                at = strchr(at, ' ');
                at = at ? at + 1 : NULL;
        }
        return at && sscanf(at, "%llu", out) == 1;
}

uint64_t process_stack(uint32_t pid)
{
        unsigned long long stack = 0;

        if (read_stat_number(pid, 25, &stack) && !stack) /* the first thread has ended */
                read_stat_number((uint32_t)procfs_living((pid_t)pid), 25, &stack);
        return stack;
}

uint64_t process_age_ms(uint32_t pid)
{
        unsigned long long ticks, tick_ms = 1000u / (unsigned long long)sysconf(_SC_CLK_TCK);

        if (!read_stat_number(pid, 19, &ticks))
                return UINT64_MAX;
        return clock_ns(CLOCK_BOOTTIME) / 1000000u - ticks * tick_ms;
}

/* "START-END RIGHTS OFFSET DEVICE INODE   NAME": is it that INODE? */
static bool has_inode(const char *line, uint64_t inode)
{
        for (int word = 0; word < 4; word++) {
                line += strcspn(line, " \n");
                line += *line == ' ';
        }
        return strtoull(line, NULL, 10) == inode;
}

/* Nothing where that cannot be read.  Of a first thread that has ended it is empty. */
static void read_maps(uint32_t pid, struct str *out)
{
        char name[64];

        name_first(pid, "maps", name, sizeof name);
        io_read_file(name, out);
        if (out->length)
                return;
        make_name(pid, "maps", name, sizeof name);
        io_read_file(name, out);
}

bool process_maps(uint32_t pid, uint64_t inode)
{
        struct str maps = { 0 };
        bool found;

        read_maps(pid, &maps);
        found = !maps.length;
        for (const char *line = str_get(&maps); !found && line && *line; line += line != NULL) {
                found = has_inode(line, inode);
                line = strchr(line, '\n');
        }
        str_free(&maps);
        return found;
}

uint32_t process_threads(uint32_t pid)
{
        char name[64];
        struct stat st;

        snprintf(name, sizeof name, "/proc/%u/task", pid);
        return stat(name, &st) == 0 && st.st_nlink > 2 ? (uint32_t)st.st_nlink - 2 : 0;
}

uint32_t process_parent(uint32_t pid)
{
        char text[1024];
        const char *at = read_stat(pid, text);
        unsigned parent = 0;

        return at && sscanf(at, "%*c %u", &parent) == 1 ? parent : 0;
}

uint32_t process_children(uint32_t pid, uint32_t *out, uint32_t max)
{
        char file[64], text[4096];
        uint32_t count = 0;

        snprintf(file, sizeof file, "task/%u/children", pid);
        if (!read_start(pid, file, text, sizeof text))
                return 0;
        for (char *at = text, *end; count < max; at = end) {
                out[count] = (uint32_t)strtoul(at, &end, 10);
                if (*end != ' ')
                        break; /* the end, or cut off */
                count++;
        }
        return count;
}

char process_state(uint32_t pid)
{
        char text[1024];
        const char *at = read_stat(pid, text);

        return at ? *at : 0;
}

bool process_is_childless(uint32_t pid)
{
        char text[1024];
        const char *at = read_stat(pid, text);
        unsigned long long minor, major; /* page faults of the children; none lives without */

        return at &&
               sscanf(at, "%*c %*d %*d %*d %*d %*d %*u %*u %llu %*u %llu", &minor, &major) == 2 &&
               !minor && !major;
}

/* The bytes that KEY of /proc/PID/status says, in kB there; 0 if it is not there. */
static uint64_t status_bytes(uint32_t pid, const char *key)
{
        char text[4096], *at;

        pid = (uint32_t)procfs_living((pid_t)pid);
        at = read_start(pid, "status", text, sizeof text) ? strstr(text, key) : NULL;
        return at ? strtoull(at + strlen(key), NULL, 10) * 1024 : 0;
}

uint64_t process_anonymous(uint32_t pid)
{
        return status_bytes(pid, "RssAnon:");
}

uint64_t process_peak_rss(uint32_t pid)
{
        return status_bytes(pid, "VmHWM:");
}

bool process_thread_name(uint32_t pid, uint32_t tid, char out[PROCESS_NAME_BYTES])
{
        char file[64], text[PROCESS_NAME_BYTES + 1];

        snprintf(file, sizeof file, "task/%u/comm", tid);
        if (!read_start(pid, file, text, sizeof text) || text[0] == '\n')
                return false;
        text[strcspn(text, "\n")] = 0;
        memset(out, 0, PROCESS_NAME_BYTES);
        memcpy(out, text, strnlen(text, PROCESS_NAME_BYTES - 1));
        return true;
}
