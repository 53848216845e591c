/* SPDX-License-Identifier: MIT */
/*
 * leak_server.c -- a server with eight workers and sessions in a hash table, and a client that
 * keeps it busy.
 *
 * Room:   tests only.
 * Keeps:  everything it has is reachable at every moment, but for what "leak" loses.  No call of it
 *         may ever fail, EINTR included; no signal, no child may come.
 *
 * Usage:  leak_server serve          tells its port on stdout, serves until the end of its input,
 *         then tells what went wrong leak_server load PORT N    N connections at work until the end
 *         of its input, then the number of answers Requests, a line each: set KEY VALUE, get KEY,
 *         del KEY, turn TEXT, leak BYTES.
 */
#include "leak.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#define WORKERS 8
#define BUCKETS 256
#define LINE 4096

static unsigned failed, interrupted, answered;

static void count(unsigned *what)
{
        __atomic_add_fetch(what, 1, __ATOMIC_SEQ_CST);
}

/* A call that must not fail. */
static long good(long result, const char *what)
{
        if (result >= 0)
                return result;
        if (errno == EINTR)
                count(&interrupted);
        else
                count(&failed);
        tell("%s: %s\n", what, strerror(errno));
        return result;
}

/* ---- sessions ---- */

struct session {
        struct session *next;
        char *key, *value;
};

static struct bucket {
        pthread_mutex_t lock;
        struct session *first;
} buckets[BUCKETS];

static struct bucket *bucket_of(const char *key)
{
        unsigned hash = 5381;
        while (*key)
                hash = hash * 33 + (unsigned char)*key++;
        return &buckets[hash % BUCKETS];
}

static struct session **find(struct bucket *b, const char *key)
{
        struct session **at = &b->first;
        while (*at && strcmp((*at)->key, key))
                at = &(*at)->next;
        return at;
}

LEAK_ALONE static struct session *new_session(const char *key)
{
        struct session *s = calloc(1, sizeof *s);
        s->key = strdup(key);
        return s;
}

static void set(struct bucket *b, const char *key, const char *value)
{
        struct session **at = find(b, key), *s = *at;
        if (!s)
                *at = s = new_session(key);
        free(s->value);
        s->value = strdup(value);
}

static void delete(struct bucket *b, const char *key)
{
        struct session **at = find(b, key), *s = *at;
        if (!s)
                return;
        *at = s->next;
        free(s->key);
        free(s->value);
        free(s);
}

/* ---- requests ---- */

LEAK_ALONE static void leaked_block(size_t size)
{
        void *p = malloc(size);
        LEAK_ESCAPE(p);
}

LEAK_ALONE static char *turned(const char *text)
{
        size_t n = strlen(text);
        char *copy = malloc(n + 1), *grown;
        for (size_t i = 0; i < n; i++)
                copy[i] = text[n - 1 - i];
        copy[n] = 0;
        grown = realloc(copy, 2 * n + 2);
        memcpy(grown + n, text, n + 1);
        return grown;
}

/* The answer is a block of its own. */
static char *answer(char *line)
{
        char *rest, *word = strtok_r(line, " ", &rest), *key = strtok_r(NULL, " ", &rest),
                    *result = NULL;
        struct bucket *b = key ? bucket_of(key) : NULL;
        if (!word || !b)
                return strdup("error");
        if (!strcmp(word, "turn"))
                return turned(key);
        pthread_mutex_lock(&b->lock);
        if (!strcmp(word, "set"))
                set(b, key, rest);
        else if (!strcmp(word, "del"))
                delete(b, key);
        else if (!strcmp(word, "leak"))
                leaked_block((size_t)atol(key)), leak_wipe();
        else if (!strcmp(word, "get") && *find(b, key))
                result = strdup((*find(b, key))->value);
        pthread_mutex_unlock(&b->lock);
        return result ? result : strdup("ok");
}

