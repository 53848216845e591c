/* SPDX-License-Identifier: MIT */
/*
 * test_listener.c -- those who knock at the session's door: agents, strangers, and the dead.
 */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "session/listener.h"
#include "specimen.h"
#include "tap.h"

static int count_descriptors(void)
{
        DIR *all = opendir("/proc/self/fd");
        int count = 0;

        while (all && readdir(all))
                count++;
        closedir(all);
        return count;
}

static int knock(const struct listener *g)
{
        struct sockaddr_un address = { .sun_family = AF_UNIX };
        int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

        memcpy(address.sun_path, g->path, sizeof address.sun_path);
        is_true(connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
        return fd;
}

/* Send BYTES with COUNT copies of the descriptor LEDGER. */
static void speak(int fd, const void *bytes, size_t size, int ledger, int count)
{
        _Alignas(struct cmsghdr) char control[CMSG_SPACE(8 * sizeof(int))] = { 0 };
        struct iovec part = { (void *)bytes, size };
        struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };

        if (count) {
                struct cmsghdr *c = (struct cmsghdr *)control;

                m.msg_control = control;
                m.msg_controllen = CMSG_SPACE((size_t)count * sizeof(int));
                c->cmsg_level = SOL_SOCKET;
                c->cmsg_type = SCM_RIGHTS;
                c->cmsg_len = CMSG_LEN((size_t)count * sizeof(int));
                for (int i = 0; i < count; i++)
                        memcpy(CMSG_DATA(c) + (size_t)i * sizeof(int), &ledger, sizeof(int));
        }
        is_equal(sendmsg(fd, &m, 0), size);
}

static const struct wire_hello good = { WIRE_HELLO_MAGIC, LEDGER_VERSION, WIRE_HELLO_START, 1, 2 };

static enum listener_answer hear(const struct listener *g, struct greeting *out, struct err *e)
{
        int fd = listener_accept(g->fd);
        enum listener_answer answer;

        is_true(fd >= 0);
        *out = (struct greeting){ .pidfd = -1 };
        *e = (struct err){ 0 };
        answer = listener_receive(fd, out, e);
        close(fd);
        return answer;
}

TEST(an_agent_is_known_by_the_kernels_word)
{
        struct listener g;
        struct greeting in;
        struct specimen s;
        struct err e = { 0 };
        struct pollfd alive;
        int fd;

        specimen_open(&s);
        is_true(listener_open(&g, getuid(), false, &e));
        is_equal(listener_accept(g.fd), -1);
        fd = knock(&g);
        speak(fd, &good, sizeof good, s.fd, 1);
        is_equal(hear(&g, &in, &e), LISTENER_COME);
        is_equal(in.pid, getpid());
        alive = (struct pollfd){ .fd = in.pidfd, .events = POLLIN };
        is_true(in.pidfd >= 0 && poll(&alive, 1, 0) == 0);
        is_equal(in.view.head.version, LEDGER_VERSION);
        view_close(&in.view);
        close(in.pidfd);
        close(fd);
        listener_close(&g);
        specimen_close(&s);
}

TEST(strangers_leave_neither_trust_nor_descriptors_behind)
{
        struct listener g;
        struct greeting in;
        struct specimen s;
        struct err e = { 0 };
        struct wire_hello wrong = good;
        int fd, before;

        specimen_open(&s);
        wrong.magic++;
        is_true(listener_open(&g, getuid(), false, &e));
        fd = knock(&g);
        before = count_descriptors();
        speak(fd, &wrong, sizeof wrong, s.fd, 1);
        is_equal(hear(&g, &in, &e), LISTENER_WRONG);
        is_true(e.text[0]);
        close(fd);
        fd = knock(&g);
        speak(fd, &good, 5, s.fd, 3);
        is_equal(hear(&g, &in, &e), LISTENER_WRONG);
        close(fd);
        fd = knock(&g);
        speak(fd, &good, sizeof good, -1, 0);
        is_equal(hear(&g, &in, &e), LISTENER_WRONG);
        close(fd);
        fd = knock(&g);
        speak(fd, &good, sizeof good, g.fd, 1); /* a descriptor, but no file */
        is_equal(hear(&g, &in, &e), LISTENER_WRONG);
        is_equal(count_descriptors(), before);
        close(fd);
        listener_close(&g);
        specimen_close(&s);
}

TEST(more_descriptors_than_one_are_closed)
{
        struct listener g;
        struct greeting in;
        struct specimen s;
        struct err e = { 0 };
        int fd, before;

        specimen_open(&s);
        is_true(listener_open(&g, getuid(), false, &e));
        fd = knock(&g);
        before = count_descriptors();
        speak(fd, &good, sizeof good, s.fd, 4);
        is_equal(hear(&g, &in, &e), LISTENER_COME);
        is_equal(count_descriptors(), before + 2); /* the ledger and the pidfd */
        view_close(&in.view);
        close(in.pidfd);
        close(fd);
        listener_close(&g);
        specimen_close(&s);
}

