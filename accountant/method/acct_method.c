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
	{ "lower", "the exact loss of data sets in which all others hold one input", ACCT_LOWER, false,
		acct_attained_epsilon, acct_attained_delta },
	{ "rdp", "Renyi divergences of the same pairs (Mironov 2017; Asoodeh et al. 2021)", ACCT_PROVED, true,
		acct_rdp_epsilon, NULL },
	{ "gdp", "Gaussian mechanisms with a defect above the same pairs (Koskela et al. 2023)", ACCT_PROVED,
		true, acct_gdp_method_epsilon, acct_gdp_method_delta },
	{ "strong-clones", "pld of any eps0-local randomizer (Feldman, McMillan, Talwar 2023)", ACCT_PROVED,
		false, acct_strong_clones_epsilon, acct_strong_clones_delta },
	{ "clones", "pld with the clones of Feldman, McMillan, Talwar 2021", ACCT_PROVED, false,
		acct_clones_epsilon, acct_clones_delta },
	{ "advanced", "pld of each round, advanced composition (Kairouz, Oh, Viswanath 2015)", ACCT_PROVED,
		true, acct_advanced_epsilon, NULL },
	{ "basic", "pld of each round, epsilons added (Dwork et al. 2006)", ACCT_PROVED, true,
		acct_sum_epsilon, NULL },
	{ "clones-closed", "closed form of clones (Feldman et al. 2021, Theorem 3.1), composed", ACCT_PROVED,
		false, acct_clones_closed_epsilon, NULL },
	{ "erlingsson", "eps0 below 1/2, n from 1000 (Erlingsson et al. 2019, Theorem 7), composed",
		ACCT_PROVED, false, acct_erlingsson_epsilon, NULL },
	{ "girgis", "Renyi, closed form (Girgis et al. 2021, Theorem 3.1)", ACCT_PROVED, false,
		acct_girgis_method_epsilon, NULL },
	{ "bennett", "one round by Bennett's inequality (Balle et al. 2019, as corrected), composed",
		ACCT_PROVED, false, acct_bennett_epsilon, acct_bennett_delta },
	{ "hoeffding", "one round by Hoeffding's inequality (Balle et al. 2019), composed", ACCT_PROVED,
		false, acct_hoeffding_epsilon, acct_hoeffding_delta },
	{ "flame", "a vector of `count` coordinates (Liu et al. 2021, Theorem 1), Bennett corrected",
		ACCT_PROVED, false, acct_flame_method_epsilon, NULL },
	{ "clt", "the normal limit of the privacy loss (Dong, Roth, Su 2022)", ACCT_APPROXIMATE, true,
		acct_clt_epsilon, acct_clt_delta },
	{ "published", "pld of the published two-count reduction (Wang et al. 2024)", ACCT_PAPER_VALUE, false,
		acct_published_epsilon, acct_published_delta },
	{ "gspa", "mu-Gaussian shuffling of personalised reports (Chen, Cao, Ge 2024)", ACCT_PAPER_VALUE,
		false, acct_gspa_method_epsilon, acct_gspa_method_delta },
	{ "flame-first", "flame as its figures were made, Bennett as first published", ACCT_PAPER_VALUE,
		false, acct_flame_first_epsilon, NULL },
	{ "closed", "closed form of the published reduction (Wang et al. 2024, Theorem 4.3), composed",
		ACCT_PAPER_VALUE, false, acct_closed_epsilon, NULL },
	{ "closed-tight", "the same authors' second closed form, as their code has it, composed",
		ACCT_PAPER_VALUE, false, acct_closed_tight_epsilon, NULL },
	{ "liu", "personalised clones, closed form (Liu et al. 2023), composed", ACCT_PAPER_VALUE, false,
		acct_liu_epsilon, NULL },
	{ "erlingsson-rdp", "Renyi (Erlingsson et al. 2019, Remark 1, as Girgis et al. cite it)",
		ACCT_PAPER_VALUE, false, acct_erlingsson_rdp_epsilon, NULL },
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

enum acct_rc acct_method_epsilons(const struct acct_method *m, const struct acct_spec *rounds, size_t n,
	const double *delta, size_t deltas, struct acct_method_answer *out, const char **why)
{
	enum acct_rc rc = ACCT_OK;

	*why = NULL;
	for (size_t i = 0; i < deltas; i++)
		out[i] = (struct acct_method_answer){ .worth = m->worth };
	if (m->epsilon == acct_pld_epsilon)
		return acct_pld_epsilons(rounds, n, delta, deltas, out, why);
	if (!m->epsilon) {
		*why = "the method answers delta only";
		return ACCT_EDOMAIN;
	}
	for (size_t i = 0; i < deltas && !rc; i++)
		rc = m->epsilon(rounds, n, delta[i], &out[i], why);
	return rc;
}
