/* cmd_audit.c - recomputes every charge of an exported ledger. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd_audit.h"

#include "acct_decimal.h"

#define WRONG(a, r, ...)                                                     \
	do {                                                                 \
		(void)cmd_ledger_fault((a)->ledger, (r)->line, __VA_ARGS__); \
		(a)->wrong++;                                                \
	} while (0)

/* The number of honest participants as shuffler and analyzer compute it from the round's minimum batch; at
 * least 1, the victim. */
static uint64_t honest(const struct cmd_record *r)
{
	double product = floor(r->honest_fraction * (double)r->min_reports);
	uint64_t n = product >= 1 ? (uint64_t)product : 1;

	return n > r->colluders && n - r->colluders > 1 ? n - r->colluders : 1;
}

/* The fewest messages in a batch that no colluder sent: one from each of the n honest participants; or, if
 * that is more, as many as the shuffler leaves of a tag, whoever sent none, less one for each colluder. */
static uint64_t batch(const struct cmd_record *r, uint64_t n)
{
	uint64_t evened = r->tag_messages > r->colluders ? r->tag_messages - r->colluders : 0;

	return n > evened ? n : evened;
}

/* If each participant sends one dummy more by chance, check that the round's last level describes these
 * dummies. */
static void check_chance(
	struct cmd_audit *a, const struct cmd_record *r, const struct acct_round *p, uint64_t n)
{
	const struct acct_level *l = &p->level[p->levels - 1];
	double blanket = 0;

	for (size_t j = 0; j < p->cells; j++)
		blanket += p->cell[j].omega;
	if (l->count > n)
		WRONG(a, r, "account: %llu dummies by chance, but there are %llu participants",
			(unsigned long long)l->count, (unsigned long long)n);
	if (l->share * blanket > r->dummy_chance)
		WRONG(a, r, "account: dummies of chance %.9g, but participants send one with chance %.9g",
			l->share * blanket, r->dummy_chance);
}

/* How many others hide a victim, with one level more.  Of classes apart it is the most of any class. */
static uint64_t with_level(const struct acct_round *p, uint64_t others, uint64_t count)
{
	if (p->event != ACCT_CLASSES_APART)
		return others + count;
	return count > others + 1 ? count - 1 : others;
}

/* Report a round whose charge assumes more dummies or more honest participants than its descriptor
 * requires. */
static void cover(struct cmd_audit *a, const struct cmd_record *r)
{
	uint64_t n = honest(r), most_covered = batch(r, n);
	double all = 0, most = 0, added = (double)r->dummies_added;

	for (size_t i = 0; i < r->parts; i++) {
		const struct acct_round *p = &r->part[i];
		bool rare = r->dummy_chance > 0 && p->levels > 0;
		uint64_t others = p->others;

		if (rare)
			check_chance(a, r, p, n);
		for (size_t k = 0; k + rare < p->levels; k++)
			others = with_level(p, others, p->level[k].count);
		if (others >= most_covered && r->tag_messages > 0)
			WRONG(a, r, "account: n is %llu, but a tag has %llu messages that no colluder sent",
				(unsigned long long)others + 1, (unsigned long long)most_covered);
		else if (others >= most_covered)
			WRONG(a, r, "account: n is %llu, but the minimum guarantees %llu honest participants",
				(unsigned long long)others + 1, (unsigned long long)n);
		all += (double)p->count * (double)p->dummies;
		most = fmax(most, (double)p->dummies);
	}
	if (all > (double)n * (double)r->dummies_each + added)
		WRONG(a, r,
			"account: %.0f dummies, but %llu participants send %llu each and the shuffler adds "
			"%.0f",
			all, (unsigned long long)n, (unsigned long long)r->dummies_each, added);
	else if (most > (double)n * (double)r->dummies_batch + added)
		WRONG(a, r,
			"account: %.0f dummies in one batch, but %llu participants send %llu each and the "
			"shuffler adds %.0f",
			most, (unsigned long long)n, (unsigned long long)r->dummies_batch, added);
}

