/* acct_named_shuffler.c (acct_named.h) - rounds in which the shuffler sees more than sealed messages: tags
 * whose numbers it makes equal, classes of guarantees, and noise that it draws itself. */
#include <math.h>

#include "acct_fault.h"
#include "acct_named.h"

/* Set the cells of k-ary response among `others`.  This need not be the exact law of any data, so what
 * analyses of k-ary response need to know is not set. */
static enum acct_rc among(
	const struct acct_arg *k, double eps0, double others, struct acct_spec *s, const char **why)
{
	const struct acct_arg one[4] = { *k, { 1, { eps0 } }, { 0 }, { 0 } };
	enum acct_rc rc;

	s->round.others = (uint64_t)others;
	s->participants = s->round.others + 1;
	rc = acct_named_grr(one, s, why);
	s->k = 0;
	return rc;
}

/* Set the data set for fewer than `padded` participants: nobody else sends anything about the victim's
 * coordinates, and the shuffler adds padded - 1 uniform dummies. */
static void hold_dummies(double k, struct acct_spec *s)
{
	double p = exp(s->eps0), z = p + k - 1;

	s->no_inputs = true;
	s->held = s->round;
	s->held.messages = ACCT_ANY_MESSAGES;
	acct_named_two_level(&s->held, p * k / z, 1 / k, 0, 0);
	s->held.cell[0].v = s->held.cell[1].u = k / z;
	if (k > 2)
		s->held.cell[s->held.cells++] = (struct acct_cell){ (k - 2) / k, k / z, k / z };
}

/* The coordinates that a participant sends follow from its values, so up to 2k of them change from one
 * input to another.  About each of these the victim's message is one of `padded` messages, and each of the
 * others hides it at least as well as another participant's.  With two levels all messages are bits: a
 * dummy's chance is within a participant's range.  So it is for a coordinate about which the victim sends
 * under one input alone: under the other a participant's bit or a dummy's is in its place (doc/binary.md).
 *
 * Data sets: both inputs have the same k coordinates with other levels, and as many of the others send
 * about them as the shuffler leaves. */
enum acct_rc acct_named_topk(const struct acct_arg *arg, struct acct_spec *s, const char **why)
{
	uint64_t participants = s->participants;
	enum acct_rc rc;

	if (s->round.sampling > 0)
		return acct_fault(why, "sampling with several messages: one draw decides for all of them");
	s->attained = s->round.count * (uint64_t)arg[0].x[0];
	s->round.count *= 2 * (uint64_t)arg[0].x[0];
	rc = among(&arg[1], arg[2].x[0], arg[3].x[0] - 1, s, why);
	if (!rc && participants > 0 && participants < s->participants)
		hold_dummies(arg[1].x[0], s);
	return rc;
}

static enum acct_rc classes(const struct acct_arg *eps0, const struct acct_arg *least,
	const struct acct_spec *s, size_t *weakest, const char **why)
{
	if (eps0->size != least->size)
		return acct_fault(why, "eps0 and least need equally many numbers");
	if (s->round.sampling > 0)
		return acct_fault(
			why, "sampling with classes: a sample's guarantees are not known beforehand");
	*weakest = 0;
	for (size_t i = 1; i < eps0->size; i++)
		if (eps0->x[i] > eps0->x[*weakest])
			*weakest = i;
	return ACCT_OK;
}

/* Every class is a batch of its own, and who is in which class is public: the round's curve is the largest of
 * the classes' own.  What analyses that know one guarantee are told is the weakest guarantee among the
 * smallest number of participants.  A class's response is the response of the weakest class with more noise,
 * which hides others better, so this dominates all classes. */
enum acct_rc acct_named_gspa_classes(const struct acct_arg *arg, struct acct_spec *s, const char **why)
{
	size_t weakest;
	uint64_t most = s->participants > 0 ? s->participants : ACCT_MAX_REPORTS;
	struct acct_round *r = &s->round;
	enum acct_rc rc = classes(&arg[1], &arg[2], s, &weakest, why);

	if (rc)
		return rc;
	r->event = ACCT_CLASSES_APART;
	r->others = 0;
	r->shape[0] = arg[0].x[0];
	s->participants = most;
	for (size_t i = 0; i < arg[1].size; i++) {
		uint64_t least = (uint64_t)arg[2].x[i];

		least = least < most ? least : most;
		r->level[r->levels++] = (struct acct_level){ arg[1].x[i], least };
		s->participants = least < s->participants ? least : s->participants;
	}
	s->eps0 = arg[1].x[weakest];
	s->p = s->q = exp(s->eps0);
	s->beta = expm1(s->eps0) / (s->p + arg[0].x[0] - 1);
	s->unpublished = true;
	return ACCT_OK;
}

/* All values are in one batch: at least `least` of every class, all other participants being of the weakest
 * class.  The victim is of the weakest class; among the same participants any other loses less
 * (doc/accounting.md, "Personalised levels"). */
enum acct_rc acct_named_gspa_pooled(const struct acct_arg *arg, struct acct_spec *s, const char **why)
{
	struct acct_arg one[4] = { arg[0], { 0 }, { 0 }, { 0 } };
	size_t weakest;
	double sum = 0;
	enum acct_rc rc = classes(&arg[1], &arg[2], s, &weakest, why);

	if (rc)
		return rc;
	for (size_t i = 0; i < arg[2].size; i++)
		sum += arg[2].x[i];
	if (sum > (double)ACCT_MAX_REPORTS)
		return acct_fault(why, "least must sum to at most 1e12");
	if (s->participants > 0 && (double)s->participants < sum)
		return acct_fault(why, "n must be at least the sum of least");
	if (s->participants == 0)
		s->participants = (uint64_t)sum;
	if (s->participants < 2)
		return acct_fault(why, "least must sum to 2 or more");
	s->round.others = s->participants - 1;
	one[1].x[one[1].size++] = arg[1].x[weakest];
	for (size_t i = 0; i < arg[1].size; i++) {
		if (i == weakest)
			continue;
		one[2].x[one[2].size++] = arg[1].x[i];
		one[3].x[one[3].size++] = arg[2].x[i];
	}
	return acct_named_grr(one, s, why);
}

/* Each bin gets `mean` messages and discrete Laplace noise of decay a = e^(-epsilon/2), cut off at its
 * ends.  The victim moves two counts by one.  For each of the two the round is, except with the chance t of
 * an end, binary response kept with chance 1/(1+a); the two are independent. */
enum acct_rc acct_named_noise(const struct acct_arg *arg, struct acct_spec *s, const char **why)
{
	struct acct_round *r = &s->round;
	double a = exp(-arg[0].x[0] / 2), end = pow(a, arg[1].x[0]);
	double t = end / (1 + 2 * a * (1 - end) / -expm1(-arg[0].x[0] / 2));

	if (r->sampling > 0)
		return acct_fault(why, "sampling with noise: one draw decides for both bins");
	r->defect += t - r->defect * t;
	r->count *= 2;
	r->others = 0;
	s->eps0 = INFINITY;
	s->unpublished = true;
	acct_named_two_level(r, 1 / a, a / (1 + a), 0, 0);
	/* Apart from the ends the loss is +-epsilon/2 exactly, so this pair is itself a data set's.  A
	 * rounded power of a may have raised the chance t of an end, so lower the defect of this data set a
	 * little. */
	s->held = *r;
	s->held.defect *= 1 - 1e-9;
	return ACCT_OK;
}
