/* SPDX-License-Identifier: MIT */
/* bridge.h -- standard input and output connected to a socket: `seep serve --stdio`, for ssh. */
#ifndef SEEP_REMOTE_BRIDGE_H
#define SEEP_REMOTE_BRIDGE_H

#include <stdbool.h>

#include "base/err.h"

/* Until either side ends; what is on its way then is still handed over. */
bool bridge_run(const char *address, struct err *e);

#endif