static bool same_loss(const struct cmd_record *x, const struct cmd_record *y)
{
	size_t i = 0;

	while (i < x->parts && i < y->parts && x->part[i].count == y->part[i].count &&
		acct_round_equal(&x->part[i], &y->part[i]))
		i++;
	return i == x->parts && i == y->parts;
}

/* Find a row of the same plan whose rounds lose the same, so that its answers can be copied; NULL: there is
 * none. */
static const struct cmd_audit_row *like(const struct cmd_audit *a, size_t plan, const struct cmd_record *r)
{
	for (size_t i = 0; i < a->rows; i++)
		if (a->row[i].plan == plan && same_loss(&a->row[i].reserved, r))
			return &a->row[i];
	return NULL;
}

/* Compute the loss of the round alone. */
static enum acct_rc alone(
	const struct cmd_audit *a, size_t plan, const struct cmd_record *r, struct acct_bound *out)
{
	const struct cmd_audit_row *row = like(a, plan, r);

	if (!row)
		return acct_epsilon(r->part, r->parts, a->plan[plan].planned.delta, out);
	*out = row->alone;
	return ACCT_OK;
}

/* Compute the price of the round in shares of its plan's filter, summed over the round's parts. */
static enum acct_rc price_of(
	const struct cmd_audit *a, size_t plan, const struct cmd_record *r, struct acct_price *out)
{
	const struct cmd_audit_row *row = like(a, plan, r);
	struct acct_price sum = { 0, 0 }, one;
	enum acct_rc rc = ACCT_OK;

	for (size_t i = 0; !row && !rc && i < r->parts; i++) {
		rc = acct_filter_price(&a->plan[plan].filter, &r->part[i], &one);
		if (!rc)
			sum = acct_price_add(sum, one);
	}
	if (!rc)
		*out = row ? row->price : sum;
	return rc;
}

/* The shares of the filter's budget that all rounds of a plan take which were not returned. */
static struct acct_price prices(const struct cmd_audit *a, size_t plan)
{
	struct acct_price sum = { 0, 0 };

	for (size_t i = 0; i < a->rows; i++)
		if (a->row[i].plan == plan && !a->row[i].returned)
			sum = acct_price_add(sum, a->row[i].price);
	return sum;
}

static enum acct_rc price_row(struct cmd_audit *a, struct cmd_audit_row *row)
{
	const struct cmd_record *r = &row->reserved;
	struct cmd_audit_plan *p = &a->plan[row->plan];
	enum acct_rc rc = alone(a, row->plan, r, &row->alone);

	if (rc)
		return rc;
	if (p->filter.kind) {
		rc = price_of(a, row->plan, r, &row->price);
		row->share = acct_price_share(acct_price_add(prices(a, row->plan), row->price));
		return rc;
	}
	for (size_t i = 0; i < r->parts && !rc; i++)
		rc = acct_state_add(p->state, &r->part[i]);
	return rc ? rc : acct_state_epsilon(p->state, NULL, &row->total);
}

/* Add a round to the array of n rounds, or its count to an equal one; returns how many the array then
 * has. */
static size_t join(struct acct_round *round, size_t n, const struct acct_round *more)
{
	size_t k = 0;

	while (k < n && !acct_round_equal(&round[k], more))
		k++;
	if (k < n)
		round[k].count += more->count;
	else
		round[n++] = *more;
	return n;
}

/* Compose the rounds that hold budget, by the same question as the analyzer asks. */
static enum acct_rc ask_together(const struct cmd_audit *a, struct acct_bound *out)
{
	struct acct_round *round;
	size_t room = 1, n = 0;

	for (size_t i = 0; i < a->rows; i++)
		room += a->row[i].reserved.parts;
	round = calloc(room, sizeof *round);
	if (!round)
		return ACCT_ENOMEM;
	for (size_t i = 0; i < a->rows; i++)
		for (size_t k = 0; a->row[i].stage != CMD_VOID && k < a->row[i].reserved.parts; k++)
			n = join(round, n, &a->row[i].reserved.part[k]);
	enum acct_rc rc = acct_epsilon(round, n, a->opened.delta, out);
	free(round);
	return rc;
}

