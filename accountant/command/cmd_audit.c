/* cmd_audit.c - every charge of an exported ledger, computed again. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd_audit.h"

/* By how much less than the price computed here a recorded one may be. */
#define SHARE_SLACK 1e-2

#define WRONG(a, r, ...)                                                     \
	do {                                                                 \
		(void)cmd_ledger_fault((a)->ledger, (r)->line, __VA_ARGS__); \
		(a)->wrong++;                                                \
	} while (0)

static struct cmd_audit_row *find(struct cmd_audit *a, const char *id)
{
	for (size_t i = a->rows; i-- > 0;)
		if (strcmp(a->row[i].reserved.id, id) == 0)
			return &a->row[i];
	return NULL;
}

/* As the ledger's parties count: honest participants at the minimum, no less than the victim. */
static uint64_t honest(const struct cmd_record *r)
{
	double product = floor(r->honest_fraction * (double)r->min_reports);
	uint64_t n = product >= 1 ? (uint64_t)product : 1;

	return n > r->colluders && n - r->colluders > 1 ? n - r->colluders : 1;
}

/* Messages that a batch has at least and that no colluder sent: one of each participant; or, of a tag, those
 * that the shuffler leaves, whoever sent none. */
static uint64_t batch(const struct cmd_record *r, uint64_t n)
{
	uint64_t evened = r->tag_messages > r->colluders ? r->tag_messages - r->colluders : 0;

	return n > evened ? n : evened;
}

/* The last level of a round whose participants' last dummy comes by chance is these dummies. */
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

/* Cover that nobody was asked to give is no cover. */
static void check_cover(struct cmd_audit *a, const struct cmd_record *r)
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
			others += p->level[k].count;
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
			"shuffler "
			"adds %.0f",
			most, (unsigned long long)n, (unsigned long long)r->dummies_batch, added);
}

static void check_recorded(struct cmd_audit *a, const struct cmd_record *r, const char *what, double recorded,
	struct acct_bound true_value)
{
	char said[CMD_NUMBER_ROOM], least[CMD_NUMBER_ROOM];

	if (!(recorded >= true_value.lower))
		WRONG(a, r, "%s is recorded as %s, but is at least %s", what, cmd_near(recorded, said),
			cmd_down(true_value.lower, least));
}

static int failed(const struct cmd_audit *a, const struct cmd_record *r, enum acct_rc rc)
{
	if (rc == ACCT_ENOMEM)
		return cmd_fail(CMD_INTERNAL, "out of memory");
	return cmd_ledger_fault(a->ledger, r->line, "cannot be computed: %s", acct_strerror(rc));
}

/* The same parts in the same order. */
static bool same_loss(const struct cmd_record *x, const struct cmd_record *y)
{
	size_t i = 0;

	while (i < x->parts && i < y->parts && x->part[i].count == y->part[i].count &&
		acct_round_equal(&x->part[i], &y->part[i]))
		i++;
	return i == x->parts && i == y->parts;
}

/* A row of the same loss, whose answers need not be asked for again; NULL for none. */
static const struct cmd_audit_row *like(const struct cmd_audit *a, const struct cmd_record *r)
{
	for (size_t i = 0; i < a->rows; i++)
		if (same_loss(&a->row[i].reserved, r))
			return &a->row[i];
	return NULL;
}

/* The loss of the round alone. */
static enum acct_rc alone(const struct cmd_audit *a, const struct cmd_record *r, struct acct_bound *out)
{
	const struct cmd_audit_row *row = like(a, r);

	if (!row)
		return acct_epsilon(r->part, r->parts, a->opened.delta, out);
	*out = row->alone;
	return ACCT_OK;
}

/* A filter's price of the round: its parts' together. */
static enum acct_rc price_of(const struct cmd_audit *a, const struct cmd_record *r, struct acct_price *out)
{
	const struct cmd_audit_row *row = like(a, r);
	struct acct_price sum = { 0, 0 }, one;
	enum acct_rc rc = ACCT_OK;

	for (size_t i = 0; !row && !rc && i < r->parts; i++) {
		rc = acct_filter_price(&a->filter, &r->part[i], &one);
		if (!rc)
			sum = acct_price_add(sum, one);
	}
	if (!rc)
		*out = row ? row->price : sum;
	return rc;
}

