/* golden.h - the golden vectors: tests/data/golden/NAME.json has the type of a message, its bytes in hex, and
 * its fields, bytes and fields as google.protobuf has them. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>

#include "cm_buf.h"

/* The vector of this name, to json_decref, and its bytes in `bytes`, which cm_buf_fini frees. */
json_t *golden_vector(const char *name, struct cm_buf *bytes);
/* Its bytes alone. */
void golden_bytes(const char *name, struct cm_buf *bytes);
/* Calls visit with the name of each vector, in no order. */
void golden_each(void (*visit)(const char *name));
