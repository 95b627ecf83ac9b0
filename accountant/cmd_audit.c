/* cmd_audit.c - every charge of an exported ledger, computed again. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "acct_state.h"
#include "cmd_ledger.h"

/* A round the ledger reserved. */
struct row {
	struct cmd_record reserved;
	enum cmd_record_kind stage;     /* its last record */
	struct acct_bound alone, total; /* computed here */
};

struct audit {
	const struct cmd_question *q;
	struct cmd_ledger *ledger;
	struct cmd_record opened;
	struct row *row;
	size_t rows, room;
	uint64_t records, refused;
	char head[CMD_LEDGER_HASH + 1];
	struct acct_state *state;
	struct acct_bound spent; /* everything held at the end */
	bool over;               /* some reservation went over the limit */
	size_t wrong;            /* records that say less than there is, or contradict others */
};

#define WRONG(a, r, ...)                                                     \
	do {                                                                 \
		(void)cmd_ledger_fault((a)->ledger, (r)->line, __VA_ARGS__); \
		(a)->wrong++;                                                \
	} while (0)

static struct row *find(struct audit *a, const char *id)
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

/* Cover that nobody was asked to give is no cover. */
static void check_cover(struct audit *a, const struct cmd_record *r)
{
	uint64_t n = honest(r);

	if (r->round.others >= n)
		WRONG(a, r, "account: n is %llu, but the minimum guarantees %llu honest participants",
			(unsigned long long)r->round.others + 1, (unsigned long long)n);
	if ((double)r->round.dummies > (double)n * (double)r->dummies_each)
		WRONG(a, r, "account: %llu dummies, but %llu participants send %llu each",
			(unsigned long long)r->round.dummies, (unsigned long long)n,
			(unsigned long long)r->dummies_each);
}

static void check_recorded(struct audit *a, const struct cmd_record *r, const char *what, double recorded,
	struct acct_bound true_value)
{
	char said[CMD_NUMBER_ROOM], least[CMD_NUMBER_ROOM];

	if (!(recorded >= true_value.lower))
		WRONG(a, r, "%s is recorded as %s, but is at least %s", what, cmd_near(recorded, said),
			cmd_down(true_value.lower, least));
}

static int failed(const struct audit *a, const struct cmd_record *r, enum acct_rc rc)
{
	if (rc == ACCT_ENOMEM)
		return cmd_fail(CMD_INTERNAL, "out of memory");
	return cmd_ledger_fault(a->ledger, r->line, "cannot be computed: %s", acct_strerror(rc));
}

/* The loss of the round alone; a question that was answered before is not asked again. */
static enum acct_rc alone(const struct audit *a, const struct acct_round *round, struct acct_bound *out)
{
	for (size_t i = 0; i < a->rows; i++)
		if (cmd_same_round(&a->row[i].reserved.round, round)) {
			*out = a->row[i].alone;
			return ACCT_OK;
		}
	return acct_epsilon(round, 1, a->opened.delta, out);
}

static int on_reserved(struct audit *a, const struct cmd_record *r)
{
	struct row new = { .reserved = *r, .stage = CMD_RESERVED };
	enum acct_rc rc;

	if (find(a, r->id))
		return cmd_ledger_fault(a->ledger, r->line, "round_id %s is reserved twice", r->id);
	if (a->rows == a->room) {
		size_t room = a->room ? 2 * a->room : 64;
		struct row *more = realloc(a->row, room * sizeof *more);

		if (!more)
			return cmd_fail(CMD_INTERNAL, "out of memory");
		a->row = more;
		a->room = room;
	}
	rc = alone(a, &r->round, &new.alone);
	if (!rc)
		rc = acct_state_add(a->state, &r->round);
	if (!rc)
		rc = acct_state_epsilon(a->state, NULL, &new.total);
	if (rc)
		return failed(a, r, rc);
	a->row[a->rows++] = new;
	check_cover(a, r);
	check_recorded(a, r, "epsilon_round", r->epsilon_round, new.alone);
	check_recorded(a, r, "epsilon_total", r->epsilon_total, new.total);
	if (new.total.lower > a->opened.limit || r->epsilon_total > a->opened.limit) {
		char least[CMD_NUMBER_ROOM];

		a->over = true;
		(void)cmd_ledger_fault(a->ledger, r->line, "the total is at least %s, above the limit %g",
			cmd_down(new.total.lower, least), a->opened.limit);
	}
	return 0;
}

