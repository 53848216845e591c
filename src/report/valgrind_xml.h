/* SPDX-License-Identifier: MIT */
/*
 * valgrind_xml.h -- leaks and wrong releases as `valgrind --xml=yes` writes them (protocol 4), for the many plug-ins that read it.
 *
 * Room:   outside.
 */
#ifndef SEEP_REPORT_VALGRIND_XML_H
#define SEEP_REPORT_VALGRIND_XML_H

#include "base/str.h"
#include "report/findings.h"

/* How each such file begins. */
#define VALGRIND_XML_HEAD "<?xml version=\"1.0\"?>\n\n<!-- written by seep -->\n<valgrindoutput>\n"

/* Append the file.  Of several processes the first heads it, and what all of them have follows.  What the baseline knows is counted as
 * suppressed. */
void valgrind_xml_write(const struct findings *f, struct str *out);

#endif
