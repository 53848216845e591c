/* SPDX-License-Identifier: MIT */
#include "base/place.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/io.h"
#include "base/str.h"

#define PLACE_LINKS_MAX 40
#define PLACE_TRIES 100
#define PLACE_STEP (1u << 20)

static void close_quietly(int *fd)
{
        int saved = errno;

        if (*fd >= 0)
                close(*fd);
        *fd = -1;
        errno = saved;
}

/* ---- links ---- */

static char *folder_of(const char *path)
{
        const char *slash = strrchr(path, '/');
        char *folder = heap_text(slash ? path : ".");

        if (slash)
                folder[slash == path ? 1 : slash - path] = 0;
        return folder;
}

static const char *last_word(const char *path)
{
        const char *slash = strrchr(path, '/');

        return slash ? slash + 1 : path;
}

/* As fs.protected_symlinks, but always: in a directory where everybody may put links, only root's
 * and our own are followed. */
static bool is_trap(const char *folder, const struct stat *link)
{
        struct stat st;

        return link->st_uid != geteuid() && link->st_uid != 0 && stat(folder, &st) == 0 &&
               (st.st_mode & S_IWOTH);
}

/* Where the link PATH leads; it is freed.  NULL: errno. */
static char *follow(char *path, const struct stat *link)
{
        char *folder = folder_of(path), to[4096];
        ssize_t length = -1;
        struct str out = { 0 };

        if (is_trap(folder, link))
                errno = ELOOP;
        else
                length = readlink(path, to, sizeof to - 1);
        if (length >= 0) {
                to[length] = 0;
                if (to[0] != '/')
                        str_format(&out, "%s/", folder);
                str_text(&out, to);
        }
        free(folder);
        free(path);
        return out.data;
}

/* PATH behind all its links, the caller's to free(); NULL: errno, ELOOP for a link that another
 * user left for us to follow. */
static char *place_resolve(const char *path)
{
        char *at = heap_text(path);
        struct stat st;

        for (int i = 0; at && lstat(at, &st) == 0 && S_ISLNK(st.st_mode); i++) {
                if (i == PLACE_LINKS_MAX) {
                        free(at);
                        errno = ELOOP;
                        return NULL;
                }
                at = follow(at, &st);
        }
        return at;
}

/* ---- directories ---- */

