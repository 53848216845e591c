/* SPDX-License-Identifier: MIT */
#include "serve/push_http.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/heap.h"

#define HTTP_CONNECT_MS 5000l
#define HTTP_WHOLE_MS 15000l
#define HTTP_AGAIN_MAX_S 300u

/* What we call of the library. */
#define HTTP_CALLS(X)                                                                   \
        X(CURLcode, global_init, (long))                                                \
        X(CURL *, easy_init, (void))                                                    \
        X(void, easy_cleanup, (CURL *))                                                 \
        X(CURLcode, easy_setopt_, (CURL *, CURLoption, ...))                            \
        X(CURLcode, easy_getinfo_, (CURL *, CURLINFO, ...))                             \
        X(const char *, easy_strerror, (CURLcode))                                      \
        X(CURLM *, multi_init, (void))                                                  \
        X(CURLMcode, multi_cleanup, (CURLM *))                                          \
        X(CURLMcode, multi_add_handle, (CURLM *, CURL *))                               \
        X(CURLMcode, multi_remove_handle, (CURLM *, CURL *))                            \
        X(CURLMcode, multi_perform, (CURLM *, int *))                                   \
        X(CURLMcode, multi_poll, (CURLM *, struct curl_waitfd *, unsigned, int, int *)) \
        X(CURLMsg *, multi_info_read, (CURLM *, int *))                                 \
        X(struct curl_slist *, slist_append, (struct curl_slist *, const char *))       \
        X(void, slist_free_all, (struct curl_slist *))

#define HTTP_MEMBER(type, name, arguments) type(*name) arguments;
static struct {
        HTTP_CALLS(HTTP_MEMBER)
} curl;
#undef HTTP_MEMBER

struct push_http {
        CURLM *multi;
        CURL *easy; /* the request; NULL none */
        struct curl_slist *headers;
        struct push_result result;
        size_t said; /* of result.why */
};

/* ---- the library ---- */

/* Members whose name the header has as a macro end in '_'. */
static void *find(void *library, const char *name)
{
        char symbol[64];
        size_t length = (size_t)snprintf(symbol, sizeof symbol, "curl_%s", name);

        if (symbol[length - 1] == '_')
                symbol[length - 1] = 0;
        return dlsym(library, symbol);
}

static bool load(struct err *e)
{
        static const char *const names[] = { "libcurl.so.4", "libcurl-gnutls.so.4" };
        void *library = NULL;
        bool good;

        for (size_t i = 0; i < sizeof names / sizeof *names && !library; i++)
                library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        good = library != NULL;
#define HTTP_LOAD(type, name, arguments)                        \
        if (good)                                               \
                *(void **)&curl.name = find(library, #name);    \
        good = good && curl.name;
        HTTP_CALLS(HTTP_LOAD)
#undef HTTP_LOAD
        if (good && curl.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK)
                return true;
        return err_set(
                e, ERR_EXIT_CANNOT_TRACE,
                library ? "cannot push: the libcurl on this machine is too old (7.66 is needed)"
                        : "cannot push: libcurl is not installed (Debian: libcurl4 or "
                          "libcurl3-gnutls, Fedora: libcurl)");
}

struct push_http *push_http_new(struct err *e)
{
        struct push_http *h;

        if (!load(e))
                return NULL;
        h = heap_zero(1, sizeof *h);
        h->multi = curl.multi_init();
        return h;
}

static void end_request(struct push_http *h)
{
        if (!h->easy)
                return;
        curl.multi_remove_handle(h->multi, h->easy);
        curl.easy_cleanup(h->easy);
        curl.slist_free_all(h->headers);
        h->easy = NULL;
        h->headers = NULL;
}

void push_http_free(struct push_http *h)
{
        end_request(h);
        curl.multi_cleanup(h->multi);
        free(h);
}

/* ---- a request ---- */

/* The begin of the answer, as one line of plain text. */
static size_t take_answer(char *data, size_t size, size_t count, void *context)
{
        struct push_http *h = context;

        for (size_t i = 0; i < size * count && h->said + 1 < sizeof h->result.why; i++) {
                bool plain = data[i] > ' ' && data[i] < 127;

                if (plain || (h->said && h->result.why[h->said - 1] != ' '))
                        h->result.why[h->said++] = plain ? data[i] : ' ';
        }
        return size * count;
}

static void set_options(struct push_http *h, const char *url, const struct str *body)
{
        curl.easy_setopt_(h->easy, CURLOPT_URL, url);
        curl.easy_setopt_(h->easy, CURLOPT_POSTFIELDS, str_get(body));
        curl.easy_setopt_(h->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->length);
        curl.easy_setopt_(h->easy, CURLOPT_HTTPHEADER, h->headers);
        curl.easy_setopt_(h->easy, CURLOPT_USERAGENT, "seep/" SEEP_VERSION);
        curl.easy_setopt_(h->easy, CURLOPT_CONNECTTIMEOUT_MS, HTTP_CONNECT_MS);
        curl.easy_setopt_(h->easy, CURLOPT_TIMEOUT_MS, HTTP_WHOLE_MS);
        curl.easy_setopt_(h->easy, CURLOPT_NOSIGNAL, 1l);
        curl.easy_setopt_(h->easy, CURLOPT_WRITEFUNCTION, take_answer);
        curl.easy_setopt_(h->easy, CURLOPT_WRITEDATA, h);
}

void push_http_start(struct push_http *h, const char *url, const char *type, const struct str *body)
{
        struct str header = { 0 };

        str_format(&header, "Content-Type: %s", type);
        h->result = (struct push_result){ 0 };
        h->said = 0;
        h->easy = curl.easy_init();
        /* No question before the body. */
        h->headers = curl.slist_append(curl.slist_append(NULL, str_get(&header)), "Expect:");
        set_options(h, url, body);
        curl.multi_add_handle(h->multi, h->easy);
        str_free(&header);
}

bool push_http_is_busy(const struct push_http *h)
{
        return h->easy != NULL;
}

bool push_http_wait(struct push_http *h, int fd, uint64_t patience_ms)
{
        struct curl_waitfd also = { .fd = fd, .events = CURL_WAIT_POLLIN };
        int running, ready = 0;

        curl.multi_perform(h->multi, &running);
        if (h->easy && !running)
                patience_ms = 0; /* it is over already */
        curl.multi_poll(h->multi, &also, fd >= 0,
                        patience_ms > INT32_MAX ? INT32_MAX : (int)patience_ms, &ready);
        curl.multi_perform(h->multi, &running);
        return also.revents != 0;
}

bool push_http_end(struct push_http *h, struct push_result *r)
{
        CURLMsg *message;
        curl_off_t again_s = 0;
        int left;

        while ((message = curl.multi_info_read(h->multi, &left)))
                if (message->msg == CURLMSG_DONE) {
                        if (message->data.result == CURLE_OK)
                                curl.easy_getinfo_(h->easy, CURLINFO_RESPONSE_CODE,
                                                   &h->result.status);
                        else
                                snprintf(h->result.why, sizeof h->result.why, "%s",
                                         curl.easy_strerror(message->data.result));
                        curl.easy_getinfo_(h->easy, CURLINFO_RETRY_AFTER, &again_s);
                        h->result.again_s = again_s < 0                  ? 0
                                            : again_s > HTTP_AGAIN_MAX_S ? HTTP_AGAIN_MAX_S
                                                                         : (uint64_t)again_s;
                        *r = h->result;
                        end_request(h);
                        return true;
                }
        return false;
}
