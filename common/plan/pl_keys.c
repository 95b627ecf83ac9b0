/* pl_keys.c - the table of keys of a plan file, and the sample made from it. */
#include "pl_keys.h"

#include "pl_load.h"

#define REPORTS_MAX ((double)PR_ROUND_REPORTS_MAX)

#define COLUMN(field) offsetof(struct pl_raw_column, field)
#define AXIS(field)   offsetof(struct pl_raw_axis, field)
#define CLASS(field)  offsetof(struct pl_raw_class, field)
#define ROUND(field)  offsetof(struct pl_raw_round, field)
#define PLAN(field)   offsetof(struct pl_raw_plan, field)

static const struct cf_row column_rows[] = {
	CF_REQUIRED("field", CF_STRING, COLUMN(field), "field of a reading"),
	CF_REQUIRED("values", CF_STRINGS(2, PR_CATEGORIES_MAX), COLUMN(values), "its categories"),
	CF_END,
};

static const struct cf_row axis_rows[] = {
	CF_REQUIRED("field", CF_STRING, AXIS(field), "field of a reading"),
	CF_REQUIRED("range", CF_RANGE, AXIS(range), "[low, high], readings outside are clamped"),
	CF_REQUIRED("cells", CF_INT(2, PR_CATEGORIES_MAX), AXIS(cells), "equal parts of the range"),
	CF_END,
};

static const struct cf_row class_rows[] = {
	CF_REQUIRED("epsilon0", CF_DOUBLE(1e-4, PT_EPSILON0_MAX), CLASS(epsilon0),
		"local guarantee of this class"),
	CF_REQUIRED("least", CF_INT(1, REPORTS_MAX), CLASS(least),
		"participants it must have, else the round is void"),
	CF_END,
};

