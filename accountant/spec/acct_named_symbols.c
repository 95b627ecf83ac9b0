/* acct_named_symbols.c (acct_named.h) - reports that are one symbol: k-ary response, bins, hashed bins,
 * sampled sub-queries; and lists that the text gives as numbers. */
#include <float.h>
#include <math.h>

#include "acct_fault.h"
#include "acct_named.h"

#define SUM_SLACK 1e-9 /* the sum of shares that were typed with ten digits may miss 1 by this much */

/* The pair is the exact loss of a randomizer of three inputs.  Others send symbol j with chance omega_j,
 * and otherwise one symbol more; the victim sends j with chance omega_j u_j or omega_j v_j.  The messages
 * say no more than the counts of the blanket, since the remaining symbol's count follows from them.
 * Dummies and levels are shares of the same law.  The parameters of a pair are those of its cells. */
enum acct_rc acct_named_pair(const struct acct_arg *arg, struct acct_spec *s, const char **why)
{
	s->p = arg[0].x[0];
	s->beta = arg[1].x[0];
	s->q = arg[2].x[0];
	s->no_inputs = s->some = true;
	return acct_cells_pair(s->p, s->beta, s->q, arg[3].size > 0 ? arg[3].x[0] : s->q, &s->round, why);
}

static const char too_many[] = "others_n must sum to at most n - 1";

/* Move `count` of the round's others to a level of this share.  Returns false if there are not so many
 * others. */
static bool put_level(struct acct_round *r, double share, double count)
{
	if (!(count <= (double)r->others))
		return false;
	r->others -= (uint64_t)count;
	r->level[r->levels++] = (struct acct_level){ .share = share, .count = (uint64_t)count };
	return true;
}

enum acct_rc acct_named_listed(const struct acct_arg *arg, struct acct_spec *s, const char **why)
{
	if (arg[0].size != arg[1].size || arg[0].size != arg[2].size)
		return acct_fault(why, "omega, u and v need equally many numbers");
	s->round.cells = arg[0].size;
	for (size_t j = 0; j < s->round.cells; j++)
		s->round.cell[j] = (struct acct_cell){ arg[0].x[j], arg[1].x[j], arg[2].x[j] };
	if (arg[3].size > 0)
		s->round.dummies = (uint64_t)arg[3].x[0];
	if (arg[4].size != arg[5].size)
		return acct_fault(why, "others_share and others_n need equally many numbers");
	for (size_t i = 0; i < arg[4].size; i++)
		if (!put_level(&s->round, arg[4].x[i], arg[5].x[i]))
			return acct_fault(why, too_many);
	/* A smaller triple is charged less, so the text must state it: no value would be a safe default. */
	if (arg[6].size > 0 && (unsigned)arg[6].x[0] == ACCT_SETS && arg[7].size == 0)
		return acct_fault(why, "messages=4 needs triple");
	if (arg[8].size != 0 && arg[8].size != 3)
		return acct_fault(why, "shape needs three numbers");
	if (acct_family_read(&s->round, arg[6].size > 0 ? (unsigned)arg[6].x[0] : 0,
		    arg[7].size > 0 ? arg[7].x[0] : 0, (double[3]){ arg[8].x[0], arg[8].x[1], arg[8].x[2] },
		    why))
		return ACCT_EDOMAIN;
	if (arg[9].size > 0)
		s->round.present = arg[9].x[0];
	/* with bits, sets and words the cells are those of two inputs, and everybody may hold these */
	s->no_inputs = s->some = acct_family_number(&s->round) == ACCT_ANY_MESSAGES;
	return ACCT_OK;
}

/* An input is kept with chance p/(p+k-1), else another symbol is sent: one of the victim's two, or of the
 * rest. */
static void symbols(double k, double p, struct acct_round *r)
{
	double z = p + k - 1;

	acct_named_two_level(r, p, 1 / z, 0, (k - 2) / z);
}

static void response(double k, double eps0, struct acct_spec *s)
{
	symbols(k, exp(eps0), &s->round);
	if (k < 3)
		s->round.messages = s->round.levels > 0 ? ACCT_BITS_OF_LEVELS : ACCT_BITS;
	s->k = k;
	s->eps0 = eps0;
	s->third = k > 2;
	s->uniform = true;
}

/* Set the levels of others who have a guarantee eps of their own.  1/Z_eps of every symbol is blanket,
 * Z_eps = e^eps + k - 1, which is the share Z/Z_eps of the victim's 1/Z. */
