/* SPDX-License-Identifier: MIT */
#include "session/carrier.h"

#include "wire/hello.h"

const struct carrier carrier_preload = { .engine = "preload", .options = "", .child = true };

const struct carrier carrier_breakpoint = {
        .engine = "breakpoint",
        .options = "",
        .child = true,
        .breakpoints = true,
};

const struct carrier carrier_injected = { .engine = "inject", .options = "", .leaves = true };

const struct carrier carrier_continued = { .engine = "preload", .options = "" };

const struct carrier carrier_launched = {
        .engine = "inject", .options = "", .child = true, .leaves = true
};

const struct carrier carrier_plain_preload = {
        .engine = "preload",
        .options = "SEEP_OPTIONS=",
        .flags = WIRE_F_ATTENDED,
        .one_program = true,
        .last_report = true,
        .borrowed = true,
};
