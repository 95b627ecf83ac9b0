/* acct_bounds.c - bounds one round's curve by facts beyond its cells. */
#include "acct_bounds.h"

#include <stdlib.h>

#include "acct_bits.h"
#include "acct_invert.h"
#include "acct_known.h"
#include "acct_labels.h"

#define UNDERFLOW 1e-300

struct acct_bounds {
	struct acct_bits_mix *mix; /* for a round of bits: how many messages count */
	struct acct_known *known;  /* for a round of a family: what the family and its data sets need */
};

enum acct_rc acct_bounds_new(const struct acct_list *l, struct acct_bounds **out)
{
	struct acct_bounds *b;
	enum acct_rc rc;

	if (!l->family && !l->bits.known)
		return ACCT_OK;
	b = calloc(1, sizeof *b);
	if (!b)
		return ACCT_ENOMEM;
	rc = l->family ? acct_known_new(l, &b->known) : acct_bits_mix_new(&l->bits, &b->mix);
	if (rc)
		acct_bounds_free(b);
	else
		*out = b;
	return rc;
}

void acct_bounds_free(struct acct_bounds *b)
{
	if (!b)
		return;
	acct_bits_mix_free(b->mix);
	acct_known_free(b->known);
	free(b);
}

/* Bound a point of a round of bits.  If the certificate (acct_bits.h) leaves it wide, try the cells' upper
 * end, too.  With labels the lower end is that of inputs that labels do not hide. */
static double bits_at(const struct acct_list *l, const struct acct_bits_mix *mix, double eps, bool swap,
	double most, double width, struct acct_point *at)
{
	double work = acct_bits_curve_at(&l->bits, mix, eps, most, width, at);
	struct acct_point cells;

	if (!l->bits.labels && at->hi <= 1.01 * at->lo + UNDERFLOW)
		return work;
	work += acct_invert_within(l, eps, swap, most, l->bits.labels ? width : ACCT_INVERT_WIDTH, &cells);
	if (l->bits.labels)
		work += acct_labels_at(
			&l->bits, acct_thin_guess(at, &cells, l->blanket, eps), eps, most, &at->hi);
	at->hi = fmin(at->hi, cells.hi);
	return work;
}

double acct_bounds_at(const struct acct_list *l, const struct acct_bounds *b, double eps, bool swap,
	double most, double width, struct acct_point *at)
{
	return b->known ? acct_known_at(l, b->known, eps, most, width, at)
			: bits_at(l, b->mix, eps, swap, most, width, at);
}

double acct_bounds_held_at(const struct acct_list *l, const struct acct_bounds *b, double eps, double most,
	double width, struct acct_point *at)
{
	return b->known ? acct_known_held_at(b->known, eps, most, width, at)
			: acct_bits_curve_at(&l->bits, b->mix, eps, most, width, at);
}
