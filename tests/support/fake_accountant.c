/* fake_accountant.c - its rounds are kept by kind, as the real state keeps them. */
#include "fake_accountant.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "acct_state.h"
#include "pt_protocol.h"

enum acct_rc __wrap_acct_epsilon(
	const struct acct_round *rounds, size_t n, double delta, struct acct_bound *eps);
struct acct_state *__wrap_acct_state_new(double delta);
void __wrap_acct_state_free(struct acct_state *s);
enum acct_rc __wrap_acct_state_add(struct acct_state *s, const struct acct_round *round);
enum acct_rc __wrap_acct_state_remove(struct acct_state *s, const struct acct_round *round);
void __wrap_acct_state_rebuild(struct acct_state *s);
enum acct_rc __wrap_acct_state_epsilon_with(
	struct acct_state *s, const struct acct_round *candidates, size_t n, struct acct_bound *eps);

struct fake_accountant acct;

struct acct_state {
	struct {
		struct acct_round round;
		uint64_t count;
	} kind[128];
	size_t kinds;
	bool rebuilt;
};

static double cost(const struct acct_round *r, uint64_t count)
{
	return (double)count * (double)r->others / 1000.0;
}

static double costs(const struct acct_round *r, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += cost(&r[i], r[i].count);
	return sum;
}

static enum acct_rc answer(double sum, struct acct_bound *eps)
{
	acct.calls++;
	if (acct.rc != ACCT_OK)
		return acct.rc;
	eps->lower = 0.0;
	eps->upper = acct.answer != 0.0 ? acct.answer : sum;
	return ACCT_OK;
}

enum acct_rc __wrap_acct_epsilon(
	const struct acct_round *rounds, size_t n, double delta, struct acct_bound *eps)
{
	(void)delta;
	assert_in_range(n, 1, PT_PARTS_MAX); /* of one loss; more are the state's */
	acct.alone++;
	return answer(costs(rounds, n), eps);
}

struct acct_state *__wrap_acct_state_new(double delta)
{
	(void)delta;
	return calloc(1, sizeof(struct acct_state));
}

void __wrap_acct_state_free(struct acct_state *s)
{
	free(s);
}

static size_t find(const struct acct_state *s, const struct acct_round *round)
{
	size_t i = 0;

	while (i < s->kinds &&
		(s->kind[i].round.others != round->others || s->kind[i].round.dummies != round->dummies ||
			s->kind[i].round.cell[0].omega != round->cell[0].omega))
		i++;
	return i;
}

enum acct_rc __wrap_acct_state_add(struct acct_state *s, const struct acct_round *round)
{
	size_t i;

	i = find(s, round);
	assert_true(i < 128);
	if (i == s->kinds)
		s->kind[s->kinds++].round = *round;
	if (s->kind[i].count > ACCT_MAX_COUNT - round->count)
		return ACCT_ELIMIT;
	s->kind[i].count += round->count;
	s->rebuilt = false;
	return ACCT_OK;
}

enum acct_rc __wrap_acct_state_remove(struct acct_state *s, const struct acct_round *round)
{
	size_t i;

	i = find(s, round);
	assert_true(i < s->kinds && s->kind[i].count >= round->count); /* only what was added */
	s->kind[i].count -= round->count;
	s->rebuilt = false;
	return ACCT_OK;
}

void __wrap_acct_state_rebuild(struct acct_state *s)
{
	s->rebuilt = true;
	acct.rebuilt++;
}

enum acct_rc __wrap_acct_state_epsilon_with(
	struct acct_state *s, const struct acct_round *candidates, size_t n, struct acct_bound *eps)
{
	double sum;

	sum = costs(candidates, n);
	for (size_t i = 0; i < s->kinds; i++)
		sum += cost(&s->kind[i].round, s->kind[i].count);
	return answer(s->rebuilt ? sum : sum * (1 + acct.error), eps);
}

struct acct_round costing(uint64_t thousandths)
{
	struct acct_round r = { 0 };

	assert_int_equal(acct_cells_generic(1.0, &r, NULL), ACCT_OK);
	r.others = thousandths;
	r.count = 1;
	return r;
}