/* Links of /proc are no texts that anybody chose, but lead to what is open. */
static bool is_in_proc(int directory)
{
        struct statfs fs;

        return fstatfs(directory, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
}

/* The link FD is in DIRECTORY: its text and REST are the way from now on.  NULL: errno. */
static char *way_behind(int directory, int fd, const char *rest)
{
        struct stat link, st;
        struct str way = { 0 };
        char to[4096];
        ssize_t length;

        if (fstat(fd, &link) < 0 || fstat(directory, &st) < 0)
                return NULL;
        if (link.st_uid != geteuid() && link.st_uid != 0 && (st.st_mode & S_IWOTH)) {
                errno = ELOOP;
                return NULL;
        }
        length = readlinkat(fd, "", to, sizeof to - 1);
        if (length < 0)
                return NULL;
        str_format(&way, "%.*s/%s", (int)length, to, rest);
        return way.data;
}

struct walk {
        char *way;  /* what is left of it */
        int at;
        int links;
};

/* One word further.  false: errno. */
static bool step(struct walk *w)
{
        size_t length = strcspn(w->way, "/"), next = length + strspn(w->way + length, "/");
        char *word = heap_text(w->way), *way;
        struct stat st;
        int fd;

        word[length] = 0;
        fd = openat(w->at, length ? word : "/",
                    O_PATH | O_CLOEXEC | (is_in_proc(w->at) ? 0 : O_NOFOLLOW));
        free(word);
        if (fd < 0 || fstat(fd, &st) < 0 ||
            (S_ISLNK(st.st_mode) && w->links++ == PLACE_LINKS_MAX && (errno = ELOOP))) {
                close_quietly(&fd);
                return false;
        }
        way = S_ISLNK(st.st_mode) ? way_behind(w->at, fd, w->way + next) : heap_text(w->way + next);
        free(w->way);
        w->way = way;
        if (S_ISLNK(st.st_mode)) {
                close_quietly(&fd);
                return way != NULL;
        }
        close_quietly(&w->at);
        w->at = fd;
        errno = ENOTDIR;
        return S_ISDIR(st.st_mode);
}

/* Word by word, so that no link that another user left on the way is followed. */
int place_folder(const char *path)
{
        struct walk w = { heap_text(*path ? path : "."),
                          open(".", O_PATH | O_DIRECTORY | O_CLOEXEC), 0 };
        bool good = w.at >= 0;

        while (good && *w.way)
                good = step(&w);
        free(w.way);
        if (!good)
                close_quietly(&w.at);
        return w.at;
}

bool place_is_exposed(int directory)
{
        struct stat st;

        return fstat(directory, &st) == 0 && (st.st_mode & S_IWOTH) && !(st.st_mode & S_ISVTX);
}

/* Without one the name could not be given at the end. */
static bool has_proc(int fd)
{
        char link[64];

        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        return access(link, F_OK) == 0;
}

/* Mode 0666 less the umask, as for any new file. */
static int create_nameless(int directory)
{
        int fd = openat(directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);

        if (fd >= 0 && !has_proc(fd))
                close_quietly(&fd);
        return fd;
}

static bool make_name(char *name, size_t room)
{
        uint64_t random[2];

        if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
                return false;
        snprintf(name, room, ".seep-%016llx%08x.tmp", (unsigned long long)random[0],
                 (unsigned)random[1]);
        return true;
}

static int create_named(struct place *p)
{
        int fd = -1;

        for (unsigned i = 0; i < PLACE_TRIES && fd < 0; i++) {
                if (!make_name(p->temporary, sizeof p->temporary))
                        break;
                fd = openat(p->directory, p->temporary,
                            O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
                if (fd < 0 && errno != EEXIST)
                        break;
        }
        if (fd < 0)
                p->temporary[0] = 0;
        return fd;
}

/* The only answer that counts is to do it. */
bool place_takes_files(int directory)
{
        struct place p = { .directory = directory, .fd = -1, .device = -1 };
        char block[4096] = { 0 };
        void (*before)(int);
        bool good;
        int saved;

        p.fd = create_nameless(directory);
        if (p.fd < 0)
                p.fd = create_named(&p);
        if (p.fd < 0)
                return false;
        before = signal(SIGXFSZ, SIG_IGN); /* ulimit -f: an error to look at, not our end */
        good = io_write(p.fd, block, sizeof block);
        saved = errno;
        signal(SIGXFSZ, before);
        if (p.temporary[0])
                unlinkat(directory, p.temporary, 0);
        close(p.fd);
        errno = saved;
        return good;
}

bool place_lets_in(int directory)
{
        return faccessat(directory, ".", W_OK | X_OK, AT_EACCESS) == 0;
}

/* ---- who may be replaced ---- */

static bool sudo_user(uid_t *uid, gid_t *gid)
{
        const char *user = getenv("SUDO_UID"), *group = getenv("SUDO_GID");

        if (geteuid() != 0 || !user || !group)
                return false;
        *uid = (uid_t)strtoul(user, NULL, 10);
        *gid = (gid_t)strtoul(group, NULL, 10);
        return true;
}

void place_give(int fd)
{
        uid_t uid;
        gid_t gid;

        if (sudo_user(&uid, &gid) && fchown(fd, uid, gid) < 0)
                return; /* a file system without owners: readable all the same */
}

bool place_is_own(uid_t uid)
{
        uid_t user;
        gid_t group;

        return uid == geteuid() || (sudo_user(&user, &group) && uid == user);
}

static bool is_ours(const struct place *p, const struct stat *st)
{
        return st->st_uid == p->owner || place_is_own(st->st_uid);
}

/* Whether ST, which has the name, may go.  errno says why not. */
static bool may_replace(const struct place *p, const struct stat *st)
{
        bool good = S_ISREG(st->st_mode) &&
                    (p->rule == PLACE_NAMED || (p->rule == PLACE_OURS && is_ours(p, st)));

        if (!good)
                errno = S_ISDIR(st->st_mode) ? EISDIR : EEXIST;
        return good;
}

static bool look(const struct place *p, struct stat *st)
{
        return fstatat(p->directory, p->name, st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* ---- names ---- */

bool place_check(const struct place *p)
{
        struct stat st;

        if (!*p->name || strcmp(p->name, ".") == 0 || strcmp(p->name, "..") == 0) {
                errno = *p->path ? EISDIR : ENOENT;
                return false;
        }
        if (look(p, &st))
                return may_replace(p, &st);
        return errno == ENOENT;
}

static void start(struct place *p, const char *path, enum place_rule rule)
{
        *p = (struct place){ .rule = rule, .path = heap_text(path), .directory = -1, .device = -1,
                             .owner = (uid_t)-1, .fd = -1 };
}

bool place_at(struct place *p, int directory, const char *name, enum place_rule rule)
{
        start(p, name, rule);
        p->name = heap_text(name);
        errno = ENOENT; /* of no directory */
        p->directory = directory < 0 ? -1 : fcntl(directory, F_DUPFD_CLOEXEC, 0);
        return p->directory >= 0;
}

/* A pipe, a terminal, /dev/null: nothing there is lost by writing to it.  Held, but not opened yet:
 * that might wait for a reader. */
static int hold_device(const char *path)
{
        struct stat st;
        int fd = open(path, O_PATH | O_CLOEXEC);

        if (fd >= 0 && (fstat(fd, &st) != 0 || !(S_ISCHR(st.st_mode) || S_ISFIFO(st.st_mode))))
                close_quietly(&fd);
        return fd;
}

/* From now on what the user named is ours, and whose it is now; what comes later is
 * not what the user meant. */
static bool settle(struct place *p)
{
        struct stat st;

        if (p->rule != PLACE_NAMED)
                return true;
        p->rule = PLACE_OURS;
        if (look(p, &st))
                p->owner = st.st_uid;
        return true;
}

bool place_open(struct place *p, const char *path, enum place_rule rule)
{
        char *target, *folder;

        start(p, path, rule);
        target = place_resolve(path);
        if (!target)
                return false;
        p->device = rule != PLACE_OURS ? hold_device(path) : -1;
        if (rule != PLACE_NAMED) {
                free(target);
                target = heap_text(path);
        }
        if (p->device >= 0) {
                free(target);
                return true;
        }
        folder = folder_of(target);
        p->directory = place_folder(folder);
        p->name = heap_text(last_word(target));
        free(folder);
        free(target);
        return p->directory >= 0 && place_check(p) && settle(p);
}

bool place_refuse(const char *path, int exit_code, struct err *e)
{
        if (errno == EISDIR)
                return err_set(e, exit_code, "cannot write %s: it is a directory", path);
        if (errno == ELOOP)
                return err_set(e, exit_code,
                               "cannot write %s: it is a link that another user left in a shared "
                               "directory; give another name", path);
        if (errno == EEXIST)
                return err_set(e, exit_code, "%s exists already: -f replaces it", path);
        return err_sys(e, exit_code, "cannot write %s", path);
}

bool place_claim(struct place *p)
{
        int fd = openat(p->directory, p->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                        0666);
        struct stat st;

        if (fd < 0)
                return false;
        if (p->give)
                place_give(fd);
        if (fstat(fd, &st) == 0)
                p->owner = st.st_uid; /* a file system may have its own ideas */
        close(fd);
        if (p->rule == PLACE_NEW)
                p->rule = PLACE_OURS;
        return true;
}

void place_withdraw(struct place *p)
{
        struct stat st;
        int saved = errno;

        if (p->directory >= 0 && look(p, &st) && S_ISREG(st.st_mode) && st.st_size == 0 &&
            is_ours(p, &st))
                unlinkat(p->directory, p->name, 0);
        errno = saved;
}

/* ---- contents ---- */

static int reopen(int fd)
{
        char link[64];

        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        return open(link, O_WRONLY | O_NOCTTY | O_CLOEXEC);
}

/* The file that has the name, emptied: all that can be done where its directory takes no other. */
static int overwrite(struct place *p)
{
        int saved = errno,
            fd = openat(p->directory, p->name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        struct stat st;

        if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || ftruncate(fd, 0) != 0))
                close_quietly(&fd);
        if (fd < 0)
                errno = saved;
        else
                p->device = fcntl(fd, F_DUPFD_CLOEXEC, 0);
        return fd;
}

int place_begin(struct place *p)
{
        if (p->device >= 0) {
                p->fd = reopen(p->device);
                if (p->fd < 0 && errno == ENOENT) /* no /proc */
                        p->fd = open(p->path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
                return p->fd;
        }
        p->fd = create_nameless(p->directory);
        if (p->fd < 0)
                p->fd = create_named(p);
        if (p->fd < 0 && p->into)
                p->fd = overwrite(p);
        return p->fd;
}

int place_append(const struct place *p)
{
        if (p->device >= 0)
                return reopen(p->device);
        return openat(p->directory, p->name,
                      O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0666);
}

static bool copy(int from, int to)
{
        char *buffer = heap_zero(PLACE_STEP, 1);
        bool good = true;
        off_t at = 0;
        ssize_t n;

        while (good && (n = pread(from, buffer, PLACE_STEP, at)) != 0) {
                good = n > 0 ? io_write(to, buffer, (size_t)n) : errno == EINTR;
                at += n > 0 ? n : 0;
        }
        free(buffer);
        return good;
}

/* Link the nameless file as NAME, or (a file system that cannot do that) copy it to a
 * file with a name of its own. */
static bool link_as(const struct place *p, const char *name)
{
        char link[64];

        snprintf(link, sizeof link, "/proc/self/fd/%d", p->fd);
        return linkat(AT_FDCWD, link, p->directory, name, AT_SYMLINK_FOLLOW) == 0;
}

static bool give_temporary(struct place *p)
{
        int nameless = p->fd, fd;
        bool good;

        if (p->temporary[0])
                return true;
        if (make_name(p->temporary, sizeof p->temporary) && link_as(p, p->temporary))
                return true;
        fd = create_named(p);
        good = fd >= 0 && copy(nameless, fd);
        if (fd < 0)
                return false;
        close_quietly(&nameless);
        p->fd = fd;
        return good;
}

/* A file that only its owner could read stays one. */
static void keep_mode(int fd, const struct stat *old)
{
        if (old->st_uid == geteuid() && fchmod(fd, old->st_mode & 0777) < 0)
                return; /* a file system without modes */
}

static bool rename_over(struct place *p)
{
        if (!give_temporary(p) || renameat(p->directory, p->temporary, p->directory, p->name) != 0)
                return false;
        p->temporary[0] = 0;
        return true;
}

/* The name must be free.  A file with a temporary name cannot be linked everywhere, but any name
 * can be made sure of first. */
static bool name_new(struct place *p)
{
        int fd;

        if (!p->temporary[0]) {
                if (link_as(p, p->name))
                        return true;
                if (errno == EEXIST)
                        return false;
        }
        fd = openat(p->directory, p->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                    0666);
        if (fd < 0)
                return false;
        close(fd);
        if (rename_over(p))
                return true;
        place_withdraw(p);
        return false;
}

static bool is_flushed(int fd)
{
        return !fsync(fd) || errno == EINVAL || errno == EROFS || errno == ENOSYS;
}

/* The name itself survives a crash of the machine; a file system that cannot do that is no
 * error. */
static void sync_directory(const struct place *p)
{
        int fd = openat(p->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

        if (fd < 0)
                return;
        fsync(fd);
        close(fd);
}

/* Some file systems say only now that there is no room. */
static bool is_kept(int fd)
{
        int again = fcntl(fd, F_DUPFD_CLOEXEC, 0);

        return again < 0 || close(again) == 0;
}

static bool close_file(struct place *p)
{
        int fd = p->fd;

        p->fd = -1;
        return close(fd) == 0;
}

bool place_end(struct place *p)
{
        struct stat st;

        if (p->device >= 0)
                return close_file(p);
        if (!(p->durable ? is_flushed(p->fd) : is_kept(p->fd)))
                return false;
        if (p->owner == (uid_t)-1 && fstat(p->fd, &st) == 0)
                p->owner = st.st_uid; /* a file system may have its own ideas about that */
        if (p->give)
                place_give(p->fd);
        if (look(p, &st)) {
                if (!may_replace(p, &st))
                        return false;
                keep_mode(p->fd, &st);
                if (!rename_over(p))
                        return false;
        } else if (errno != ENOENT || !name_new(p)) {
                return false;
        }
        if (p->durable)
                sync_directory(p);
        return close_file(p);
}

void place_rename(struct place *p, const char *name)
{
        free(p->name);
        p->name = heap_text(name);
}

void place_close(struct place *p)
{
        int saved = errno;

        if (p->temporary[0])
                unlinkat(p->directory, p->temporary, 0);
        close_quietly(&p->fd);
        close_quietly(&p->device);
        close_quietly(&p->directory);
        free(p->name);
        free(p->path);
        *p = PLACE_NONE;
        errno = saved;
}