static enum acct_rc personalised(const struct acct_arg *eps, const struct acct_arg *count, double k,
	double eps0, struct acct_spec *s, const char **why)
{
	struct acct_round *r = &s->round;

	if (eps->size != count->size)
		return acct_fault(why, "others_eps and others_n need equally many numbers");
	if (eps->size > 0 && r->sampling > 0)
		return acct_fault(
			why, "others_eps with sampling: a sample's guarantees are not known beforehand");
	for (size_t i = 0; i < eps->size; i++)
		if (!put_level(r, (exp(eps0) + k - 1) / (exp(eps->x[i]) + k - 1), count->x[i]))
			return acct_fault(why, too_many);
	response(k, eps0, s);
	for (size_t i = 0; i < eps->size; i++)
		s->eps0 = fmax(s->eps0, eps->x[i]);
	return ACCT_OK;
}

/* Every randomizer of this guarantee is dominated by binary response.
 *
 * Data sets: of all randomizers ternary response loses most in the limit of many participants, where
 * everybody else holds the third symbol, from e^eps0 = 2 on (doc/analyses.md, "Slack"). */
enum acct_rc acct_named_generic(const struct acct_arg *arg, struct acct_spec *s, const char **why)
{
	double p = exp(arg[0].x[0]), z = p + 2;

	(void)why;
	symbols(2, p, &s->round);
	s->uniform = true;
	s->eps0 = arg[0].x[0];
	s->held = s->round;
	acct_named_two_level(&s->held, p, 1 / z, 0, 0);
	s->held.cell[s->held.cells++] = (struct acct_cell){ p / z, 1 / p, 1 / p };
	return ACCT_OK;
}

enum acct_rc acct_named_rr(const struct acct_arg *arg, struct acct_spec *s, const char **why)
{
	return personalised(&arg[1], &arg[2], 2, arg[0].x[0], s, why);
}

enum acct_rc acct_named_grr(const struct acct_arg *arg, struct acct_spec *s, const char **why)
{
	return personalised(&arg[2], &arg[3], arg[0].x[0], arg[1].x[0], s, why);
}

/* Set the level of dummies by chance: each participant, the victim too, adds one more dummy with this
 * chance, so that message is blanket with that chance.  Rounded down by more than the error of the sum and
 * the quotient. */
static enum acct_rc rare(const struct acct_arg *chance, struct acct_spec *s, const char **why)
{
	struct acct_round *r = &s->round;
	double blanket = 0;

	if (chance->size == 0)
		return ACCT_OK;
	if (s->participants == 0)
		return acct_fault(why, "chance: n= is missing");
	for (size_t j = 0; j < r->cells; j++)
		blanket += r->cell[j].omega;
	r->level[r->levels++] = (struct acct_level){ .share = chance->x[0] / blanket * (1 - 8 * DBL_EPSILON),
		.count = s->participants };
	/* what is known of k-ary response alone does not hold among dummies */
	s->k = 0;
	return ACCT_OK;
}

/* Truthful messages into k bins among uniform dummies: the messages of participants hide nobody. */
enum acct_rc acct_named_bins(const struct acct_arg *arg, struct acct_spec *s, const char **why)
{
	struct acct_round *r = &s->round;
	double k = arg[0].x[0];

	r->cell[0] = (struct acct_cell){ 1 / k, k, 0 };
	r->cell[1] = (struct acct_cell){ 1 / k, 0, k };
	r->cell[2] = (struct acct_cell){ (k - 2) / k, 0, 0 };
	r->cells = k > 2 ? 3 : 2;
	r->dummies = (uint64_t)arg[1].x[0];
	r->others = 0;
	s->eps0 = INFINITY;
	s->exact = true; /* truthful messages of others can be subtracted from the counts */
	return rare(&arg[2], s, why);
}

enum acct_rc acct_named_mixbins(const struct acct_arg *arg, struct acct_spec *s, const char **why)
{
	struct acct_arg truthful[3] = { arg[0], arg[2], arg[3] };
	double eps0 = arg[1].x[0];

	if (isinf(eps0))
		return acct_named_bins(truthful, s, why);
	if (s->participants == 0)
		return acct_fault(why, "n= is missing");
	if (arg[2].size > 0)
		s->round.dummies = (uint64_t)arg[2].x[0];
	response(arg[0].x[0], eps0, s);
	return rare(&arg[3], s, why);
}

