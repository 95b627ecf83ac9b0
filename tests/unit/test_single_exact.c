/* test_single_exact.c - blanket cells of the histogram rows against the exact delta of small shuffled
 * batches: never below it, and the reference value of the level pair itself. */
#include <math.h>
#include <stdlib.h>

#include "csv.h"
#include "single_rows.h"

/* "49/16" or "3". */
static double fraction(const char *text)
{
	const char *slash = strchr(text, '/');

	return strtod(text, NULL) / (slash ? strtod(slash + 1, NULL) : 1);
}

/* "subset4,2", "p=3": a row, its domain, its size and e^epsilon0.  False for what is no row. */
static bool read_randomizer(const char *text, const char *params, struct pt_randomizer *p)
{
	static const char *const known[] = { "grr", "rappor", "subset", "olh" };
	double ratio = fraction(params + 2);

	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
		size_t n = strlen(known[i]);
		const char *comma = strchr(text, ',');

		if (strncmp(text, known[i], n) != 0)
			continue;
		/* g is the ratio of one bit, of which two differ. */
		*p = made(known[i], (uint32_t)strtoul(text + n, NULL, 10),
			params[0] == 'g' ? 2 * log(ratio) : log(ratio),
			comma ? (uint32_t)strtoul(comma + 1, NULL, 10) : 0);
		return true;
	}
	return false;
}

static void cells_never_give_less_than_the_exact_delta_of_a_batch(void **state)
{
	static struct csv csv;
	size_t seen = 0;

	(void)state;
	assert_true(csv_open(&csv, TEST_DATA "/vectors/counterexamples.csv"));
	while (csv_next(&csv)) {
		double level = strtod(csv_get(&csv, "level_pair"), NULL);
		double exact = strtod(csv_get(&csv, "exact_delta"), NULL);
		struct pt_randomizer p;
		struct acct_round round;
		struct acct_bound delta;

		if (!read_randomizer(csv_get(&csv, "randomizer"), csv_get(&csv, "params"), &p))
			continue;
		seen++;
		assert_int_equal(
			pt_protocol_of(p.row)->cells(&p, strtoul(csv_get(&csv, "n"), NULL, 10), &round, &err),
			CM_OK);
		assert_int_equal(
			acct_delta(&round, 1, log(fraction(csv_get(&csv, "exp_eps"))), &delta), ACCT_OK);
		assert_true(delta.upper >= exact * (1 - 1e-12));
		assert_true(delta.upper >= level - 1e-12);
		/* The reference hashes by any function, so it knows how often all three inputs meet; of a
		 * family only pairs are known. */
		if (strcmp(p.row->name, "olh") != 0 && delta.upper > level + 1e-9)
			fail_msg("%s n=%s: %.17g, the level pair gives %.17g", csv_get(&csv, "randomizer"),
				csv_get(&csv, "n"), delta.upper, level);
	}
	(void)fclose(csv.file);
	assert_int_equal(seen, 69);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cells_never_give_less_than_the_exact_delta_of_a_batch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