static void send_line(int fd, const char *text)
{
        size_t n = strlen(text);
        char *copy = malloc(n + 2);
        memcpy(copy, text, n);
        copy[n] = '\n';
        if (good(send(fd, copy, n + 1, MSG_NOSIGNAL), "send") != (long)n + 1)
                count(&failed);
        free(copy);
}

struct connection {
        int fd;
        size_t used;
        char *buffer;
};

/* false: the other side has closed. */
static int serve_some(struct connection *c)
{
        char *end;
        long n = good(recv(c->fd, c->buffer + c->used, LINE - c->used - 1, 0), "recv");
        if (n <= 0)
                return 0;
        c->used += (size_t)n;
        c->buffer[c->used] = 0;
        while ((end = strchr(c->buffer, '\n'))) {
                char *text;
                *end = 0;
                text = answer(c->buffer);
                send_line(c->fd, text);
                free(text);
                c->used -= (size_t)(end + 1 - c->buffer);
                memmove(c->buffer, end + 1, c->used + 1);
        }
        return 1;
}

/* ---- workers: each takes connections from the queue ---- */

struct job {
        struct job *next;
        struct connection *connection;
};

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_change = PTHREAD_COND_INITIALIZER;
static struct job *queue;

static void put(struct connection *c)
{
        struct job *j = malloc(sizeof *j);
        j->connection = c;
        pthread_mutex_lock(&queue_lock);
        j->next = queue;
        queue = j;
        pthread_cond_signal(&queue_change);
        pthread_mutex_unlock(&queue_lock);
}

static struct connection *take(void)
{
        struct connection *c;
        struct job *j;
        pthread_mutex_lock(&queue_lock);
        while (!queue)
                pthread_cond_wait(&queue_change, &queue_lock);
        j = queue;
        queue = j->next;
        pthread_mutex_unlock(&queue_lock);
        c = j->connection;
        free(j);
        return c;
}

static void *work(void *arg)
{
        (void)arg;
        for (;;) {
                struct connection *c = take();
                while (serve_some(c))
                        ;
                close(c->fd);
                free(c->buffer);
                free(c);
        }
        return NULL;
}

/* ---- calls that end with EINTR when a thread is stopped without care ---- */

static void *sleeps(void *arg)
{
        struct timespec t = {.tv_nsec = 3000000};
        (void)arg;
        for (;;)
                good(nanosleep(&t, NULL), "nanosleep");
        return NULL;
}

static void *polls(void *arg)
{
        int set = epoll_create1(0);
        struct epoll_event event;
        (void)arg;
        for (;;) {
                good(epoll_wait(set, &event, 1, 4), "epoll_wait");
                good(poll(NULL, 0, 2), "poll");
        }
        return NULL;
}

static void *waits(void *arg)
{
        struct timespec t = {.tv_nsec = 3000000};
        struct timeval limit = {.tv_usec = 3000};
        int ends[2];
        char byte;
        sigset_t none;
        (void)arg;
        sigemptyset(&none);
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) ||
            setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit))
                truth_die("leak_server: no pair of sockets\n");
        for (;;) {
                if (waitpid(-1, NULL, WNOHANG | __WALL) != -1 || errno != ECHILD)
                        good(-1, "a child that nobody made");
                if (recv(ends[0], &byte, 1, 0) < 0 && errno != EAGAIN)
                        good(-1, "recv with a limit");
                if (sigtimedwait(&none, NULL, &t) < 0 && errno != EAGAIN)
                        good(-1, "sigtimedwait");
        }
        return NULL;
}

static void unwanted(int sig)
{
        (void)sig;
        count(&failed);
}

/* ---- the main thread ---- */

static int listener(int *port)
{
        struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
        socklen_t n = sizeof a;
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        if (fd < 0 || bind(fd, (struct sockaddr *)&a, n) || listen(fd, 64) ||
            getsockname(fd, (struct sockaddr *)&a, &n))
                truth_die("leak_server: no socket\n");
        *port = ntohs(a.sin_port);
        return fd;
}

static void welcome(int fd)
{
        struct connection *c = calloc(1, sizeof *c);
        int one = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        c->fd = fd;
        c->buffer = calloc(1, LINE);
        put(c);
}

