/* pl_plan.c - reads and checks a plan file. */
#include "pl_plan.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cm_conf.h"
#include "cm_file.h"
#include "pl_auto.h"
#include "pt_mixbins.h"
#include "rd_text.h"

struct raw_round {
	char *query, *type, *protocol, *field, *blanket;
	double epsilon0, epsilon;
	int64_t min_reports, target, levels, dummies, shuffler_dummies, size, window_ms, max_bytes;
	struct cm_conf_strings values;
	double range[2];
};

struct raw_plan {
	char *name, *population, *unit, *mode, *filter;
	double epsilon, delta, honest_fraction;
	int64_t colluders;
	struct cm_conf_list rounds;
};

#define REPORTS_MAX ((double)PR_ROUND_REPORTS_MAX)

static const struct cm_conf_row round_rows[] = {
	{ .key = "query",
		.type = CM_CONF_STRING,
		.offset = offsetof(struct raw_round, query),
		.required = true,
		.help = "name of the question, for tables and files" },
	{ .key = "type",
		.type = CM_CONF_STRING,
		.offset = offsetof(struct raw_round, type),
		.required = true,
		.help = "\"histogram\" of values, or \"mean\" or \"quantiles\" of a number in range" },
	{ .key = "protocol",
		.type = CM_CONF_STRING,
		.offset = offsetof(struct raw_round, protocol),
		.help = "row of the protocol table, the first that answers the type by default; or "
			"\"auto\"" },
	{ .key = "field",
		.type = CM_CONF_STRING,
		.offset = offsetof(struct raw_round, field),
		.required = true,
		.help = "field of a reading" },
	{ .key = "epsilon0",
		.type = CM_CONF_EXTENDED,
		.offset = offsetof(struct raw_round, epsilon0),
		.required = true,
		.min = 1e-4,
		.max = PT_EPSILON0_MAX,
		.help = "local guarantee of one report, or \"inf\" for none; auto: the most it may be" },
	{ .key = "epsilon",
		.type = CM_CONF_DOUBLE,
		.offset = offsetof(struct raw_round, epsilon),
		.min = 0,
		.max = 100,
		.fallback = "0",
		.help = "auto: what the round alone may cost; 0: an equal share of what is left" },
	{ .key = "max_bytes",
		.type = CM_CONF_INT,
		.offset = offsetof(struct raw_round, max_bytes),
		.min = 1,
		.max = PR_FRAME_MAX - 256.0,
		.fallback = "16384",
		.help = "auto: sealed bytes that a device may send" },
	{ .key = "min_reports",
		.type = CM_CONF_INT,
		.offset = offsetof(struct raw_round, min_reports),
		.required = true,
		.min = 1,
		.max = REPORTS_MAX,
		.help = "fewer make the round void; privacy is computed for this many" },
	{ .key = "target",
		.type = CM_CONF_INT,
		.offset = offsetof(struct raw_round, target),
		.min = 0,
		.max = REPORTS_MAX,
		.fallback = "0",
		.help = "close as soon as so many took part; 0: at the end of the window" },
	{ .key = "values",
		.type = CM_CONF_STRINGS,
		.offset = offsetof(struct raw_round, values),
		.min = 2,
		.max = PR_CATEGORIES_MAX,
		.help = "histogram: the categories" },
	{ .key = "range",
		.type = CM_CONF_RANGE,
		.offset = offsetof(struct raw_round, range),
		.help = "of a number: [low, high], readings outside are clamped" },
	{ .key = "levels",
		.type = CM_CONF_INT,
		.offset = offsetof(struct raw_round, levels),
		.min = 0,
		.max = PR_CATEGORIES_MAX,
		.fallback = "0",
		.help = "of a number: bins the range is rounded to; 0: the protocol chooses" },
	{ .key = "dummies",
		.type = CM_CONF_INT,
		.offset = offsetof(struct raw_round, dummies),
		.min = 0,
		.max = PR_MESSAGES_MAX - 1,
		.fallback = "0",
		.help = "blanket messages each client adds" },
	{ .key = "blanket",
		.type = CM_CONF_STRING,
		.offset = offsetof(struct raw_round, blanket),
		.fallback = "client",
		.help = "who adds blanket messages: \"client\", or also the \"shuffler\", which must be "
			"trusted "
			"to" },
	{ .key = "shuffler_dummies",
		.type = CM_CONF_INT,
		.offset = offsetof(struct raw_round, shuffler_dummies),
		.min = 0,
		.max = PT_SHUFFLER_DUMMIES_MAX,
		.fallback = "0",
		.help = "blanket \"shuffler\": messages it adds to the round, in all" },
	{ .key = "size",
		.type = CM_CONF_INT,
		.offset = offsetof(struct raw_round, size),
		.min = 0,
		.max = PR_CATEGORIES_MAX,
		.fallback = "0",
		.help = "subset: categories in a report, olh and hashed: cells of the hash; 0: the protocol "
			"chooses" },
	{ .key = "window",
		.type = CM_CONF_DURATION,
		.offset = offsetof(struct raw_round, window_ms),
		.min = PL_WINDOW_MIN_S * 1000,
		.max = PL_WINDOW_MAX_S * 1000,
		.fallback = "60s",
		.help = "from the announcement to the deadline" },
	{ .key = NULL },
};