static enum cm_rc total(struct cmd_audit *a)
{
	struct acct_bound again;
	enum acct_rc rc;

	if (a->records == 0)
		return cmd_ledger_fault(a->ledger, 1, "the ledger is empty");
	if (cmd_audit_adaptive(a)) {
		a->share = acct_price_share(prices(a, 0));
		a->over = a->over || a->share > 1;
	}
	if (a->opened.slices)
		return CM_OK;
	if (a->plan[0].filter.kind) {
		a->spent.upper = a->share > 1 ? (double)INFINITY : a->share > 0 ? a->opened.limit : 0;
		return CM_OK;
	}
	rc = acct_state_epsilon(a->plan[0].state, NULL, &a->spent);
	if (!rc && !(a->spent.upper <= a->opened.limit) && cmd_audit_held(a) > 0) {
		rc = ask_together(a, &again);
		if (!rc && again.upper < a->spent.upper)
			a->spent.upper = again.upper;
		if (!rc && again.lower > a->spent.lower)
			a->spent.lower = again.lower;
	}
	if (rc)
		return cmd_fail(rc == ACCT_ENOMEM ? CM_EINTERNAL : CM_EDATA,
			"the total cannot be computed: %s", acct_strerror(rc));
	a->over = a->over || !(a->spent.upper <= a->opened.limit); /* a NaN counts as over the limit */
	return CM_OK;
}

/* A recorded share may be less than the share computed here by at most this relative amount. */
#define SHARE_SLACK 1e-2

static struct cmd_audit_row *find(struct cmd_audit *a, const char *id)
{
	for (size_t i = a->rows; i-- > 0;)
		if (strcmp(a->row[i].reserved.id, id) == 0)
			return &a->row[i];
	return NULL;
}

static void check_recorded(struct cmd_audit *a, const struct cmd_record *r, const char *what, double recorded,
	struct acct_bound true_value)
{
	char said[CMD_NUMBER_ROOM], least[CMD_NUMBER_ROOM];

	if (!(recorded >= true_value.lower))
		WRONG(a, r, "%s is recorded as %s, but is at least %s", what, cmd_near(recorded, said),
			cmd_down(true_value.lower, least));
}

static enum cm_rc failed(const struct cmd_audit *a, const struct cmd_record *r, enum acct_rc rc)
{
	if (rc == ACCT_ENOMEM)
		return cmd_fail(CM_EINTERNAL, "out of memory");
	return cmd_ledger_fault(a->ledger, r->line, "cannot be computed: %s", acct_strerror(rc));
}

static void judge_plan(struct cmd_audit *a, const struct cmd_record *r, const struct cmd_audit_row *row)
{
	double limit = a->plan[row->plan].planned.limit;
	char least[CMD_NUMBER_ROOM];

	check_recorded(a, r, "epsilon_total", r->epsilon_total, row->total);
	if (!(row->total.lower > limit || r->epsilon_total > limit))
		return;
	a->over = true;
	(void)cmd_ledger_fault(a->ledger, r->line, "the total is at least %s, above the limit %g",
		cmd_down(row->total.lower, least), limit);
}

/* Compare the charges of a round under a filter with the prices computed here.  A filter guarantees its
 * whole budget or nothing.  Prices are upper bounds, not intervals, so a recorded price may be a little
 * less than the one computed here. */
static void judge_adaptive(struct cmd_audit *a, const struct cmd_record *r, const struct cmd_audit_row *row)
{
	double own = acct_price_share(row->price);
	char share[CMD_NUMBER_ROOM];

	check_recorded(a, r, "epsilon_total", r->epsilon_total,
		(struct acct_bound){ a->plan[row->plan].planned.limit, a->plan[row->plan].planned.limit });
	if (!(isnan(r->share) || r->share >= own * (1 - SHARE_SLACK)))
		WRONG(a, r, "share is recorded as %g, but is %s", r->share, cmd_up(own, share));
	if (row->share <= 1)
		return;
	a->over = true;
	(void)cmd_ledger_fault(a->ledger, r->line,
		"%s of the filter's budget would be held, more than there is", cmd_up(row->share, share));
}

