/* golden_descriptor.h - the descriptors of tests/data/golden, and one of them with one thing changed. */
#pragma once

#include "wire_bytes.h"

#include "bend.h"
#include "pr_msg.h"
#include "rd_descriptor.h"
#include "round_keys.h"

extern struct round_keys analyzer, other;
extern struct cm_buf golden, golden_mean, golden_none, golden_olh, golden_places, golden_quantiles;
extern struct cm_err refusal; /* why finish refused */

/* For cmocka_run_group_tests. */
int set_up(void **state);
int tear_down(void **state);

struct change {
	struct pr_doc doc;
	Tombola__V1__Descriptor *m;
	uint8_t long_bytes[64];
	char long_text[256];
};

/* A copy of `from` to change in place; finish or expect_refused frees it. */
void begin(struct change *c, const struct cm_buf *from);
/* Encode and decode what was changed; the reason of a refusal is in `refusal`. */
enum cm_rc finish(struct change *c);
/* Assert that it is refused, and that the reason names the field. */
void expect_refused(struct change *c, const char *field, int line);

#define REFUSED_OF(from, field, statement)           \
	do {                                         \
		struct change c;                     \
		begin(&c, &(from));                  \
		statement;                           \
		expect_refused(&c, field, __LINE__); \
	} while (0)
#define REFUSED(field, statement)      REFUSED_OF(golden, field, statement)
#define REFUSED_MEAN(field, statement) REFUSED_OF(golden_mean, field, statement)
#define ACCEPTED(statement)                          \
	do {                                         \
		struct change c;                     \
		begin(&c, &golden);                  \
		statement;                           \
		if (finish(&c) != CM_OK)             \
			fail_msg("%s", refusal.msg); \
	} while (0)
#define TEXT(s) ((char *)(uintptr_t)(s))