static const struct cm_conf_row budget_rows[] = {
	{ .key = "epsilon",
		.type = CM_CONF_DOUBLE,
		.offset = offsetof(struct raw_plan, epsilon),
		.required = true,
		.min = 1e-6,
		.max = 100,
		.help = "limit on the total over all rounds" },
	{ .key = "delta",
		.type = CM_CONF_DOUBLE,
		.offset = offsetof(struct raw_plan, delta),
		.required = true,
		.min = 1e-15,
		.max = 0.01,
		.help = "of the total" },
	{ .key = "unit",
		.type = CM_CONF_STRING,
		.offset = offsetof(struct raw_plan, unit),
		.fallback = "device",
		.help = "whose data the guarantee protects" },
	{ .key = NULL },
};

static const struct cm_conf_row plan_rows[] = {
	{ .key = "name",
		.type = CM_CONF_STRING,
		.offset = offsetof(struct raw_plan, name),
		.required = true,
		.help = "of the plan, for tables" },
	{ .key = "population",
		.type = CM_CONF_STRING,
		.offset = offsetof(struct raw_plan, population),
		.required = true,
		.help = "whose devices are asked; the ledger is theirs" },
	{ .key = "budget", .type = CM_CONF_GROUP, .required = true, .sub = budget_rows },
	{ .key = "mode",
		.type = CM_CONF_STRING,
		.offset = offsetof(struct raw_plan, mode),
		.fallback = "plan",
		.help = "\"plan\": all rounds are fixed now; \"adaptive\": later ones may follow from "
			"results" },
	{ .key = "filter",
		.type = CM_CONF_STRING,
		.offset = offsetof(struct raw_plan, filter),
		.help = "adaptive: what keeps the budget, \"gdp\" (the default) or \"renyi\"" },
	{ .key = "honest_fraction",
		.type = CM_CONF_DOUBLE,
		.offset = offsetof(struct raw_plan, honest_fraction),
		.min = 1e-6,
		.max = 1,
		.fallback = "1.0",
		.help = "part of the participants that follows the protocol" },
	{ .key = "colluders",
		.type = CM_CONF_INT,
		.offset = offsetof(struct raw_plan, colluders),
		.min = 0,
		.max = REPORTS_MAX,
		.fallback = "0",
		.help = "participants that work with the analyzer" },
	{ .key = "rounds",
		.type = CM_CONF_LIST,
		.offset = offsetof(struct raw_plan, rounds),
		.required = true,
		.min = 1,
		.max = PL_ROUNDS_MAX,
		.help = "in the order they run",
		.sub = round_rows,
		.size = sizeof(struct raw_round) },
	{ .key = NULL },
};

/* Where faults go while one plan is checked. */
struct checker {
	const char *name;
	FILE *faults;
	struct cm_err *first;
	size_t found;
};

static void fault(struct checker *c, int line, const char *fmt, ...) CM_PRINTF(3, 4);
static void fault(struct checker *c, int line, const char *fmt, ...)
{
	char text[240];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	if (c->faults != NULL)
		(void)fprintf(c->faults, "%s:%d: %s\n", c->name, line, text);
	if (c->found++ == 0)
		(void)cm_fail(c->first, CM_ECONFIG, "%s:%d: %s", c->name, line, text);
	c->first->said = c->faults != NULL;
}

