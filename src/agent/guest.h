/* SPDX-License-Identifier: MIT */
/*
 * guest.h -- include last: past this line the names a guest must not use do not compile.
 *
 * Room:   inside.
 */
#ifndef SEEP_AGENT_GUEST_H
#define SEEP_AGENT_GUEST_H

#pragma GCC poison malloc calloc realloc free strdup alloca
#pragma GCC poison printf fprintf snprintf fopen abort exit assert errno dlsym
#pragma GCC poison pthread_mutex_lock pthread_key_create pthread_once

#endif
