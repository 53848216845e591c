/* SPDX-License-Identifier: MIT */
#include "remote/light.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/own_folder.h"
#include "remote/keeper.h"

#define LIGHT_END_MS 30000u

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
        static const struct own_folder_kind kind = { .place = "/tmp", .prefix = "seep-keeper-" };
        struct keeper_job job = { .link = l, .wishes = w, .folder = t->folder };
        bool light = false;

        *t = (struct light){ .keeper = WORKER_NONE, .lock = -1 };
        if (!is_light(l, &light, e))
                return false;
        if (!light)
                return true;
        t->lock = own_folder_make(&kind, t->folder, sizeof t->folder);
        if (t->lock < 0) {
                t->folder[0] = 0;
                return err_sys(e, ERR_EXIT_CANNOT_TRACE, "no directory can be made in /tmp");
        }
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
                own_folder_remove(t->folder);
        if (t->lock >= 0)
                close(t->lock);
        *t = (struct light){ .keeper = WORKER_NONE, .lock = -1 };
}
