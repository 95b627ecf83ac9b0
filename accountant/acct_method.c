/* acct_method.c - the analyses by name, one row each. */
#include "acct_method.h"

#include <string.h>

#include "acct_method_rows.h"

const char *acct_worth_text(enum acct_worth worth)
{
	static const char *const text[] = { "proved", "approximate (not a guarantee)",
		"paper value (not a guarantee)", "proved lower bound" };

	return text[worth];
}

static const struct acct_method rows[] = {
	{ "pld", "privacy-loss distributions of the rounds' own dominating pairs", ACCT_PROVED, true,
		acct_pld_epsilon, acct_pld_delta },
	{ "strong-clones", "the same, of any eps0-local randomizer (Feldman, McMillan, Talwar 2023)",
		ACCT_PROVED, false, acct_strong_clones_epsilon, acct_strong_clones_delta },
	{ "clones", "the same, with the clones of Feldman, McMillan, Talwar 2021", ACCT_PROVED, false,
		acct_clones_epsilon, acct_clones_delta },
	{ "gdp", "the normal limit of the privacy loss (Dong, Roth, Su 2022)", ACCT_APPROXIMATE, true,
		acct_normal_epsilon, acct_normal_delta },
};
#define ROWS (sizeof rows / sizeof *rows)

const struct acct_method *acct_method_find(const char *name)
{
	for (size_t i = 0; i < ROWS; i++)
		if (strcmp(name, rows[i].name) == 0)
			return &rows[i];
	return NULL;
}

const struct acct_method *acct_method_row(size_t i)
{
	return i < ROWS ? &rows[i] : NULL;
}
