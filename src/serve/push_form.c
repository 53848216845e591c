/* SPDX-License-Identifier: MIT */
#include "serve/push_form.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"

/* sample type of the pprof, unit, how the server joins several: what was allocated adds up, what is in use does not */
#define FORM_TYPES(X)                                                   \
        X("alloc_objects", "objects", "sum")                            \
        X("alloc_space", "bytes", "sum")                                \
        X("inuse_objects", "objects", "average")                        \
        X("inuse_space", "bytes", "average")

/* Nothing is cumulative: allocations are those of the interval.  Nothing is to be scaled by a sample rate. */
#define FORM_TYPE(name, unit, aggregation)                                                                          \
        ",\"" name "\":{\"units\":\"" unit "\",\"aggregation\":\"" aggregation "\",\"display-name\":\"" name        \
        "\",\"sampled\":false,\"cumulative\":false}"

static const char form_config[] = FORM_TYPES(FORM_TYPE);

#define FORM_BOUNDARY_ROOM 48

/* Something that does not stand in PROFILE. */
static void choose_boundary(const struct str *profile, char out[FORM_BOUNDARY_ROOM])
{
        uint64_t random[2] = { clock_now_ns(), 0 };

        do {
                if (getrandom(random, sizeof random, 0) < 0)
                        random[1]++; /* any other will do: it need not be a secret */
                snprintf(out, FORM_BOUNDARY_ROOM, "seep-%016" PRIx64 "%016" PRIx64, random[0], random[1]);
        } while (profile->length && memmem(profile->data, profile->length, out, strlen(out)));
}

static void begin_part(struct str *out, const char *boundary, const char *name, const char *file, const char *type)
{
        str_format(out, "--%s\r\nContent-Disposition: form-data; name=\"%s\"; filename=\"%s\"\r\nContent-Type: %s\r\n\r\n", boundary, name,
                   file, type);
}

void push_form(const struct str *profile, struct str *body, struct str *type)
{
        char boundary[FORM_BOUNDARY_ROOM];

        choose_boundary(profile, boundary);
        begin_part(body, boundary, "profile", "profile.pprof", "application/octet-stream");
        str_bytes(body, str_get(profile), profile->length);
        str_text(body, "\r\n");
        begin_part(body, boundary, "sample_type_config", "sample_type_config.json", "application/json");
        str_format(body, "{%s}\r\n--%s--\r\n", form_config + 1, boundary);
        str_format(type, "multipart/form-data; boundary=%s", boundary);
}