/* Numbers in [0,1] rounded to one of b+1 levels, then mixbins on the levels. */
enum acct_rc acct_named_levels(const struct acct_arg *arg, struct acct_spec *s, const char **why)
{
	const struct acct_arg one[4] = { { 1, { arg[0].x[0] + 1 } }, arg[1], arg[2], arg[3] };

	return acct_named_mixbins(one, s, why);
}

/* Set *chance to the chance that two inputs have the same hash; the least such chance of any pair is the
 * worst case. */
static enum acct_rc collision(const struct acct_arg *arg, double cells, double *chance, const char **why)
{
	*chance = arg->size > 0 ? arg->x[0] : 1 / cells;
	if (!(*chance >= 0 && *chance < 1))
		return acct_fault(why, "collision must be at least 0 and below 1");
	return ACCT_OK;
}

/* Set the data set in which every other participant holds the victim's first input.  Call a message telling
 * if its cell is the hash of the victim's second input and not of its first.  The others send no such
 * message.  A dummy is telling with chance `dummy`, the victim's message under its second input with chance
 * `sent`. */
static void hold_hashed(double dummy, double sent, struct acct_spec *s)
{
	s->held = s->round;
	s->held.cells = 2;
	s->held.cell[0] = (struct acct_cell){ dummy, 0, sent / dummy };
	s->held.cell[1] = (struct acct_cell){ 1 - dummy, 1 / (1 - dummy), (1 - sent) / (1 - dummy) };
}

/* A message is (seed, h_seed(x)), among dummies that are uniform on seeds and on the b values. */
enum acct_rc acct_named_hashed(const struct acct_arg *arg, struct acct_spec *s, const char **why)
{
	struct acct_round *r = &s->round;
	double b = arg[0].x[0], same;
	enum acct_rc rc = collision(&arg[2], b, &same, why);

	if (rc)
		return rc;
	r->dummies = (uint64_t)arg[1].x[0];
	r->others = 0;
	s->eps0 = INFINITY;
	if ((rc = acct_named_add(r, (1 - same) / b, b, 0)) ||
		(rc = acct_named_add(r, (1 - same) / b, 0, b)) || (rc = acct_named_add(r, same / b, b, b)))
		return rc;
	rc = acct_named_add(r, (b - 2 + same) / b, 0, 0);
	if (!rc)
		rc = rare(&arg[3], s, why);
	/* a third input's hash is as uniform as a dummy if it is independent of those of the victim's two */
	s->uniform = arg[2].size == 0;
	if (!rc)
		hold_hashed((1 - same) / b, 1 - same, s);
	return rc;
}

/* A lower bound on the chance that all d inputs have the same hash, when it is only known that any two do
 * with chance `same`.  Where not all agree, at most C(d-1, 2) of the C(d, 2) pairs do, and the mean number
 * of agreeing pairs is known.  Some pairwise independent families attain the bound.  It is 0 except for two
 * inputs, and for three inputs in two cells. */
static double all_agree(double d, double same)
{
	return fmax(0, (d * same - (d - 2)) / 2);
}

/* A report is (seed, y), where y is an l-ary response to the seed's hash of x.  P(h(x0) = y, h(x1) != y),
 * summed over y, is 1 - c, where c is the chance that two inputs agree.  The smaller c is, the worse, and
 * nothing else is required of a family.  The blanket is 1/Z for every (seed, y), except where all inputs
 * hash to y: there it is p/Z, and the report tells nothing.  The number of such places is counted from
 * below, which is safe, since (p, p) with 1/Z is a spread of (1, 1) with p/Z. */
enum acct_rc acct_named_olh(const struct acct_arg *arg, struct acct_spec *s, const char **why)
{
	double l = arg[0].x[0], p = exp(arg[1].x[0]), z = p + l - 1, same, all = 0;
	enum acct_rc rc = collision(&arg[3], l, &same, why);

	if (rc)
		return rc;
	if (arg[2].size > 0)
		all = all_agree(arg[2].x[0], same);
	acct_named_two_level(
		&s->round, p, (1 - same) / z, (same - all) / z, (l - 2 + same) / z + p * all / z);
	s->eps0 = arg[1].x[0];
	/* if the hash is drawn from all functions, three inputs agree with chance 1/l^2 */
	s->third = arg[2].size == 0 && arg[3].size == 0;
	s->triple = same / l / z;
	if (arg[4].size == 0)
		return ACCT_OK;
	if (arg[2].size > 0)
		return acct_fault(why, "triple goes without d");
	if (!(arg[4].x[0] >= fmax(0, (3 * same - 1) / 2) && arg[4].x[0] <= same))
		return acct_fault(why, "no three inputs agree with this chance, given collision");
	s->third = true;
	s->triple = arg[4].x[0] / z;
	acct_named_sets(s);
	return ACCT_OK;
}

