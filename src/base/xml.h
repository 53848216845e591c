/* SPDX-License-Identifier: MIT */
/* xml.h -- text inside XML. */
#ifndef SEEP_BASE_XML_H
#define SEEP_BASE_XML_H

#include <stdint.h>

#include "base/str.h"

/* Append TEXT inside an element.  What XML cannot hold (control characters, no UTF-8) becomes
 * U+FFFD. */
void xml_text(struct str *out, const char *text);

/* Append ' NAME="TEXT"'. */
void xml_attribute(struct str *out, const char *name, const char *text);
void xml_number(struct str *out, const char *name, uint64_t value);

/* Append INDENT, "<NAME>TEXT</NAME>" and a newline. */
void xml_element(struct str *out, const char *indent, const char *name, const char *text);

#endif