/* Return the array `items`, which has *room items, with room for one more than `used`.  NULL: no memory,
 * and the array is as it was. */
static void *grown(void *items, size_t size, size_t used, size_t *room)
{
	size_t more = *room > 0 ? 2 * *room : 16;
	void *new = used < *room ? items : realloc(items, more * size);

	if (new &&used == *room)
		*room = more;
	return new;
}

/* Append a row, with a copy of the record's parts. */
static enum cm_rc add(struct cmd_audit *a, const struct cmd_record *r, struct cmd_audit_row *new)
{
	struct cmd_audit_row *rows = grown(a->row, sizeof *rows, a->rows, &a->room);
	enum acct_rc rc;

	if (!rows)
		return cmd_fail(CM_EINTERNAL, "out of memory");
	a->row = rows;
	rc = price_row(a, new);
	if (rc)
		return failed(a, r, rc);
	new->part = calloc(r->parts, sizeof *new->part);
	if (!new->part)
		return cmd_fail(CM_EINTERNAL, "out of memory");
	memcpy(new->part, r->part, r->parts * sizeof *new->part);
	new->reserved.part = new->part;
	a->row[a->rows++] = *new;
	cover(a, r);
	check_recorded(a, r, "epsilon_round", r->epsilon_round, new->alone);
	if (a->plan[new->plan].filter.kind)
		judge_adaptive(a, r, new);
	else
		judge_plan(a, r, new);
	return CM_OK;
}

/* The index of the plan that the record names; a->plans if no plan has that hash. */
static size_t plan_of(const struct cmd_audit *a, const struct cmd_record *r)
{
	size_t i = 0;

	while (i < a->plans && strcmp(a->plan[i].planned.plan, r->plan) != 0)
		i++;
	return i;
}

static enum cm_rc on_entry(struct cmd_audit *a, const struct cmd_record *r)
{
	struct cmd_audit_row new = { .reserved = *r, .plan = plan_of(a, r), .stage = CMD_ENTRY };

	if (a->plans == 0 || new.plan != a->plans - 1 || a->plan[new.plan].filter.kind)
		return cmd_ledger_fault(a->ledger, r->line, "an entry that is not of the plan before it");
	return add(a, r, &new);
}

/* Check a try of a plan's entry: its plan and number must be the entry's, and the tries before it must be
 * void. */
static enum cm_rc on_try(struct cmd_audit *a, const struct cmd_record *r, size_t plan)
{
	struct cmd_audit_row *row = NULL;

	for (size_t i = 0; i < a->rows && !row; i++)
		if (a->row[i].plan == plan && a->row[i].reserved.number == r->number)
			row = &a->row[i];
	if (!row)
		return cmd_ledger_fault(a->ledger, r->line, "round %llu is no entry of its plan",
			(unsigned long long)r->number);
	if (row->stage != CMD_ENTRY && row->stage != CMD_VOID)
		return cmd_ledger_fault(a->ledger, r->line, "round %llu is reserved or charged already",
			(unsigned long long)r->number);
	if (r->attempt != row->tries + 1 || r->attempt > a->plan[plan].planned.tries)
		WRONG(a, r, "try %llu of round %llu, of which %llu were void and %llu are allowed",
			(unsigned long long)r->attempt, (unsigned long long)r->number,
			(unsigned long long)row->tries, (unsigned long long)a->plan[plan].planned.tries);
	if (r->min_reports != row->reserved.min_reports || r->colluders != row->reserved.colluders ||
		r->honest_fraction != row->reserved.honest_fraction)
		WRONG(a, r, "the round's participants are not those of its entry in line %zu",
			row->reserved.line);
	if (!same_loss(&row->reserved, r) || r->epsilon_round != row->reserved.epsilon_round ||
		r->epsilon_total != row->reserved.epsilon_total)
		WRONG(a, r, "the round's account is not the one of its entry in line %zu",
			row->reserved.line);
	memcpy(row->reserved.id, r->id, sizeof r->id);
	row->stage = CMD_RESERVED;
	return CM_OK;
}