/* Copy a name, which becomes part of file names, tables and signed documents. */
static void take_name(struct checker *c, int line, const char *key, const char *text, char *out, size_t room)
{
	size_t n = strlen(text);

	if (n >= room || !rd_is_name(text))
		fault(c, line, "'%s' must be 1 to %zu of a-z, 0-9 and ._-, not starting with . or -", key,
			room - 1);
	else
		memcpy(out, text, n + 1);
}

static void take_text(struct checker *c, int line, const char *key, const char *text, char *out, size_t room)
{
	size_t n = strlen(text);

	if (n == 0 || n >= room)
		fault(c, line, "'%s' must have 1 to %zu bytes", key, room - 1);
	else
		memcpy(out, text, n + 1);
}

/* The first row that answers this kind. */
static const struct pt_protocol *row_for(enum pt_kind kind)
{
	const struct pt_protocol *row;

	for (size_t i = 0; (row = pt_row(i)) != NULL; i++)
		if (row->kinds & (unsigned)kind)
			return row;
	return NULL;
}

static int line_of(const struct pl_round *r, const char *key)
{
	char dotted[64];
	int line;

	(void)snprintf(dotted, sizeof dotted, "rounds.[%u].%s", r->number - 1u, key);
	line = cm_conf_line(dotted);
	return line > 0 ? line : r->line;
}

static void take_domain(struct checker *c, struct raw_round *raw, struct pl_round *r)
{
	struct pt_query *q = &r->query;
	struct cm_err e = { 0 };
	bool ranged = raw->range[0] < raw->range[1];

	if (q->kind == PT_HISTOGRAM) {
		if (raw->values.n == 0)
			fault(c, r->line, "missing 'values': a histogram needs its categories");
		if (ranged)
			fault(c, line_of(r, "range"), "'range' is for numbers");
		q->category = raw->values.item; /* moved */
		q->categories = (uint32_t)raw->values.n;
		raw->values = (struct cm_conf_strings){ 0 };
	} else {
		if (!ranged)
			fault(c, r->line, "missing 'range': a number needs [low, high]");
		if (raw->values.n != 0)
			fault(c, line_of(r, "values"), "'values' is for type \"histogram\"");
		q->low = raw->range[0];
		q->high = raw->range[1];
	}
	if (c->found == 0 && pt_query_check(q, &e) != CM_OK)
		fault(c, r->line, "%s", e.msg);
}

/* Trusting the shuffler is said in words, not by a number alone. */
static void take_blanket(struct checker *c, const struct raw_round *raw, const struct pl_round *r)
{
	bool shuffler = strcmp(raw->blanket, "shuffler") == 0;

	if (!shuffler && strcmp(raw->blanket, "client") != 0)
		fault(c, line_of(r, "blanket"), "'blanket' must be \"client\" or \"shuffler\"");
	else if (shuffler && raw->shuffler_dummies == 0)
		fault(c, line_of(r, "blanket"), "'blanket' \"shuffler\" needs 'shuffler_dummies'");
	else if (!shuffler && raw->shuffler_dummies > 0)
		fault(c, line_of(r, "shuffler_dummies"), "'shuffler_dummies' is for 'blanket' \"shuffler\"");
	else if (shuffler && r->protocol->dummy == NULL)
		fault(c, line_of(r, "blanket"), "protocol '%s' has no messages for the shuffler to add",
			r->protocol->name);
}

static bool is_set(const struct pl_round *r, const char *key)
{
	char dotted[64];

	(void)snprintf(dotted, sizeof dotted, "rounds.[%u].%s", r->number - 1u, key);
	return cm_conf_line(dotted) > 0;
}

/* The choice is made when all rounds are known. */
static void take_auto(struct checker *c, const struct raw_round *raw, struct pl_round *r)
{
	static const char *const chosen[] = { "levels", "dummies", "size", "shuffler_dummies" };

	for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++)
		if (is_set(r, chosen[i]))
			fault(c, line_of(r, chosen[i]), "'%s' is not for protocol \"auto\", which chooses",
				chosen[i]);
	r->automatic = true;
	r->request = (struct pt_request){ .epsilon0 = raw->epsilon0, .min_batch = r->min_reports };
	r->shuffler = strcmp(raw->blanket, "shuffler") == 0;
	if (!r->shuffler && strcmp(raw->blanket, "client") != 0)
		fault(c, line_of(r, "blanket"), "'blanket' must be \"client\" or \"shuffler\"");
	r->cost = raw->epsilon;
	r->max_bytes = (uint64_t)raw->max_bytes;
}

