/* acct_digits.h - deltas of rounds of bits that were computed with sixty digits, one row after the other. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "csv.h"

/* n participants who flip a bit with epsilon0, among fair coins: delta at eps. */
struct acct_digits {
	double n, coins, eps0, eps, delta;
};

static inline void acct_digits_each(void (*check)(const struct acct_digits *x))
{
	struct csv c;
	size_t rows = 0;

	assert_true(csv_open(&c, TEST_DATA "/acct-bits.csv"));
	for (; csv_next(&c); rows++) {
		struct acct_digits x = { strtod(csv_get(&c, "n"), NULL), strtod(csv_get(&c, "coins"), NULL),
			strtod(csv_get(&c, "eps0"), NULL), strtod(csv_get(&c, "eps"), NULL),
			strtod(csv_get(&c, "delta"), NULL) };

		check(&x);
	}
	assert_true(rows >= 79);
	(void)fclose(c.file);
}