TEST(one_who_does_not_speak_is_heard_later_and_one_who_died_needs_no_word)
{
        struct listener g;
        struct greeting in = { .pidfd = -1 };
        struct err e = { 0 };
        int fd, mine;

        is_true(listener_open(&g, getuid(), false, &e));
        mine = knock(&g);
        fd = listener_accept(g.fd);
        is_equal(listener_receive(fd, &in, &e), LISTENER_LATER);
        close(mine);
        is_equal(listener_receive(fd, &in, &e), LISTENER_WRONG);
        is_text(e.text, "");
        close(fd);
        listener_close(&g);
}

/* What is heard when someone says BYTES. */
static enum listener_answer said(const struct listener *g, const void *bytes, size_t size,
                                 int ledger, struct greeting *in)
{
        struct err e;
        enum listener_answer answer;
        int fd = knock(g);

        speak(fd, bytes, size, ledger, ledger >= 0);
        answer = hear(g, in, &e);
        close(fd);
        return answer;
}

TEST(knocks_and_requests_are_told_apart_by_kind_and_size)
{
        struct wire_knock k = { WIRE_KNOCK_MAGIC, 1, 0 };
        struct wire_request r = { .magic = WIRE_REQUEST_MAGIC,
                                  .type = WIRE_REQUEST_SNAPSHOT,
                                  .pid = 7,
                                  .label = "here" };
        struct listener g;
        struct greeting in;
        struct err e = { 0 };

        is_true(listener_open(&g, getuid(), false, &e));
        is_equal(said(&g, &k, sizeof k, -1, &in), LISTENER_KNOCKED);
        is_equal(in.pid, getpid());
        is_equal(said(&g, &r, sizeof r, -1, &in), LISTENER_ASKED);
        is_equal(in.uid, getuid());
        is_equal(in.request.pid, 7);
        is_text(in.request.label, "here");
        is_equal(said(&g, &k, sizeof k - 1, -1, &in), LISTENER_WRONG);
        is_equal(said(&g, &r, sizeof r - 1, -1, &in), LISTENER_WRONG);
        is_equal(said(&g, &r, sizeof k, -1, &in), LISTENER_WRONG);
        is_equal(said(&g, &good, sizeof good, -1, &in), LISTENER_WRONG);
        listener_close(&g);
}

TEST(a_request_of_hostile_bytes_is_harmless)
{
        struct {
                struct wire_request r;
                char more[64];
        } big = { .r = { .magic = WIRE_REQUEST_MAGIC } };
        struct listener g;
        struct greeting in;
        struct specimen s;
        struct err e = { 0 };
        int before;

        specimen_open(&s);
        is_true(listener_open(&g, getuid(), false, &e));
        before = count_descriptors();
        memset(big.r.label, 'x', sizeof big.r.label);
        /* the descriptor is not for us */
        is_equal(said(&g, &big, sizeof big.r, s.fd, &in), LISTENER_ASKED);
        is_equal(strlen(in.request.label), WIRE_LABEL_MAX - 1);
        is_equal(said(&g, &big, sizeof big, -1, &in), LISTENER_WRONG);
        is_equal(said(&g, "", 0, s.fd, &in), LISTENER_WRONG);
        is_equal(count_descriptors(), before);
        listener_close(&g);
        specimen_close(&s);
}

TEST(nothing_is_left_after_closing)
{
        struct listener g;
        struct err e = { 0 };
        char directory[sizeof g.directory];
        struct stat st;

        is_true(listener_open(&g, getuid(), false, &e));
        memcpy(directory, g.directory, sizeof directory);
        is_true(stat(directory, &st) == 0 && (st.st_mode & 0066) == 0);
        is_true(listener_alias(&g, "/proc/self/exe", &e));
        is_true(stat(g.alias, &st) == 0);
        listener_close(&g);
        is_true(stat(directory, &st) < 0);
}

/* Of two old directories only the one whose socket refuses is swept away. */
TEST(a_longer_session_tidies_up_after_one_that_was_killed)
{
        const struct timespec old[2] = { { 1000000000, 0 }, { 1000000000, 0 } };
        struct listener killed, living, next;
        struct err e = { 0 };
        struct stat st;
        char place[] = "/tmp/seep-listener-XXXXXX";

        is_true(mkdtemp(place) != NULL);
        setenv("XDG_RUNTIME_DIR", place, 1);
        is_true(listener_open(&killed, getuid(), false, &e) &&
                listener_open(&living, getuid(), false, &e));
        close(killed.fd);
        is_true(utimensat(AT_FDCWD, killed.directory, old, 0) == 0 &&
                utimensat(AT_FDCWD, living.directory, old, 0) == 0);
        is_true(listener_open(&next, getuid(), false, &e));
        is_true(stat(killed.path, &st) == 0);
        listener_tidy(&next);
        is_true(stat(killed.directory, &st) < 0);
        is_true(stat(living.path, &st) == 0);
        listener_close(&next);
        listener_close(&living);
        is_true(rmdir(place) == 0);
        unsetenv("XDG_RUNTIME_DIR");
}

TAP_MAIN(an_agent_is_known_by_the_kernels_word,
         strangers_leave_neither_trust_nor_descriptors_behind, more_descriptors_than_one_are_closed,
         one_who_does_not_speak_is_heard_later_and_one_who_died_needs_no_word,
         knocks_and_requests_are_told_apart_by_kind_and_size,
         a_request_of_hostile_bytes_is_harmless, nothing_is_left_after_closing,
         a_longer_session_tidies_up_after_one_that_was_killed)
