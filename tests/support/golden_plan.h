/* golden_plan.h - the plan of tests/data/golden/plan.bin, and keys to sign it with. */
#pragma once

#include "wire_bytes.h"

#include <stdio.h>

#include "pr_limits.h"
#include "round_keys.h"

/* Rounds 1 and 3 are its two entries, of min_reports 1000 and target 58000; 2 and 4 were refused.  Its slice
 * is (1, 1e-6). */
static struct cm_buf golden;
static struct round_keys analyzer, other;

/* For cmocka_run_group_tests. */
static inline int golden_load(void **state)
{
	FILE *f = fopen(TEST_DATA "/golden/plan.bin", "rb");

	(void)state;
	assert_non_null(f);
	cm_buf_init(&golden, PR_PLAN_MAX);
	golden.len = fread(cm_buf_room(&golden, PR_PLAN_MAX), 1, PR_PLAN_MAX, f);
	assert_int_equal(fclose(f), 0);
	round_keys_make(&analyzer);
	round_keys_make(&other);
	return 0;
}

static inline int golden_drop(void **state)
{
	(void)state;
	cm_buf_fini(&golden);
	round_keys_free(&analyzer);
	round_keys_free(&other);
	return 0;
}