static void take_protocol(struct checker *c, const struct raw_round *raw, struct pl_round *r)
{
	static const char *const automatic[] = { "epsilon", "max_bytes" };
	struct cm_err e = { 0 };

	if (raw->protocol != NULL && strcmp(raw->protocol, "auto") == 0) {
		take_auto(c, raw, r);
		return;
	}
	for (size_t i = 0; i < sizeof automatic / sizeof *automatic; i++)
		if (is_set(r, automatic[i]))
			fault(c, line_of(r, automatic[i]), "'%s' is for protocol \"auto\"", automatic[i]);
	r->protocol = raw->protocol != NULL ? pt_find(raw->protocol) : row_for(r->query.kind);
	if (r->protocol == NULL) {
		fault(c, line_of(r, "protocol"), "unknown protocol '%s'; `tombola plan protocols` lists them",
			raw->protocol != NULL ? raw->protocol : "");
		return;
	}
	if (!(r->protocol->kinds & (unsigned)r->query.kind)) {
		fault(c, line_of(r, "protocol"), "protocol '%s' does not answer a %s", r->protocol->name,
			raw->type);
		return;
	}
	r->request = (struct pt_request){ .epsilon0 = raw->epsilon0,
		.levels = (uint32_t)raw->levels,
		.dummies = (uint32_t)raw->dummies,
		.size = (uint32_t)raw->size,
		.min_batch = r->min_reports,
		.shuffler_dummies = (uint64_t)raw->shuffler_dummies };
	take_blanket(c, raw, r);
	if (c->found == 0) {
		if (r->protocol->derive(&r->query, &r->request, &r->params, &e) != CM_OK)
			fault(c, r->line, "%s", e.msg);
		else if (raw->size != 0 && r->params.size != raw->size)
			fault(c, line_of(r, "size"), "protocol '%s' has no 'size'", r->protocol->name);
		else
			r->epsilon0 = r->protocol->epsilon0(&r->params);
	}
}

static void take_round(struct checker *c, struct raw_round *raw, struct pl_round *r)
{
	take_name(c, line_of(r, "query"), "query", raw->query, r->query.name, sizeof r->query.name);
	take_text(c, line_of(r, "field"), "field", raw->field, r->query.field, sizeof r->query.field);
	r->min_reports = (uint64_t)raw->min_reports;
	r->target = raw->target != 0 ? (uint64_t)raw->target : PR_ROUND_REPORTS_MAX;
	r->window_ms = raw->window_ms;
	if (r->target < r->min_reports)
		fault(c, line_of(r, "target"), "'target' is below 'min_reports'");
	r->query.kind = pt_kind_named(raw->type);
	if (r->query.kind == 0) {
		fault(c, line_of(r, "type"), "'type' must be \"histogram\", \"mean\" or \"quantiles\"");
		return;
	}
	take_domain(c, raw, r);
	take_protocol(c, raw, r);
}

static void check_names(struct checker *c, const struct pl_plan *p)
{
	for (size_t i = 0; i < p->rounds; i++)
		for (size_t j = 0; j < i; j++)
			if (strcmp(p->round[i].query.name, p->round[j].query.name) == 0) {
				fault(c, line_of(&p->round[i], "query"), "query '%s' is round %u already",
					p->round[i].query.name, p->round[j].number);
				break;
			}
}

/* Can the accountant answer for this round at all?  Said here, not in the middle of a plan. */
static void check_cells(struct checker *c, const struct pl_plan *p)
{
	struct acct_round cells;
	struct cm_err e = { 0 };

	for (size_t i = 0; i < p->rounds; i++)
		if (pl_round_cells(p, &p->round[i], &cells, &e) != CM_OK)
			fault(c, p->round[i].line, "%s", e.msg);
}

static void choose_protocols(struct checker *c, struct pl_plan *p)
{
	const struct pl_round *at = NULL;
	struct cm_err e = { 0 };

	if (pl_auto(p, &at, &e) != CM_OK)
		fault(c, line_of(at, "protocol"), "%s", e.msg);
}

