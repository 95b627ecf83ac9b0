/* an_json.h - parts of JSON documents, and documents as text. */
#pragma once

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "cm_rc.h"

/* A JSON number; the text "inf", "-inf" or "nan" for values that JSON lacks. */
json_t *an_json_real(double v);
/* The bytes in lower-case hex. */
json_t *an_json_hex(const uint8_t *bytes, size_t n);
/* The document as text; flags: jansson's.  NULL: out of memory, also if jansson silently left a part out. */
char *an_json_text(json_t *doc, size_t flags);
/* Print on one line (indent 0) or indented, with 17 significant digits and keys in insertion order. */
CM_CHECK enum cm_rc an_json_print(json_t *doc, int indent, FILE *out, struct cm_err *err);
