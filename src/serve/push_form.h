/* SPDX-License-Identifier: MIT */
/*
 * push_form.h -- a profile as the form that Pyroscope's /ingest takes: multipart/form-data (RFC 7578).
 *
 * Room:   outside, serve/ only.
 */
#ifndef SEEP_SERVE_PUSH_FORM_H
#define SEEP_SERVE_PUSH_FORM_H

#include "base/str.h"

/* Append the form with PROFILE (pprof, packed) to BODY, and the value of its Content-Type to TYPE. */
void push_form(const struct str *profile, struct str *body, struct str *type);

#endif
