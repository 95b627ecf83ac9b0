/* cmd_answer.c - the verbs epsilon and delta, and the steps that every verb takes with rounds and methods
 * (cmd.h). */
#include <math.h>
#include <stdlib.h>

#include "acct_group.h"
#include "cmd_search.h"

static const char group_note[] =
	"of a group of records replaced together: at least one record's, at most by the inequality of groups";
static const char published_note[] = "it counts left-over reports as cover: below the exact loss in places";

enum acct_rc cmd_parts(const char *text, bool published, struct acct_spec part[ACCT_SPEC_PARTS],
	size_t *parts, char *why, size_t room)
{
	enum acct_rc rc = cmd_is_import(text) ? cmd_import(text, part, parts, why, room)
					      : acct_spec_parts(text, part, parts, why, room);

	for (size_t i = 0; !rc && published && i < *parts; i++) {
		const char *fault = "";
		struct acct_round r;

		rc = acct_spec_published(&part[i], &r, &fault);
		if (rc)
			(void)snprintf(why, room, "%s", fault);
		else
			part[i].round = r;
		part[i].pure = 0;
	}
	return rc;
}

enum cm_rc cmd_rounds(
	const char *const *text, size_t n, bool published, struct acct_spec **out, size_t *parts)
{
	struct acct_spec *spec = calloc(n > 0 ? n * ACCT_SPEC_PARTS : 1, sizeof *spec);
	enum cm_rc code = CM_OK;

	*out = NULL;
	*parts = 0;
	if (!spec)
		return cmd_fail(CM_EINTERNAL, "out of memory");
	for (size_t i = 0; !code && i < n; i++) {
		char why[256] = "", key[32];
		size_t more = 0;
		enum acct_rc rc;

		if (cmd_spec_open(text[i], key, sizeof key))
			code = cmd_fail(CM_EDATA, "--round %.80s: %s=? is for calibrate", text[i], key);
		else if ((rc = cmd_parts(text[i], published, &spec[*parts], &more, why, sizeof why)))
			code = rc == ACCT_ENOMEM ? cmd_fail(CM_EINTERNAL, "out of memory")
						 : cmd_not_a_round(text[i], why);
		*parts += more;
	}
	if (code) {
		free(spec);
		spec = NULL;
	}
	*out = spec;
	return code;
}

uint64_t cmd_repetitions(const struct acct_spec *part, size_t parts)
{
	uint64_t all = 0;

	for (size_t i = 0; i < parts; i++)
		all += part[i].round.count;
	return all;
}

static enum acct_rc labelled(
	enum acct_rc rc, bool published, struct acct_method_answer *out, const char **why)
{
	if (!rc && (isnan(out->bound.lower) || isnan(out->bound.upper))) {
		*why = "the method gave no number";
		return ACCT_EPRECISION;
	}
	if (!rc && published) {
		out->worth = ACCT_PAPER_VALUE;
		out->note = published_note;
	}
	return rc;
}

enum acct_rc cmd_epsilon(const struct acct_method *m, bool published, const struct acct_spec *round, size_t n,
	double delta, struct acct_method_answer *out, const char **why)
{
	*why = NULL;
	*out = (struct acct_method_answer){ .worth = m->worth };
	if (!m->epsilon) {
		*why = "the method answers delta only";
		return ACCT_EDOMAIN;
	}
	return labelled(m->epsilon(round, n, delta, out, why), published, out, why);
}

enum acct_rc cmd_epsilons(const struct acct_method *m, bool published, const struct acct_spec *round,
	size_t n, const double *delta, size_t deltas, struct acct_method_answer *out, const char **why)
{
	enum acct_rc rc = acct_method_epsilons(m, round, n, delta, deltas, out, why);

	for (size_t i = 0; i < deltas && !rc; i++)
		rc = labelled(rc, published, &out[i], why);
	return rc;
}

enum acct_rc cmd_delta(const struct acct_method *m, bool published, const struct acct_spec *round, size_t n,
	double epsilon, struct acct_method_answer *out, const char **why)
{
	*why = NULL;
	*out = (struct acct_method_answer){ .worth = m->worth };
	if (!m->delta) {
		*why = "the method answers epsilon only";
		return ACCT_EDOMAIN;
	}
	return labelled(m->delta(round, n, epsilon, out, why), published, out, why);
}