static enum cm_rc on_reserved(struct cmd_audit *a, const struct cmd_record *r)
{
	struct cmd_audit_row new = { .reserved = *r, .plan = plan_of(a, r), .stage = CMD_RESERVED };

	if (find(a, r->id))
		return cmd_ledger_fault(a->ledger, r->line, "round_id %s is reserved twice", r->id);
	if (new.plan == a->plans)
		return cmd_ledger_fault(a->ledger, r->line, "a round of a plan that is not in the ledger");
	if (r->slices && !a->plan[new.plan].filter.kind)
		return on_try(a, r, new.plan);
	return add(a, r, &new);
}

static enum cm_rc on_charged(struct cmd_audit *a, const struct cmd_record *r, struct cmd_audit_row *row)
{
	const struct cmd_record *was = &row->reserved;

	if (!same_loss(was, r))
		WRONG(a, r, "the account is not the one reserved in line %zu", was->line);
	if (r->epsilon_round != was->epsilon_round || r->epsilon_total != was->epsilon_total)
		WRONG(a, r, "epsilon_round or epsilon_total is not the one reserved in line %zu", was->line);
	if (r->participants < was->min_reports)
		WRONG(a, r, "%llu participants were charged, %llu are the minimum",
			(unsigned long long)r->participants, (unsigned long long)was->min_reports);
	return CM_OK;
}

/* Check a record about a round that was reserved: only one order of such records is valid. */
static enum cm_rc on_later(struct cmd_audit *a, const struct cmd_record *r)
{
	struct cmd_audit_row *row = find(a, r->id);
	enum cmd_record_kind before = r->kind == CMD_SETTLED ? CMD_CHARGED : CMD_RESERVED;

	if (!row)
		return cmd_ledger_fault(a->ledger, r->line, "round_id %s was never reserved", r->id);
	if (row->stage != before)
		return cmd_ledger_fault(a->ledger, r->line, "round_id %s is not %s", r->id,
			before == CMD_CHARGED ? "charged" : "reserved");
	row->stage = r->kind;
	if (r->kind == CMD_CHARGED)
		return on_charged(a, r, row);
	row->tries += r->kind == CMD_VOID && r->manifest;
	/* In ledgers older than slices every void round returned its reservation. */
	row->returned = r->kind == CMD_VOID && (r->unasked || !r->slices);
	/* A void round returns its reservation, but an entry of a plan is spent. */
	if (r->kind == CMD_VOID && !r->slices && !a->plan[row->plan].filter.kind) {
		enum acct_rc rc = ACCT_OK;

		for (size_t i = 0; i < row->reserved.parts && !rc; i++)
			rc = acct_state_remove(a->plan[row->plan].state, &row->reserved.part[i]);
		return rc ? failed(a, r, rc) : CM_OK;
	}
	return CM_OK;
}

static enum cm_rc on_planned(struct cmd_audit *a, const struct cmd_record *r)
{
	static const char adaptive[] = "adaptive.";
	size_t n = sizeof adaptive - 1;
	enum acct_filter_kind kind = strncmp(r->mode, adaptive, n) == 0 ? acct_filter_named(r->mode + n) : 0;
	struct cmd_audit_plan *p;

	if (!kind && strcmp(r->mode, "plan") != 0)
		return cmd_ledger_fault(a->ledger, r->line, "no such mode: '%.40s'", r->mode);
	if (plan_of(a, r) < a->plans)
		return cmd_ledger_fault(a->ledger, r->line, "a plan is pinned twice");
	p = grown(a->plan, sizeof *p, a->plans, &a->plans_room);
	if (!p)
		return cmd_fail(CM_EINTERNAL, "out of memory");
	a->plan = p;
	p += a->plans++;
	*p = (struct cmd_audit_plan){ .planned = *r };
	if (!kind) {
		p->state = acct_state_new(r->delta);
		return p->state ? CM_OK : cmd_fail(CM_EINTERNAL, "out of memory");
	}
	enum acct_rc rc =
		acct_filter_init(kind, fmin(r->limit, ACCT_FILTER_MOST_EPSILON), r->delta, &p->filter);
	return rc ? failed(a, r, rc) : CM_OK;
}