static void start(void *(*body)(void *))
{
        pthread_t t;
        if (pthread_create(&t, NULL, body, NULL))
                truth_die("leak_server: no thread\n");
}

static int serve(void)
{
        void *(*const others[])(void *) = {sleeps, polls, waits};
        const int signals[] = {SIGCHLD, SIGCONT, SIGTRAP, SIGUSR2, SIGURG};
        struct pollfd ends[2] = {{.fd = 0, .events = POLLIN}, {.events = POLLIN}};
        int port;
        for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
                signal(signals[i], unwanted);
        ends[1].fd = listener(&port);
        for (size_t i = 0; i < BUCKETS; i++)
                pthread_mutex_init(&buckets[i].lock, NULL);
        for (int i = 0; i < WORKERS; i++)
                start(work);
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
                start(others[i]);
        tell("port %d\n", port);
        while (good(poll(ends, 2, -1), "poll") < 0 || !ends[0].revents)
                if (ends[1].revents)
                        welcome((int)good(accept(ends[1].fd, NULL, NULL), "accept"));
        tell("failed %u interrupted %u\n", failed, interrupted);
        return 0;
}

/* ---- the client ---- */

static volatile int done;
static int load_port;

static int connected(int port)
{
        struct sockaddr_in a = { .sin_family = AF_INET,
                                 .sin_port = htons((uint16_t)port),
                                 .sin_addr = { htonl(INADDR_LOOPBACK) } };
        int one = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
        if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof a))
                truth_die("leak_server: not connected\n");
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        return fd;
}

/* One request; WANTED is the answer, whole. */
static void ask(int fd, const char *line, const char *wanted)
{
        char got[LINE];
        size_t n = 0;
        if (send(fd, line, strlen(line), MSG_NOSIGNAL) != (ssize_t)strlen(line))
                count(&failed);
        while (n < sizeof got - 1 && (!n || got[n - 1] != '\n')) {
                ssize_t more = recv(fd, got + n, sizeof got - 1 - n, 0);
                if (more <= 0)
                        break;
                n += (size_t)more;
        }
        got[n] = 0;
        count(strcmp(got, wanted) ? &failed : &answered);
}

static void *asks(void *arg)
{
        char line[LINE], wanted[LINE];
        long self = (long)arg;
        for (unsigned i = 0; !done; i++) {
                int fd = connected(load_port);
                for (unsigned k = 0; k < 50 && !done; k++) {
                        snprintf(wanted, sizeof wanted, "value-%u-%0*u\n", i, (int)(k * 7 % 300),
                                 k);
                        snprintf(line, sizeof line, "set %ld-%u %.400s", self, k, wanted);
                        ask(fd, line, "ok\n");
                        snprintf(line, sizeof line, "get %ld-%u\n", self, k);
                        ask(fd, line, wanted);
                        ask(fd, "turn abcdefghijklmnopq\n", "qponmlkjihgfedcbaabcdefghijklmnopq\n");
                        if (k % 3 == 0) {
                                snprintf(line, sizeof line, "del %ld-%u\n", self, k);
                                ask(fd, line, "ok\n");
                        }
                }
                close(fd);
        }
        return NULL;
}

static int load(int port, int connections)
{
        pthread_t t[64];
        char c;
        load_port = port;
        for (long i = 0; i < connections; i++)
                if (pthread_create(&t[i], NULL, asks, (void *)i))
                        truth_die("leak_server: no thread\n");
        while (read(0, &c, 1) > 0)
                ;
        done = 1;
        for (int i = 0; i < connections; i++)
                pthread_join(t[i], NULL);
        tell("answered %u failed %u\n", answered, failed);
        return 0;
}

int main(int argc, char **argv)
{
        if (argc > 1 && !strcmp(argv[1], "serve"))
                return serve();
        if (argc > 3 && !strcmp(argv[1], "load"))
                return load(atoi(argv[2]), atoi(argv[3]));
        return 2;
}
