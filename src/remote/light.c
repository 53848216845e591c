/* SPDX-License-Identifier: MIT */
#include "remote/light.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/heap.h"
#include "remote/keeper.h"

#define LIGHT_END_MS 30000u
#define LIGHT_TRIES 100

static bool is_light(const struct link *l, bool *light, struct err *e)
{
        struct link_connection *c = heap_zero(1, sizeof *c);
        bool good = link_connect(l, c, e);

        *light = good && (c->greeting.flags & PROTOCOL_LIGHT);
        if (good)
                link_disconnect(c);
        free(c);
        return good;
}

/* ---- its folder ---- */

#define LIGHT_PLACE "/tmp"
#define LIGHT_NAME "seep-keeper-"

void light_leave(const char *folder)
{
        DIR *d = opendir(folder);
        struct dirent *entry;

        while (d && (entry = readdir(d)))
                unlinkat(dirfd(d), entry->d_name, 0);
        if (d)
                closedir(d);
        rmdir(folder);
}

/* FOLDER is in use as long as the descriptor is open, whoever is killed; -1: it is in use (HOW
 * LOCK_EX), or not a directory of ours. */
static int lock_folder(const char *folder, int how)
{
        int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        struct stat st;

        if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
            flock(fd, how | LOCK_NB) == 0)
                return fd;
        if (fd >= 0)
                close(fd);
        return -1;
}

int light_lock(const char *folder)
{
        return lock_folder(folder, LOCK_SH);
}

/* What is left of those that were killed. */
static void remove_left(void)
{
        DIR *d = opendir(LIGHT_PLACE);
        struct dirent *entry;

        while (d && (entry = readdir(d))) {
                char path[sizeof LIGHT_PLACE + sizeof entry->d_name];
                int fd;

                if (strncmp(entry->d_name, LIGHT_NAME, sizeof LIGHT_NAME - 1) != 0)
                        continue;
                snprintf(path, sizeof path, "%s/%s", LIGHT_PLACE, entry->d_name);
                fd = lock_folder(path, LOCK_EX);
                if (fd < 0)
                        continue;
                light_leave(path);
                close(fd);
        }
        if (d)
                closedir(d);
}

/* One that is just made may be taken for one that is left: then there is another. */
static bool make_folder(struct light *t, struct err *e)
{
        struct stat held, named;

        remove_left();
        for (int i = 0; i < LIGHT_TRIES; i++) {
                snprintf(t->folder, sizeof t->folder, LIGHT_PLACE "/" LIGHT_NAME "XXXXXX");
                if (!mkdtemp(t->folder))
                        break;
                t->lock = light_lock(t->folder);
                if (t->lock >= 0 && fstat(t->lock, &held) == 0 &&
                    stat(t->folder, &named) == 0 && held.st_ino == named.st_ino)
                        return true;
                if (t->lock >= 0)
                        close(t->lock);
                t->lock = -1;
                rmdir(t->folder);
        }
        t->folder[0] = 0;
        return err_sys(e, ERR_EXIT_CANNOT_TRACE, "no directory can be made in " LIGHT_PLACE);
}

/* ---- the keeper ---- */

/* Until the keeper says that it is ready, or why not. */
static bool await_keeper(struct light *t, struct link *l, struct err *e)
{
        struct keeper_word word = { 0 };
        ssize_t got = recv(t->keeper.fd, &word, sizeof word, 0);

        if (got != (ssize_t)sizeof word)
                return err_set(e, ERR_EXIT_CANNOT_TRACE,
                               "what keeps the ledger of the target has ended");
        word.text[sizeof word.text - 1] = 0;
        if (word.status)
                return err_set(e, (int)word.status, "%s", word.text);
        l->token.length = 0;
        snprintf(l->shown, sizeof l->shown, "%s%s", l->address.kind == ADDRESS_SSH ? "ssh:" : "",
                 l->address.text);
        return address_parse(word.text, &l->address, e);
}

bool light_open(struct light *t, struct link *l, const struct light_wishes *w, struct err *e)
{
        struct keeper_job job = { .link = l, .wishes = w, .folder = t->folder };
        bool light = false;

        *t = (struct light){ .keeper = WORKER_NONE, .lock = -1 };
        if (!is_light(l, &light, e))
                return false;
        if (!light)
                return true;
        if (!make_folder(t, e))
                return false;
        if (!worker_start(&t->keeper, &(struct worker_order){ .work = keeper_run,
                                                              .context = &job,
                                                              .socket = SOCK_SEQPACKET }))
                err_sys(e, ERR_EXIT_CANNOT_TRACE, "no process can be started");
        else if (await_keeper(t, l, e))
                return true;
        light_close(t);
        return false;
}

/* It leaves when its socket is closed. */
void light_close(struct light *t)
{
        if (t->keeper.fd >= 0)
                shutdown(t->keeper.fd, SHUT_RDWR);
        if (t->keeper.pid)
                worker_end(&t->keeper, LIGHT_END_MS);
        worker_close(&t->keeper);
        if (t->folder[0])
                light_leave(t->folder);
        if (t->lock >= 0)
                close(t->lock);
        *t = (struct light){ .keeper = WORKER_NONE, .lock = -1 };
}
