/* fuzz_plan.c - any bytes as a plan file; an accepted plan has rounds every party could accept. */
#define _GNU_SOURCE /* memmem */
#include <stdlib.h>
#include <string.h>

#include "pl_load.h"
#include "pl_plan.h"
#include "seldom.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__lsan_default_suppressions(void);

/* libconfig 1.5 leaks the text of a string that never ends; a program reads its plan once. */
const char *__lsan_default_suppressions(void)
{
	return "leak:libconfig";
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pl_plan p;
	struct pt_loss loss;
	struct cm_err err;

	/* Choosing takes a thousand times what reading does. */
	if (memmem(data, size, "auto", 4) && !seldom(data, size, 256))
		return 0;
	if (size <= PL_FILE_MAX && pl_plan_parse(data, size, "plan", NULL, &p, &err) == CM_OK) {
		if (p.rounds < 1 || p.rounds > PL_ROUNDS_MAX)
			abort();
		for (size_t i = 0; i < p.rounds; i++) {
			const struct pl_round *r = &p.round[i];

			if (r->protocol->device->check(&r->query, &r->randomizer, &err) != CM_OK ||
				pl_round_loss(&p, r, &loss, &err) != CM_OK || r->target < r->min_reports)
				abort();
		}
		pl_plan_fini(&p);
	} else if (size <= PL_FILE_MAX) {
		pl_plan_fini(&p);
	}
	return 0;
}
