/* fuzz_spec.c - rounds as text: any text is a valid round or is refused in one sentence. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "acct_spec.h"
#include "seldom.h"

/* What is read may be asked about: no crash, no NaN, bounds in order; and it has a text. */
static void ask(struct acct_spec *s, int compose)
{
	char again[ACCT_SPEC_MAX], why[80];
	struct acct_round paper;
	struct acct_spec same;
	struct acct_bound d;
	const char *fault = NULL;

	if (acct_round_check(&s->round, &fault))
		abort();
	if (acct_spec_text(&s->round, again) || acct_spec_parse(again, &same, why, sizeof why) ||
		!acct_round_equal(&same.round, &s->round) || same.round.count != s->round.count)
		abort();
	if (!(s->eps0 >= 0 && s->p >= 0 && s->q >= 0 && s->beta >= 0 && s->beta <= 1 + 1e-8 && s->k >= 0))
		abort();
	if (acct_spec_published(s, &paper, &fault) == ACCT_OK) {
		if (acct_round_check(&paper, &fault))
			abort();
	} else if (!fault) {
		abort();
	}
	if (!compose)
		return;
	s->round.count = 1; /* a composition may cost a second, and twenty of them here */
	if (acct_delta(&s->round, 1, 0.5, &d) == ACCT_OK &&
		(!(d.lower >= 0 && d.lower <= d.upper && d.upper <= 1)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), why[80];
	struct acct_spec part[ACCT_SPEC_PARTS];
	size_t parts = 0;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	memset(why, 'x', sizeof why);
	if (acct_spec_parts(text, part, &parts, why, sizeof why)) {
		if (!memchr(why, '\0', sizeof why) || why[0] == '\0')
			abort();
	} else if (parts < 1 || parts > ACCT_SPEC_PARTS) {
		abort();
	}
	for (size_t i = 0; i < parts; i++)
		ask(&part[i], i == 0 && size % 16 == 0 &&
				      seldom(data, size, 64)); /* laws take nearly all of the time */
	free(text);
	return 0;
}