/* What is held of the filter's budget. */
static struct acct_price prices(const struct cmd_audit *a)
{
	struct acct_price sum = { 0, 0 };

	for (size_t i = 0; i < a->rows; i++)
		if (a->row[i].stage != CMD_VOID)
			sum = acct_price_add(sum, a->row[i].price);
	return sum;
}

/* What the new row adds up to with everything held. */
static enum acct_rc add_row(struct cmd_audit *a, struct cmd_audit_row *row)
{
	const struct cmd_record *r = &row->reserved;
	enum acct_rc rc = alone(a, r, &row->alone);

	if (rc)
		return rc;
	if (a->filter.kind) {
		rc = price_of(a, r, &row->price);
		row->share = acct_price_share(acct_price_add(prices(a), row->price));
		return rc;
	}
	for (size_t i = 0; i < r->parts && !rc; i++)
		rc = acct_state_add(a->state, &r->part[i]);
	return rc ? rc : acct_state_epsilon(a->state, NULL, &row->total);
}

static void judge_plan(struct cmd_audit *a, const struct cmd_record *r, const struct cmd_audit_row *row)
{
	char least[CMD_NUMBER_ROOM];

	check_recorded(a, r, "epsilon_total", r->epsilon_total, row->total);
	if (!(row->total.lower > a->opened.limit || r->epsilon_total > a->opened.limit))
		return;
	a->over = true;
	(void)cmd_ledger_fault(a->ledger, r->line, "the total is at least %s, above the limit %g",
		cmd_down(row->total.lower, least), a->opened.limit);
}

/* A filter promises its whole budget or nothing.  Prices are upper bounds, not intervals: a recorded one may
 * be a little less than the one computed here. */
static void judge_adaptive(struct cmd_audit *a, const struct cmd_record *r, const struct cmd_audit_row *row)
{
	double own = acct_price_share(row->price);
	char share[CMD_NUMBER_ROOM];

	check_recorded(a, r, "epsilon_total", r->epsilon_total,
		(struct acct_bound){ a->opened.limit, a->opened.limit });
	if (!(isnan(r->share) || r->share >= own * (1 - SHARE_SLACK)))
		WRONG(a, r, "share is recorded as %g, but is %s", r->share, cmd_up(own, share));
	if (row->share <= 1)
		return;
	a->over = true;
	(void)cmd_ledger_fault(a->ledger, r->line,
		"%s of the filter's budget would be held, more than there is", cmd_up(row->share, share));
}

static int on_reserved(struct cmd_audit *a, const struct cmd_record *r)
{
	struct cmd_audit_row new = { .reserved = *r, .stage = CMD_RESERVED };

	if (find(a, r->id))
		return cmd_ledger_fault(a->ledger, r->line, "round_id %s is reserved twice", r->id);
	if (a->rows == a->room) {
		size_t room = a->room ? 2 * a->room : 64;
		struct cmd_audit_row *more = realloc(a->row, room * sizeof *more);

		if (!more)
			return cmd_fail(CMD_INTERNAL, "out of memory");
		a->row = more;
		a->room = room;
	}
	enum acct_rc rc = add_row(a, &new);
	if (rc)
		return failed(a, r, rc);
	new.part = calloc(r->parts, sizeof *new.part);
	if (!new.part)
		return cmd_fail(CMD_INTERNAL, "out of memory");
	memcpy(new.part, r->part, r->parts * sizeof *new.part);
	new.reserved.part = new.part;
	a->row[a->rows++] = new;
	check_cover(a, r);
	check_recorded(a, r, "epsilon_round", r->epsilon_round, new.alone);
	if (a->filter.kind)
		judge_adaptive(a, r, &new);
	else
		judge_plan(a, r, &new);
	return 0;
}

static int on_charged(struct cmd_audit *a, const struct cmd_record *r, struct cmd_audit_row *row)
{
	const struct cmd_record *was = &row->reserved;

	if (!same_loss(was, r))
		WRONG(a, r, "the account is not the one reserved in line %zu", was->line);
	if (r->epsilon_round != was->epsilon_round || r->epsilon_total != was->epsilon_total)
		WRONG(a, r, "epsilon_round or epsilon_total is not the one reserved in line %zu", was->line);
	if (r->participants < was->min_reports)
		WRONG(a, r, "%llu participants were charged, %llu are the minimum",
			(unsigned long long)r->participants, (unsigned long long)was->min_reports);
	return 0;
}