/* A plan takes its slice when it is opened, whatever its rounds lose later; the losses of slices add up. */
static enum cm_rc on_slice(struct cmd_audit *a, const struct cmd_record *r)
{
	double epsilon = acct_decimal_add(a->spent.upper, r->limit);
	double delta = acct_decimal_add(a->spent_delta, r->delta);

	a->spent = (struct acct_bound){ epsilon, epsilon };
	a->spent_delta = delta;
	if (epsilon > a->opened.limit || delta > a->opened.delta) {
		a->over = true;
		(void)cmd_ledger_fault(a->ledger, r->line,
			"the slices add up to epsilon %g at delta %g, above the population's %g at %g",
			epsilon, delta, a->opened.limit, a->opened.delta);
	}
	return on_planned(a, r);
}

static enum cm_rc on_opened(struct cmd_audit *a, const struct cmd_record *r)
{
	a->opened = *r;
	return r->slices ? CM_OK : on_planned(a, r);
}

static enum cm_rc on_record(struct cmd_audit *a, const struct cmd_record *r)
{
	if (r->kind == CMD_ENTRY)
		return r->seq == a->records && strcmp(r->head, a->head) == 0
			       ? on_entry(a, r)
			       : cmd_ledger_fault(
					 a->ledger, r->line, "an entry that does not follow its plan");
	if (r->seq != ++a->records)
		return cmd_ledger_fault(a->ledger, r->line,
			"seq is %llu, not %llu: a record is missing or out of order",
			(unsigned long long)r->seq, (unsigned long long)a->records);
	if (strcmp(r->head, a->head) == 0)
		return cmd_ledger_fault(a->ledger, r->line, "head is that of the record before");
	memcpy(a->head, r->head, sizeof a->head);
	if ((r->kind == CMD_OPENED) != (a->records == 1))
		return cmd_ledger_fault(a->ledger, r->line, "%s",
			a->records == 1 ? "the first record does not open a ledger"
					: "a ledger is opened twice");
	if (r->slices != (r->kind == CMD_OPENED ? r->slices : a->opened.slices))
		return cmd_ledger_fault(a->ledger, r->line, "schema is not that of the first record");
	if (r->kind == CMD_OPENED)
		return on_opened(a, r);
	if (r->kind == CMD_PLANNED)
		return on_slice(a, r);
	if (r->kind == CMD_RESERVED)
		return on_reserved(a, r);
	if (r->kind == CMD_REFUSED) {
		a->refused++;
		return CM_OK;
	}
	return on_later(a, r);
}

enum cm_rc cmd_run_audit(const struct cmd_question *q)
{
	struct cmd_audit a = { .q = q };
	struct cmd_record *r = calloc(1, sizeof *r);
	bool more = true;
	enum cm_rc code;

	if (!r)
		return cmd_fail(CM_EINTERNAL, "out of memory");
	code = cmd_ledger_open(q->file, &a.ledger);
	while (!code && !(code = cmd_ledger_next(a.ledger, r, &more)) && more)
		code = on_record(&a, r);
	if (!code)
		code = total(&a);
	if (!code && q->format == CMD_OBJECT)
		cmd_audit_json(&a);
	else if (!code)
		cmd_audit_print(&a);
	if (!code)
		code = a.wrong > 0 ? CM_EDATA : a.over ? CM_EBUDGET : CM_OK;
	cmd_ledger_close(a.ledger);
	for (size_t i = 0; i < a.plans; i++)
		acct_state_free(a.plan[i].state);
	free(a.plan);
	for (size_t i = 0; i < a.rows; i++)
		free(a.row[i].part);
	free(a.row);
	free(r);
	return code;
}
