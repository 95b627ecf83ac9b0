/* test_cl_policy_file.c - a client's policy as a file: its limits are needed, and nonsense is refused. */
#include "cl_world.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cm_file.h"

static struct cm_err err;
static struct cl_world world;

static int set_up(void **state)
{
	(void)state;
	cl_world_make(&world);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	cl_world_free(&world);
	return 0;
}

static enum cm_rc load(const char *text, struct cl_policy *p)
{
	struct cf_file *file;
	char path[96];
	enum cm_rc rc;

	(void)snprintf(path, sizeof path, "%s/policy.conf", world.dir);
	assert_int_equal(cm_file_write(path, text, strlen(text), 0600, &err), CM_OK);
	rc = cl_policy_load(path, p, &file, NULL, &err);
	cf_file_free(file);
	return rc;
}

#define BELIEFS " honest_fraction = 0.75; colluders = 3;"

static void a_policy_file_needs_its_limits_and_takes_no_nonsense(void **state)
{
	static const char good[] =
		"population = \"p\"; max_epsilon0 = \"inf\"; max_epsilon = 1.0; delta = 1e-6;"
		"min_batch = 100;" BELIEFS;
	static const char *const bad[] = {
		"population = \"p\"; max_epsilon0 = 1.0; max_epsilon = 1.0; delta = 1e-6;" BELIEFS,
		"population = \"p\"; max_epsilon0 = 1.0; max_epsilon = \"inf\"; delta = 1e-6; min_batch = "
		"1;" BELIEFS,
		"population = \"p\"; max_epsilon0 = -1.0; max_epsilon = 1.0; delta = 1e-6; min_batch = "
		"1;" BELIEFS,
		"population = \"p\"; max_epsilon0 = 1.0; max_epsilon = 1.0; delta = 1.0; min_batch = "
		"1;" BELIEFS,
		"population = \"p\"; max_epsilon0 = 1.0; max_epsilon = 1.0; delta = 1e-6; min_batch = "
		"0;" BELIEFS,
		"population = \"p\"; max_epsilon0 = 1.0; max_epsilon = 1.0; delta = 1e-6; min_batch = 1; "
		"min_bacth = 2;" BELIEFS,
		"population = \"p\"; max_epsilon0 = 1.0; max_epsilon = 1.0; delta = 1e-6; min_batch = 1;"
		" honest_fraction = 1.5; colluders = 0;",
		"population = \"p\"; max_epsilon0 = 1.0; max_epsilon = 1.0; delta = 1e-6; min_batch = 1;"
		" honest_fraction = 1.0;",
		"population = \"p\"; max_epsilon0 = 1.0; max_epsilon = 1.0; delta = 1e-6; min_batch = 1;"
		" colluders = 0;",
		"population = \"p\"; max_epsilon0 = 1.0; max_epsilon = 1.0; delta = 1e-6; min_batch = "
		"1;" BELIEFS " max_tries = 0;",
		"population = \"p\"; max_epsilon0 = 1.0; max_epsilon = 1.0; delta = 1e-6; min_batch = "
		"1;" BELIEFS " max_plan_entries = 1001;",
		"population = \"p\"; max_epsilon0 = 1.0; max_epsilon = 1.0; delta = 1e-6; min_batch = "
		"1;" BELIEFS " plan = \"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\";",
		"population = \"p\"; max_epsilon0 = 1.0; max_epsilon = 1.0; delta = 1e-6; min_batch = "
		"1;" BELIEFS
		" plan = \"sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcd\";",
	};
	struct cl_policy p;
	char text[256];

	(void)state;
	assert_int_equal(load(good, &p), CM_OK);
	assert_true(isinf(p.shared.max_epsilon0));
	assert_true(p.shared.honest_fraction == 0.75 && p.shared.colluders == 3);
	assert_int_equal(p.max_rounds, 0);
	assert_int_equal(p.window_ms, 86400000);
	assert_int_equal(p.shared.max_tries, 3);
	assert_int_equal(p.shared.max_plan_entries, 400);
	assert_false(p.plan_only);
	cl_policy_free(&p);
	(void)snprintf(text, sizeof text, "%s plan = \"sha256:%064d\";", good, 17);
	assert_int_equal(load(text, &p), CM_OK);
	assert_true(p.plan_only);
	assert_int_equal(p.plan_hash[30], 0);
	assert_int_equal(p.plan_hash[31], 0x17);
	cl_policy_free(&p);
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		assert_int_equal(load(bad[i], &p), CM_ECONFIG);
		cl_policy_free(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_policy_file_needs_its_limits_and_takes_no_nonsense, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