/* Set the data set in which everybody else holds a third symbol, if the sub-query has three or more, else
 * the victim's first.  Where there is no room for a cell it is left out, and check_held() notices. */
static void hold_query(struct acct_spec *s, double share, double k, double p)
{
	double z = p + k - 1;
	bool third = k > 2;

	if (s->held.cells == 0) {
		s->held = s->round;
		s->held.cells = 0;
	}
	if (acct_named_add(&s->held, share / z, 1, p) ||
		acct_named_add(&s->held, share * (third ? 1 : p) / z, third ? p : 1, third ? 1 : 1 / p) ||
		acct_named_add(&s->held, third ? share * p / z : 0, 1 / p, 1 / p) ||
		acct_named_add(&s->held, share * (k - 3) / z, 1, 1))
		return;
}

/* If every sub-query has two symbols and the same guarantee, a report is a bit; with several sub-queries it
 * bears a public label, the sub-query. */
static void declare_bits(struct acct_spec *s, size_t queries)
{
	const struct acct_round *r = &s->round;

	if (r->cells == 2)
		s->round.messages = queries > 1 ? ACCT_LABELLED_BITS : ACCT_BITS;
}

static void check_held(struct acct_spec *s)
{
	double sum = 0;

	for (size_t j = 0; j < s->held.cells; j++)
		sum += s->held.cell[j].omega;
	if (!(sum >= 1 - SUM_SLACK))
		s->held.cells = 0;
}

/* Add one public sub-query j, which is asked with chance `share`, and its k_j-ary response.  The blanket is
 * share/Z_j for every (j, symbol). */
static enum acct_rc add_query(struct acct_spec *s, double share, double k, double eps0)
{
	double p = exp(eps0), z = p + k - 1;
	enum acct_rc rc;

	s->eps0 = fmax(s->eps0, eps0);
	hold_query(s, share, k, p);
	if ((rc = acct_named_add(&s->round, share / z, p, 1)) ||
		(rc = acct_named_add(&s->round, share / z, 1, p)))
		return rc;
	return acct_named_add(&s->round, share * (k - 2) / z, 1, 1);
}

/* Nodes that differ on the top level differ on every level, which is the worst case of sub-queries. */
enum acct_rc acct_named_hierarchy(const struct acct_arg *arg, struct acct_spec *s, const char **why)
{
	double fan = arg[0].x[0], height = arg[1].x[0], k = 1;
	enum acct_rc rc = ACCT_OK;

	for (double h = 0; h < height && !rc; h++) {
		k *= fan;
		if (k > 1e12)
			return acct_fault(why, "the lowest level has more than 1e12 nodes");
		rc = add_query(s, 1 / height, k, arg[2].x[0]);
	}
	if (!rc)
		declare_bits(s, (size_t)height);
	check_held(s);
	return rc;
}

enum acct_rc acct_named_parallel(const struct acct_arg *arg, struct acct_spec *s, const char **why)
{
	size_t size = arg[0].size;
	double sum = 0;
	enum acct_rc rc = ACCT_OK;

	if (arg[1].size != 1 && arg[1].size != size)
		return acct_fault(why, "eps0 needs one number, or one for each k");
	if (arg[2].size != 0 && arg[2].size != size)
		return acct_fault(why, "share needs one number for each k");
	for (size_t j = 0; j < size; j++)
		sum += arg[2].size > 0 ? arg[2].x[j] : 1;
	if (arg[2].size > 0 && !(fabs(sum - 1) <= SUM_SLACK))
		return acct_fault(why, "share must sum to 1");
	for (size_t j = 0; j < size && !rc; j++)
		rc = add_query(s, (arg[2].size > 0 ? arg[2].x[j] : 1) / sum, arg[0].x[j],
			arg[1].x[arg[1].size > 1 ? j : 0]);
	if (!rc)
		declare_bits(s, size);
	check_held(s);
	return rc == ACCT_ELIMIT ? acct_fault(why, "sub-queries with different eps0 need more than 64 cells")
				 : rc;
}