/* The records after a reservation, in the only order there is. */
static int on_later(struct cmd_audit *a, const struct cmd_record *r)
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
	if (r->kind == CMD_VOID && !a->filter.kind) {
		enum acct_rc rc = ACCT_OK;

		for (size_t i = 0; i < row->reserved.parts && !rc; i++)
			rc = acct_state_remove(a->state, &row->reserved.part[i]);
		return rc ? failed(a, r, rc) : 0;
	}
	return 0;
}

static int on_opened(struct cmd_audit *a, const struct cmd_record *r)
{
	static const char adaptive[] = "adaptive.";
	size_t n = sizeof adaptive - 1;
	enum acct_filter_kind kind = strncmp(r->mode, adaptive, n) == 0 ? acct_filter_named(r->mode + n) : 0;
	enum acct_rc rc;

	a->opened = *r;
	if (!kind && strcmp(r->mode, "plan") != 0)
		return cmd_ledger_fault(a->ledger, r->line, "no such mode: '%.40s'", r->mode);
	if (!kind) {
		a->state = acct_state_new(r->delta);
		return a->state ? 0 : cmd_fail(CMD_INTERNAL, "out of memory");
	}
	rc = acct_filter_init(kind, fmin(r->limit, ACCT_FILTER_MOST_EPSILON), r->delta, &a->filter);
	return rc ? failed(a, r, rc) : 0;
}

static int on_record(struct cmd_audit *a, const struct cmd_record *r)
{
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
	if (r->kind == CMD_OPENED)
		return on_opened(a, r);
	if (r->kind == CMD_RESERVED)
		return on_reserved(a, r);
	if (r->kind == CMD_REFUSED) {
		a->refused++;
		return 0;
	}
	return on_later(a, r);
}

/* Into round[n], equal ones together; how many there are then. */
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

/* The rounds that hold budget, as the analyzer asks for them. */
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

/* What the ledger holds at its end; close to the limit by the question the analyzer asked too. */
static int add_up(struct cmd_audit *a)
{
	struct acct_bound again;
	enum acct_rc rc;

	if (a->records == 0)
		return cmd_ledger_fault(a->ledger, 1, "the ledger is empty");
	if (a->filter.kind) {
		a->share = acct_price_share(prices(a));
		a->over = a->over || a->share > 1;
		a->spent.upper = a->share > 1 ? (double)INFINITY : a->share > 0 ? a->opened.limit : 0;
		return 0;
	}
	rc = acct_state_epsilon(a->state, NULL, &a->spent);
	if (!rc && a->spent.upper > a->opened.limit && cmd_audit_held(a) > 0) {
		rc = ask_together(a, &again);
		if (!rc && again.upper < a->spent.upper)
			a->spent.upper = again.upper;
		if (!rc && again.lower > a->spent.lower)
			a->spent.lower = again.lower;
	}
	if (rc)
		return cmd_fail(rc == ACCT_ENOMEM ? CMD_INTERNAL : CMD_DATA,
			"the total cannot be computed: %s", acct_strerror(rc));
	a->over = a->over || a->spent.upper > a->opened.limit;
	return 0;
}

int cmd_run_audit(const struct cmd_question *q)
{
	struct cmd_audit a = { .q = q };
	struct cmd_record *r = calloc(1, sizeof *r);
	int more = 0, code;

	if (!r)
		return cmd_fail(CMD_INTERNAL, "out of memory");
	code = cmd_ledger_open(q->file, &a.ledger);
	while (!code && (more = cmd_ledger_next(a.ledger, r)) == 1)
		code = on_record(&a, r);
	if (!code)
		code = more;
	if (!code)
		code = add_up(&a);
	if (!code && q->format == CMD_OBJECT)
		cmd_audit_json(&a);
	else if (!code)
		cmd_audit_print(&a);
	if (!code)
		code = a.wrong > 0 ? CMD_DATA : a.over ? CMD_OVER : 0;
	cmd_ledger_close(a.ledger);
	acct_state_free(a.state);
	for (size_t i = 0; i < a.rows; i++)
		free(a.row[i].part);
	free(a.row);
	free(r);
	return code;
}
