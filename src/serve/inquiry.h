/* SPDX-License-Identifier: MIT */
/*
 * inquiry.h -- what a served page can request besides its data: a leak search, a snapshot, SQL,
 * why.
 *
 * Room:   outside, serve/ only.  In the process of producer.c.
 * Keeps:  SQL and why are our own commands, run for the page, so that they have one home and their
 *         own bounds: SQL only reads.  They end after a minute of work.
 */
#ifndef SEEP_SERVE_INQUIRY_H
#define SEEP_SERVE_INQUIRY_H

#include <stdbool.h>

#include "base/err.h"
#include "base/str.h"
#include "serve/request.h"
#include "serve/served.h"

/* Have the process searched now; append the data of the page with what was found. */
bool inquiry_search(struct served *x, struct request_text query, struct str *out, struct err *e);

/* label=TEXT: have a snapshot taken; append {"seq", "live_bytes", "report"}. */
bool inquiry_snapshot(struct served *x, struct request_text query, struct str *out, struct err *e);

/* query=SQL: append what `seep sql --json` says. */
bool inquiry_sql(struct served *x, struct request_text query, struct str *out, struct err *e);

/* what=ADDRESS|#SITE|FUNCTION|FILE:LINE: append {"text"}, what `seep why` says. */
bool inquiry_why(struct served *x, struct request_text query, struct str *out, struct err *e);

#endif
