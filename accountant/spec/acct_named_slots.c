/* acct_named_slots.c (acct_named.h) - rounds of several slots: k-ary response in each slot, a batch for
 * each, and all of them composed.  A participant's input may differ in every slot. */
#include <math.h>
#include <string.h>

#include "acct_fault.h"
#include "acct_named.h"

static const struct acct_arg no_chance;

/* Make a slot of k bins, one of `all` slots of the round, with eps0 and dummies of its own.  The group that
 * a message is about is drawn independently of the input.  Inputs that differ in every group have the cells
 * of one group, and those that agree in some are dominated. */
static enum acct_rc slot(struct acct_spec *s, double all, double k, const struct acct_arg *eps0,
	const struct acct_arg *dummies, const struct acct_arg *chance, const char **why)
{
	const struct acct_arg one[4] = { { 1, { k } }, *eps0, *dummies, *chance };

	if (s->round.sampling > 0 && all > 1)
		return acct_fault(why, "sampling with several slots: one draw decides for all of them");
	return acct_named_mixbins(one, s, why);
}

enum acct_rc acct_named_words(const struct acct_arg *arg, struct acct_spec *s, const char **why)
{
	double slots = arg[3].size > 0 ? arg[3].x[0] : 1;

	enum acct_rc rc;

	s->round.count *= (uint64_t)slots;
	rc = slot(s, slots, exp2(arg[0].x[0]), &arg[1], &arg[4], &arg[5], why);
	/* A word shows its group, if there is more than one. */
	if (s->round.messages != ACCT_ANY_MESSAGES && !(arg[2].size > 0 && arg[2].x[0] < 2))
		s->round.messages = s->round.levels > 0 ? ACCT_ANY_MESSAGES : ACCT_LABELLED_BITS;
	return rc;
}

enum acct_rc acct_named_prefixes(const struct acct_arg *arg, struct acct_spec *s, const char **why)
{
	return acct_named_mixbins(arg, s, why);
}

/* none=1: in a live round a slot has one symbol more, which devices without a reading send. */
static double with_none(double k, const struct acct_arg *none)
{
	return k + (none->size > 0 ? none->x[0] : 0);
}

/* A number is sent as its digits in base w, the most significant first.  The noise of a digit counts with
 * the square of its place value, and is inversely proportional to the digit's dummies, so digit i gets w^i
 * times the dummies of the first. */
enum acct_rc acct_named_digits(const struct acct_arg *arg, struct acct_spec *s, const char **why)
{
	double base = arg[0].x[0];
	size_t digits = (size_t)arg[1].x[0];
	struct acct_arg dummies = arg[3];
	enum acct_rc rc = ACCT_OK;

	for (size_t i = 0; i < digits && !rc; i++) {
		if (dummies.size > 0 && dummies.x[0] > (double)ACCT_MAX_REPORTS)
			return acct_fault(why, "the last digit has more than 1e12 dummies");
		rc = slot(
			&s[i], (double)digits, with_none(base, &arg[4]), &arg[2], &dummies, &no_chance, why);
		dummies.x[0] *= base;
	}
	return rc;
}

/* A tree: level i has fanout^(i+1) nodes, and a number belongs to one node of each level. */
enum acct_rc acct_named_ranges(const struct acct_arg *arg, struct acct_spec *s, const char **why)
{
	double leaves = arg[0].x[0], fanout = arg[1].x[0], nodes = fanout;
	size_t height = 1;
	enum acct_rc rc = ACCT_OK;

	while (nodes < leaves) {
		nodes *= fanout;
		height++;
	}
	if (nodes > leaves)
		return acct_fault(why, "leaves must be a power of fanout");
	if (height > ACCT_SPEC_PARTS)
		return acct_fault(why, "more than 16 levels of the tree");
	nodes = 1;
	for (size_t i = 0; i < height && !rc; i++) {
		nodes *= fanout;
		rc = slot(
			&s[i], (double)height, with_none(nodes, &arg[4]), &arg[2], &arg[3], &no_chance, why);
	}
	return rc;
}

enum acct_rc acct_named_marginals(const struct acct_arg *arg, struct acct_spec *s, const char **why)
{
	enum acct_rc rc = ACCT_OK;

	if (arg[0].size > ACCT_SPEC_PARTS)
		return acct_fault(why, "more than 16 marginals");
	for (size_t i = 0; i < arg[0].size && !rc; i++)
		rc = slot(&s[i], (double)arg[0].size, arg[0].x[i], &arg[1], &arg[2], &no_chance, why);
	return rc;
}

/* Every coordinate has a slot of its own; or one coordinate is drawn from each of as many groups,
 * independently of the input.  The shuffler adds and drops messages by the tags it sees, which therefore do
 * not depend on the input. */
enum acct_rc acct_named_coordinates(const struct acct_arg *arg, struct acct_spec *s, const char **why)
{
	const struct acct_arg dummies = { .size = 0 };
	enum acct_rc rc;

	s->round.count *= (uint64_t)arg[0].x[0];
	rc = slot(s, arg[0].x[0], arg[1].x[0], &arg[2], &dummies, &no_chance, why);
	/* a message shows which coordinate of the group was drawn, so it is a bit with a label:
	 * doc/imitation.md */
	if (strcmp(s->name, "ss-double") == 0 && s->round.messages == ACCT_BITS)
		s->round.messages = ACCT_LABELLED_BITS;
	return rc;
}