static int on_charged(struct audit *a, const struct cmd_record *r, struct row *row)
{
	const struct cmd_record *was = &row->reserved;

	if (!cmd_same_round(&was->round, &r->round))
		WRONG(a, r, "the account is not the one reserved in line %zu", was->line);
	if (r->epsilon_round != was->epsilon_round || r->epsilon_total != was->epsilon_total)
		WRONG(a, r, "epsilon_round or epsilon_total is not the one reserved in line %zu", was->line);
	if (r->participants < was->min_reports)
		WRONG(a, r, "%llu participants were charged, %llu are the minimum",
			(unsigned long long)r->participants, (unsigned long long)was->min_reports);
	return 0;
}

/* The records after a reservation, in the only order there is. */
static int on_later(struct audit *a, const struct cmd_record *r)
{
	struct row *row = find(a, r->id);
	enum cmd_record_kind before = r->kind == CMD_SETTLED ? CMD_CHARGED : CMD_RESERVED;

	if (!row)
		return cmd_ledger_fault(a->ledger, r->line, "round_id %s was never reserved", r->id);
	if (row->stage != before)
		return cmd_ledger_fault(a->ledger, r->line, "round_id %s is not %s", r->id,
			before == CMD_CHARGED ? "charged" : "reserved");
	row->stage = r->kind;
	if (r->kind == CMD_CHARGED)
		return on_charged(a, r, row);
	if (r->kind == CMD_VOID) {
		enum acct_rc rc = acct_state_remove(a->state, &row->reserved.round);

		return rc ? failed(a, r, rc) : 0;
	}
	return 0;
}

static int on_record(struct audit *a, const struct cmd_record *r)
{
	if (r->seq != ++a->records)
		return cmd_ledger_fault(a->ledger, r->line, "seq is %llu, not %llu: a record is missing",
			(unsigned long long)r->seq, (unsigned long long)a->records);
	if (strcmp(r->head, a->head) == 0)
		return cmd_ledger_fault(a->ledger, r->line, "head is that of the record before");
	memcpy(a->head, r->head, sizeof a->head);
	if ((r->kind == CMD_OPENED) != (a->records == 1))
		return cmd_ledger_fault(a->ledger, r->line, "%s",
			a->records == 1 ? "the first record does not open a ledger"
					: "a ledger is opened twice");
	if (r->kind == CMD_OPENED) {
		a->opened = *r;
		a->state = acct_state_new(r->delta);
		return a->state ? 0 : cmd_fail(CMD_INTERNAL, "out of memory");
	}
	if (r->kind == CMD_RESERVED)
		return on_reserved(a, r);
	if (r->kind == CMD_REFUSED) {
		a->refused++;
		return 0;
	}
	return on_later(a, r);
}

static const char *stage_name(enum cmd_record_kind stage)
{
	static const char *const name[] = { "open", "reserved", "charged", "settled", "void", "refused" };

	return name[stage];
}

static void print_table(const struct audit *a)
{
	char n[4][CMD_NUMBER_ROOM];

	printf("population %s, unit %s: limit epsilon %g at delta %g\n", a->opened.population, a->opened.unit,
		a->opened.limit, a->opened.delta);
	if (a->rows > 0)
		printf("\n%4s %5s  %-20s %-8s %12s %12s %12s %12s\n%42s %12s %12s %12s\n", "line", "round",
			"query", "stage", "epsilon", "computed", "total", "computed", "recorded", "at most",
			"recorded", "at most");
	for (size_t i = 0; i < a->rows; i++) {
		const struct row *r = &a->row[i];

		printf("%4zu %5llu  %-20.20s %-8s %12s %12s %12s %12s\n", r->reserved.line,
			(unsigned long long)r->reserved.number, r->reserved.query, stage_name(r->stage),
			cmd_near(r->reserved.epsilon_round, n[0]), cmd_up(r->alone.upper, n[1]),
			cmd_near(r->reserved.epsilon_total, n[2]), cmd_up(r->total.upper, n[3]));
	}
	if (a->rows > 0)
		putchar('\n');
}