enum cm_rc cmd_refused(const struct acct_method *m, enum acct_rc rc, const char *why)
{
	enum cm_rc code = rc == ACCT_ENOMEM ? CM_EINTERNAL : CM_EDATA;

	if (!why)
		why = acct_strerror(rc);
	return m == acct_method_row(0) ? cmd_fail(code, "%s", why)
				       : cmd_fail(code, "--method %s: %s", m->name, why);
}

static void print(const struct cmd_question *q, const char *quantity, const struct acct_method_answer *a,
	uint64_t rounds, double seconds)
{
	bool is_epsilon = quantity[0] == 'e';
	struct acct_bound asked = is_epsilon ? (struct acct_bound){ q->delta, q->delta }
					     : (struct acct_bound){ q->epsilon, q->epsilon };

	if (q->format == CMD_OBJECT) {
		struct cmd_json j = cmd_json_begin(stdout);

		cmd_json_bound(&j, "epsilon", is_epsilon ? a->bound : asked);
		cmd_json_bound(&j, "delta", is_epsilon ? asked : a->bound);
		cmd_json_method(&j, q->method[0], q->published, a);
		cmd_json_count(&j, "rounds", rounds);
		cmd_json_number(&j, "seconds", seconds);
		cmd_json_close(&j, '}');
		putchar('\n');
		return;
	}
	cmd_say_bound(quantity, a);
	printf(" at %s %g\n", is_epsilon ? "delta" : "epsilon", asked.lower);
	cmd_say_worth(q->method[0], q->published, a);
}

/* Answer for a group of records in which neighbours differ; only the method pld can. */
static enum acct_rc of_group(const struct cmd_question *q, const char *quantity, const struct acct_spec *spec,
	size_t parts, struct acct_method_answer *a, const char **why)
{
	struct acct_round *r = calloc(parts, sizeof *r);
	enum acct_rc rc = r ? ACCT_OK : ACCT_ENOMEM;

	*why = NULL;
	*a = (struct acct_method_answer){ .worth = ACCT_PROVED, .note = group_note };
	for (size_t i = 0; r && i < parts; i++)
		r[i] = spec[i].round;
	if (!rc)
		rc = quantity[0] == 'e' ? acct_group_epsilon(r, parts, q->group, q->delta, &a->bound)
					: acct_group_delta(r, parts, q->group, q->epsilon, &a->bound);
	free(r);
	return rc;
}

static enum acct_rc ask(const struct cmd_question *q, const char *quantity, const struct acct_spec *round,
	size_t parts, struct acct_method_answer *a, const char **why)
{
	if (q->group > 1)
		return of_group(q, quantity, round, parts, a, why);
	return quantity[0] == 'e' ? cmd_epsilon(q->method[0], q->published, round, parts, q->delta, a, why)
				  : cmd_delta(q->method[0], q->published, round, parts, q->epsilon, a, why);
}

static enum cm_rc answer(const struct cmd_question *q, const char *quantity)
{
	struct acct_spec *round = NULL;
	struct acct_method_answer a;
	const char *why;
	size_t parts;
	enum cm_rc code;

	if (q->group > 1 && (q->published || q->method[0] != acct_method_row(0)))
		return cmd_fail(CM_EUSAGE, "--group goes with method pld and --bound proved");
	code = cmd_rounds(q->text, q->rounds, q->published, &round, &parts);
	if (!round)
		return code;
	double start = cmd_now();
	enum acct_rc rc = ask(q, quantity, round, parts, &a, &why);
	if (rc)
		code = cmd_refused(q->method[0], rc, why);
	else
		print(q, quantity, &a, cmd_repetitions(round, parts), cmd_now() - start);
	free(round);
	return code;
}

enum cm_rc cmd_run_epsilon(const struct cmd_question *q)
{
	return answer(q, "epsilon");
}

enum cm_rc cmd_run_delta(const struct cmd_question *q)
{
	return answer(q, "delta");
}