static const struct cf_row round_rows[] = {
	CF_REQUIRED("query", CF_STRING, ROUND(query), "name of the question, for tables and files"),
	CF_REQUIRED("type", CF_STRING, ROUND(type),
		"\"histogram\" of values; \"mean\", \"sum\", \"quantiles\" or \"ranges\" of a number; "
		"\"vector\" of numbers; \"marginals\" of several fields; \"prefixes\" of a text; \"sets\" "
		"of items; \"places\" of two numbers"),
	CF_OPTIONAL("protocol", CF_STRING, ROUND(protocol),
		"row of the protocol table, the first that answers the type by default; or \"auto\""),
	CF_OPTIONAL("field", CF_STRING, ROUND(field),
		"field of a reading; of a vector, the one that holds all its numbers"),
	CF_OPTIONAL("fields", CF_STRINGS(2, PR_COLUMNS_MAX), ROUND(fields),
		"vector: a field for each number, instead of 'field'"),
	CF_OPTIONAL("columns", CF_LIST(2, QY_MARGINAL_COLUMNS_MAX, column_rows, struct pl_raw_column),
		ROUND(columns), "marginals: the fields, each with its categories"),
	CF_OPTIONAL("axes", CF_LIST(QY_PLACE_AXES, QY_PLACE_AXES, axis_rows, struct pl_raw_axis), ROUND(axes),
		"places: the two fields, each with its range and its cells"),
	CF_OPTIONAL("marginals", CF_TABLE(1, PR_SLOTS_MAX), ROUND(marginals),
		"marginals: which fields' combinations are counted, ( [\"a\", \"b\"], [\"c\"] )"),
	CF_REQUIRED("epsilon0", CF_EXTENDED(1e-4, PT_EPSILON0_MAX), ROUND(epsilon0),
		"local guarantee of one report, of each of its slots, or \"inf\" for none; auto: the most "
		"of all together"),
	CF_DEFAULT("epsilon", CF_DOUBLE(0, 100), ROUND(epsilon), "0",
		"auto, and noise of the shuffler: what the round alone may cost; auto, 0: an equal share "
		"of what is left"),
	CF_DEFAULT("max_bytes", CF_INT(1, PR_FRAME_MAX - 256.0), ROUND(max_bytes), "16384",
		"auto: sealed bytes that a device may send"),
	CF_REQUIRED("min_reports", CF_INT(1, REPORTS_MAX), ROUND(min_reports),
		"fewer make the round void; privacy is computed for the honest ones among these"),
	CF_DEFAULT("target", CF_INT(0, REPORTS_MAX), ROUND(target), "0",
		"close as soon as so many took part; 0: at the end of the window, which a shuffler's "
		"max_target may refuse"),
	CF_OPTIONAL("values", CF_STRINGS(1, PR_CATEGORIES_MAX), ROUND(values),
		"histogram: the categories; sets: the items; prefixes: candidates as texts of bits / 8 "
		"bytes or in hexadecimal, all by default"),
	CF_OPTIONAL(
		"range", CF_RANGE, ROUND(range), "of a number: [low, high], readings outside are clamped"),
	CF_OPTIONAL("none", CF_WORD, ROUND(none),
		"how a device without a valid reading takes part: \"symbol\": counted apart, as one more "
		"value, the default where the protocol can; \"even\": as a value drawn evenly; a number of "
		"the range, the middle by default; \"category:TEXT\" of a histogram or of sets"),
	CF_OPTIONAL("dimension", CF_INT(2, PR_DIMENSION_MAX), ROUND(dimension),
		"vector: how many numbers 'field' holds"),
	CF_OPTIONAL("probabilities", CF_DOUBLES(1, PR_PROBABILITIES_MAX), ROUND(probabilities),
		"quantiles: which, rising; 0.25, 0.5 and 0.75 by default"),
	CF_OPTIONAL(
		"leaves", CF_INT(2, PR_CATEGORIES_MAX), ROUND(leaves), "ranges: cells of the finest grid"),
	CF_OPTIONAL("fanout", CF_INT(2, PR_CATEGORIES_MAX), ROUND(fanout),
		"ranges: cells in one of the next coarser grid; the greatest up to 16 of which leaves is a "
		"power by default"),
	CF_OPTIONAL("bits", CF_INT(4, QY_PREFIX_BITS_MAX), ROUND(bits),
		"prefixes: how many first bits of the text, a multiple of 4"),
	CF_OPTIONAL("after", CF_STRING, ROUND(after),
		"prefixes: the earlier query whose candidates are extended"),
	CF_OPTIONAL("keep", CF_INT(1, PR_CATEGORIES_MAX - 1), ROUND(keep),
		"prefixes after another query: how many of its candidates, the most frequent"),
	CF_DEFAULT("levels", CF_INT(0, PR_CATEGORIES_MAX), ROUND(levels), "0",
		"of a number: bins the range is rounded to; 0: the protocol chooses"),
	CF_DEFAULT("dummies", CF_DOUBLE(0, PR_BLANKET_MAX - 1), ROUND(dummies), "0",
		"blanket messages each client adds; the part of a number that is not whole is the chance "
		"of one more"),
	CF_DEFAULT("blanket", CF_STRING, ROUND(blanket), "client",
		"who adds blanket messages: \"client\", or also the \"shuffler\", which must be trusted to"),
	CF_DEFAULT("shuffler_dummies", CF_INT(0, PT_SHUFFLER_DUMMIES_MAX), ROUND(shuffler_dummies), "0",
		"blanket \"shuffler\": messages it adds to the round, in all"),
	CF_OPTIONAL("shuffler_noise", CF_STRING, ROUND(shuffler_noise),
		"blanket \"shuffler\": \"laplace\": it draws how many messages of each bin it adds, for "
		"'epsilon'"),
	CF_DEFAULT("size", CF_INT(0, PR_CATEGORIES_MAX), ROUND(size), "0",
		"subset: categories in a report, vrr: coordinates; olh and hashed: cells of the hash; "
		"words and rotated: coordinates in a message; ss-topk: coordinates that a device sends; "
		"digits: values of a digit; privset: items that a set is padded to; 0: the protocol "
		"chooses, but for privset"),
	CF_DEFAULT("slots", CF_INT(0, PR_MESSAGES_MAX), ROUND(slots), "0",
		"words, rotated: parts of the vector, each device sends a message to each; 0: 8, or as "
		"many as there are coordinates; ss-double: coordinates that a device sends; 0: 1"),
	CF_OPTIONAL("classes", CF_LIST(2, PR_SLOTS_MAX, class_rows, struct pl_raw_class), ROUND(classes),
		"gspa-classes, gspa-pooled: guarantees that devices may choose from, rising up to epsilon0"),
	CF_DEFAULT("padded", CF_INT(0, PT_SHUFFLER_DUMMIES_MAX), ROUND(padded), "0",
		"ss-double, ss-topk: messages of each coordinate that the shuffler leaves, by dropping and "
		"adding; 0: the protocol chooses"),
	CF_DEFAULT("window", CF_DURATION(PL_WINDOW_MIN_S * 1000, PL_WINDOW_MAX_S * 1000), ROUND(window_ms),
		"60s", "from the announcement to the deadline"),
	CF_OPTIONAL("every", CF_DURATION(PL_WINDOW_MIN_S * 1000, PL_EVERY_MAX_S * 1000), ROUND(every_ms),
		"the round recurs so often, 'count' times: one query, one history, each time answered anew "
		"and charged for; at least 'window'"),
	CF_OPTIONAL("count", CF_INT(1, PL_ROUNDS_MAX), ROUND(count), "with 'every': how often in all"),
	CF_OPTIONAL("repeat", CF_INT(1, PL_ROUNDS_MAX), ROUND(repeat),
		"so many rounds of this query, one after the other: the steps of a training; each is "
		"charged for"),
	CF_OPTIONAL("compute", CF_LATER, ROUND(compute),
		"what a device computes of its reading before it answers: { map = \"...\"; features = "
		"\"...\"; feature_count = ...; ... }"),
	CF_OPTIONAL("payload", CF_STRING, ROUND(payload),
		"\"later\": public bytes that 'compute' reads; they come with `round run QUERY --payload "
		"FILE`, and the round waits for them"),
	CF_OPTIONAL("payload_max", CF_INT(1, PR_PAYLOAD_MAX), ROUND(payload_max),
		"with 'payload': bytes that it may have, 1048576 by default"),
	CF_OPTIONAL("start", CF_STRING, ROUND(start),
		"with 'every': when the first opens, in UTC, \"2026-12-01T06:00:00Z\"; when the plan is "
		"pinned by default"),
	CF_END,
};