static size_t held(const struct audit *a)
{
	size_t n = 0;

	for (size_t i = 0; i < a->rows; i++)
		n += a->row[i].stage != CMD_VOID;
	return n;
}

static const char *verdict_name(const struct audit *a)
{
	return a->wrong > 0 ? "WRONG" : a->over ? "OVER THE LIMIT" : "passed";
}

static void print_verdict(const struct audit *a)
{
	char high[CMD_NUMBER_ROOM], low[CMD_NUMBER_ROOM];

	printf("audit %s: %llu records, %zu rounds hold budget, %zu void, %llu refused; ", verdict_name(a),
		(unsigned long long)a->records, held(a), a->rows - held(a), (unsigned long long)a->refused);
	printf("epsilon at most %s (at least %s) of %g at delta %g\n", cmd_up(a->spent.upper, high),
		cmd_down(a->spent.lower, low), a->opened.limit, a->opened.delta);
}

static void print_json(const struct audit *a)
{
	struct cmd_json j = cmd_json_begin(stdout);

	cmd_json_text(&j, "verdict", a->wrong > 0 ? "wrong" : a->over ? "over" : "passed");
	cmd_json_count(&j, "wrong", a->wrong);
	cmd_json_text(&j, "population", a->opened.population);
	cmd_json_number(&j, "epsilon_limit", a->opened.limit);
	cmd_json_bound(&j, "epsilon", a->spent);
	cmd_json_bound(&j, "delta", (struct acct_bound){ a->opened.delta, a->opened.delta });
	cmd_json_text(&j, "worth", acct_worth_text(ACCT_PROVED));
	cmd_json_count(&j, "records", a->records);
	cmd_json_count(&j, "refused", a->refused);
	cmd_json_open(&j, "rounds", '[');
	for (size_t i = 0; i < a->rows; i++) {
		const struct row *r = &a->row[i];

		cmd_json_open(&j, NULL, '{');
		cmd_json_count(&j, "line", r->reserved.line);
		cmd_json_count(&j, "round", r->reserved.number);
		cmd_json_text(&j, "round_id", r->reserved.id);
		cmd_json_text(&j, "query", r->reserved.query);
		cmd_json_text(&j, "stage", stage_name(r->stage));
		cmd_json_number(&j, "epsilon_round", r->reserved.epsilon_round);
		cmd_json_bound(&j, "epsilon_round", r->alone);
		cmd_json_number(&j, "epsilon_total", r->reserved.epsilon_total);
		cmd_json_bound(&j, "epsilon_total", r->total);
		cmd_json_close(&j, '}');
	}
	cmd_json_close(&j, ']');
	cmd_json_close(&j, '}');
	putchar('\n');
}

/* The rounds that hold budget, equal ones together, as the analyzer asks for them. */
static enum acct_rc ask_together(const struct audit *a, struct acct_bound *out)
{
	struct acct_round *round = calloc(a->rows + 1, sizeof *round);
	size_t n = 0;

	if (!round)
		return ACCT_ENOMEM;
	for (size_t i = 0; i < a->rows; i++) {
		const struct acct_round *once = &a->row[i].reserved.round;
		size_t k = 0;

		if (a->row[i].stage == CMD_VOID)
			continue;
		while (k < n && !cmd_same_round(&round[k], once))
			k++;
		if (k == n)
			round[n++] = *once;
		else
			round[k].count++;
	}
	enum acct_rc rc = acct_epsilon(round, n, a->opened.delta, out);
	free(round);
	return rc;
}

/* What the ledger holds at its end; close to the limit by the question the analyzer asked too. */
static int add_up(struct audit *a)
{
	struct acct_bound again;
	enum acct_rc rc;

	if (a->records == 0)
		return cmd_ledger_fault(a->ledger, 1, "the ledger is empty");
	rc = acct_state_epsilon(a->state, NULL, &a->spent);
	if (!rc && a->spent.upper > a->opened.limit && held(a) > 0) {
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
	struct audit a = { .q = q };
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
		print_json(&a);
	else if (!code) {
		print_table(&a);
		print_verdict(&a);
	}
	if (!code)
		code = a.wrong > 0 ? CMD_DATA : a.over ? CMD_OVER : 0;
	cmd_ledger_close(a.ledger);
	acct_state_free(a.state);
	free(a.row);
	free(r);
	return code;
}
