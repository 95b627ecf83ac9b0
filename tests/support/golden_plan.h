/* golden_plan.h - the plan of tests/data/golden/plan.json, and keys to sign it with. */
#pragma once

#include "wire_bytes.h"

#include "golden.h"
#include "round_keys.h"

/* Rounds 1 and 3 are its two entries, of min_reports 1000 and target 58000; 2 and 4 were refused.  Its slice
 * is (1, 1e-6). */
static struct cm_buf golden;
static struct round_keys analyzer, other;

/* For cmocka_run_group_tests. */
static inline int golden_load(void **state)
{
	(void)state;
	golden_bytes("plan", &golden);
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