static const struct cf_row budget_rows[] = {
	CF_OPTIONAL("epsilon", CF_DOUBLE(1e-6, PL_EPSILON_MAX), PLAN(epsilon),
		"slice of the population's budget that this plan takes: limit on its rounds together; by "
		"default exactly what they use, so that nothing is lost"),
	CF_DEFAULT("delta", CF_DOUBLE(1e-15, 0.01), PLAN(delta), "1e-6", "of the total"),
	CF_DEFAULT("unit", CF_STRING, PLAN(unit), "device",
		"whose data the guarantee protects: \"device\", there is no other"),
	CF_END,
};

const struct cf_row pl_plan_keys[] = {
	CF_REQUIRED("name", CF_STRING, PLAN(name), "of the plan, for tables"),
	CF_REQUIRED(
		"population", CF_STRING, PLAN(population), "whose devices are asked; the ledger is theirs"),
	CF_OPTIONAL("budget", CF_GROUP(budget_rows), 0, NULL),
	CF_DEFAULT("mode", CF_STRING, PLAN(mode), "plan",
		"\"plan\": all rounds are fixed now; \"adaptive\": later ones may follow from results"),
	CF_OPTIONAL("filter", CF_STRING, PLAN(filter),
		"adaptive: what keeps the budget, \"gdp\" (the default) or \"renyi\""),
	CF_DEFAULT("honest_fraction", CF_DOUBLE(1e-6, 1), PLAN(honest_fraction), "1.0",
		"part of the participants that follows the protocol"),
	CF_DEFAULT("colluders", CF_INT(0, REPORTS_MAX), PLAN(colluders), "0",
		"participants that work with the analyzer"),
	CF_DEFAULT("tries", CF_INT(1, PR_TRIES_MAX), PLAN(tries), "3",
		"how often a round may be tried until enough take part; not in mode \"adaptive\""),
	CF_REQUIRED("rounds", CF_LIST(1, PL_ROUNDS_MAX, round_rows, struct pl_raw_round), PLAN(rounds),
		"in the order they run"),
	CF_END,
};

void pl_plan_sample(FILE *out)
{
	cf_sample(pl_plan_keys, out);
}