static void take_mode(struct checker *c, const struct raw_plan *raw, struct pl_plan *out)
{
	enum acct_filter_kind kind = ACCT_FILTER_GDP;

	if (strcmp(raw->mode, RD_MODE_PLAN) == 0) {
		if (raw->filter != NULL)
			fault(c, cm_conf_line("filter"), "'filter' is for mode \"adaptive\"");
		kind = 0;
	} else if (strcmp(raw->mode, "adaptive") != 0) {
		fault(c, cm_conf_line("mode"), "'mode' must be \"plan\" or \"adaptive\"");
	} else if (raw->filter != NULL && (kind = acct_filter_named(raw->filter)) == 0) {
		fault(c, cm_conf_line("filter"), "'filter' must be \"gdp\" or \"renyi\"");
	}
	rd_mode_text(kind, out->mode);
}

static enum cm_rc take_plan(struct checker *c, struct raw_plan *raw, struct pl_plan *out)
{
	take_name(c, cm_conf_line("name"), "name", raw->name, out->name, sizeof out->name);
	take_name(c, cm_conf_line("population"), "population", raw->population, out->population,
		sizeof out->population);
	take_name(c, cm_conf_line("budget.unit"), "budget.unit", raw->unit, out->unit, sizeof out->unit);
	take_mode(c, raw, out);
	out->epsilon = raw->epsilon;
	out->delta = raw->delta;
	out->honest_fraction = raw->honest_fraction;
	out->colluders = (uint64_t)raw->colluders;
	out->round = calloc(raw->rounds.n, sizeof *out->round);
	if (out->round == NULL)
		return cm_fail(c->first, CM_EINTERNAL, "out of memory");
	out->rounds = raw->rounds.n;
	for (size_t i = 0; i < out->rounds; i++) {
		out->round[i].number = (uint32_t)i + 1;
		out->round[i].line = raw->rounds.line[i];
		take_round(c, (struct raw_round *)raw->rounds.item + i, &out->round[i]);
	}
	check_names(c, out);
	if (c->found == 0)
		choose_protocols(c, out);
	if (c->found == 0)
		check_cells(c, out);
	return c->found == 0 ? CM_OK : c->first->code;
}

enum cm_rc pl_plan_parse(const uint8_t *bytes, size_t n, const char *name, FILE *faults, struct pl_plan *out,
	struct cm_err *err)
{
	struct checker c = { .name = name, .faults = faults, .first = err };
	struct raw_plan raw = { 0 };
	char *text;
	enum cm_rc rc;

	memset(out, 0, sizeof *out);
	/* A NUL would end the text early, and the digest would cover what nobody reads. */
	if (memchr(bytes, 0, n) != NULL)
		return cm_fail(err, CM_ECONFIG, "%s: holds a NUL byte", name);
	text = malloc(n + 1);
	if (text == NULL)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	memcpy(text, bytes, n);
	text[n] = '\0';
	cm_sha256(bytes, n, out->digest);
	rc = cm_conf_parse(text, name, plan_rows, &raw, faults, err);
	if (rc == CM_OK)
		rc = take_plan(&c, &raw, out);
	cm_conf_free(plan_rows, &raw);
	free(text);
	return rc;
}

enum cm_rc pl_plan_load(const char *path, FILE *faults, struct pl_plan *out, struct cm_err *err)
{
	struct cm_buf b;
	enum cm_rc rc;

	memset(out, 0, sizeof *out);
	cm_buf_init(&b, PL_FILE_MAX);
	rc = cm_file_read(path, PL_FILE_MAX, &b, err);
	if (rc == CM_OK)
		rc = b.len == 0 ? cm_fail(err, CM_ECONFIG, "%s: is empty", path)
				: pl_plan_parse(b.data, b.len, path, faults, out, err);
	cm_buf_fini(&b);
	return rc;
}

void pl_plan_fini(struct pl_plan *p)
{
	for (size_t i = 0; i < p->rounds; i++)
		pt_query_fini(&p->round[i].query);
	free(p->round);
	memset(p, 0, sizeof *p);
}

enum cm_rc pl_round_cells(
	const struct pl_plan *p, const struct pl_round *r, struct acct_round *out, struct cm_err *err)
{
	assert(r->protocol != NULL); /* else the plan has a fault and is nobody's */
	return r->protocol->cells(
		&r->params, rd_honest(r->min_reports, p->honest_fraction, p->colluders), out, err);
}

const struct pl_round *pl_plan_query(const struct pl_plan *p, const char *query)
{
	for (size_t i = 0; i < p->rounds; i++)
		if (strcmp(p->round[i].query.name, query) == 0)
			return &p->round[i];
	return NULL;
}

void pl_plan_sample(FILE *out)
{
	cm_conf_sample(plan_rows, out);
}
