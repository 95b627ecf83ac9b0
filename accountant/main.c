/* main.c - tombola-accountant: the options, one question, one answer. */
#include <ctype.h>
#include <getopt.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "acct.h"
#include "acct_spec.h"

#define MOST_ROUNDS 1024u

enum { EXIT_USAGE = 64, EXIT_DATA = 65, EXIT_INTERNAL = 70, EXIT_WRITE = 74 };

enum verb { EPSILON, DELTA, ROUNDS, VERBS };

static const char *const verb_name[VERBS] = { "epsilon", "delta", "rounds" };

struct question {
	enum verb verb;
	double epsilon, delta; /* NAN when not given */
	struct acct_round *round;
	size_t rounds;
	bool json;
};

struct answer {
	struct acct_bound epsilon, delta;
	uint64_t fit; /* rounds: how many times the list fits */
	double seconds;
};

static const char usage[] =
	"Usage: tombola-accountant epsilon --delta D --round SPEC [--round SPEC ...] [--json]\n"
	"       tombola-accountant delta --epsilon E --round SPEC [--round SPEC ...] [--json]\n"
	"       tombola-accountant rounds --epsilon E --delta D --round SPEC [--round SPEC ...] [--json]\n"
	"\n"
	"Certified privacy of shuffled rounds: a lower and an upper bound on the exact value; rely on the "
	"upper one.\n"
	"rounds: how many times over the listed rounds may be run.\n"
	"\n"
	"  --delta D, --epsilon E   the guarantee, epsilon in nats\n"
	"  --round SPEC             name:key=value,... with n= participants and count= repetitions; names:\n"
	"                           generic:eps0= | rr:eps0= | grr:k=,eps0= | vrr:s=,eps0= | "
	"rappor:d=,eps0=\n"
	"                           bins:k=,dummies= | mixbins:k=,eps0=,dummies= (eps0=inf allowed)\n"
	"                           pair:p=,beta=,q=[,q2=] | cells:omega=a/b/..,u=a/b/..,v=a/b/..\n"
	"  --method pld             the method (only pld)\n"
	"  --bound proved           the reduction (only proved)\n"
	"  --json                   one JSON object; an infinite bound is null\n"
	"  -h, --help; -V, --version\n";

__attribute__((format(printf, 2, 3))) static int fail(int code, const char *format, ...)
{
	va_list ap;

	fputs("tombola-accountant: ", stderr);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputc('\n', stderr);
	return code;
}

static int read_number(const char *name, const char *text, double *out)
{
	char *end;

	*out = strtod(text, &end);
	if (end == text || *end || isnan(*out) || isspace((unsigned char)*text))
		return fail(EXIT_USAGE, "--%s %s is not a number", name, text);
	return 0;
}

static int add_round(struct question *q, const char *text)
{
	char why[256];
	struct acct_spec spec;

	if (q->rounds == MOST_ROUNDS)
		return fail(EXIT_USAGE, "more than %u rounds", MOST_ROUNDS);
	if (acct_spec_parse(text, &spec, why, sizeof why))
		return fail(EXIT_DATA, "--round %.80s: %s", text, why);
	q->round[q->rounds++] = spec.round;
	return 0;
}

static int check_question(const struct question *q)
{
	if (q->rounds == 0)
		return fail(EXIT_USAGE, "%s: --round is missing", verb_name[q->verb]);
	if (q->verb != EPSILON && isnan(q->epsilon))
		return fail(EXIT_USAGE, "%s: --epsilon is missing", verb_name[q->verb]);
	if (q->verb != DELTA && isnan(q->delta))
		return fail(EXIT_USAGE, "%s: --delta is missing", verb_name[q->verb]);
	if (q->verb == EPSILON && !isnan(q->epsilon))
		return fail(EXIT_USAGE, "epsilon: --epsilon is the answer, not an option");
	if (q->verb == DELTA && !isnan(q->delta))
		return fail(EXIT_USAGE, "delta: --delta is the answer, not an option");
	if (!isnan(q->delta) && !(q->delta > 0 && q->delta < 1))
		return fail(EXIT_USAGE, "--delta must be above 0 and below 1");
	if (!isnan(q->epsilon) && !(q->epsilon >= 0 && q->epsilon < INFINITY))
		return fail(EXIT_USAGE, "--epsilon must be finite and not negative");
	return 0;
}

/* 0: go on; else an exit code, or -1 when help or version was printed. */
static int parse(int argc, char **argv, struct question *q)
{
	static const struct option options[] = { { "delta", required_argument, NULL, 'd' },
		{ "epsilon", required_argument, NULL, 'e' }, { "round", required_argument, NULL, 'r' },
		{ "method", required_argument, NULL, 'm' }, { "bound", required_argument, NULL, 'b' },
		{ "json", no_argument, NULL, 'j' }, { "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' }, { NULL, 0, NULL, 0 } };
	int c, rc = 0;

	opterr = 0;
	while (!rc && (c = getopt_long(argc, argv, ":hV", options, NULL)) != -1) {
		if (c == 'd')
			rc = read_number("delta", optarg, &q->delta);
		else if (c == 'e')
			rc = read_number("epsilon", optarg, &q->epsilon);
		else if (c == 'r')
			rc = add_round(q, optarg);
		else if (c == 'm' && strcmp(optarg, "pld") != 0)
			rc = fail(EXIT_USAGE, "--method %s is not available; available: pld", optarg);
		else if (c == 'b' && strcmp(optarg, "proved") != 0)
			rc = fail(EXIT_USAGE, "--bound %s is not available; available: proved", optarg);
		else if (c == 'j')
			q->json = true;
		else if (c == 'h' || c == 'V') {
			fputs(c == 'h' ? usage : "tombola-accountant " TOMBOLA_VERSION "\n", stdout);
			return -1;
		} else if (c == ':')
			rc = fail(EXIT_USAGE, "option %s needs a value", argv[optind - 1]);
		else if (c == '?' && optopt)
			rc = fail(EXIT_USAGE, "no such option '-%c' (try --help)", optopt);
		else if (c == '?')
			rc = fail(EXIT_USAGE, "no such option '%s' (try --help)", argv[optind - 1]);
	}
	if (rc)
		return rc;
	if (optind >= argc)
		return fail(EXIT_USAGE, "say what to compute: epsilon, delta or rounds (try --help)");
	while (q->verb < VERBS && strcmp(argv[optind], verb_name[q->verb]) != 0)
		q->verb++;
	if (q->verb == VERBS)
		return fail(EXIT_USAGE, "no such verb '%s': epsilon, delta or rounds", argv[optind]);
	if (optind + 1 < argc)
		return fail(EXIT_USAGE, "unexpected argument '%s'", argv[optind + 1]);
	return check_question(q);
}

/* The upper bound on epsilon of the list run `times` times, or INFINITY when a count grows too large. */
static enum acct_rc repeated(const struct question *q, uint64_t times, struct acct_bound *eps)
{
	struct acct_round *copy = calloc(q->rounds > 0 ? q->rounds : 1, sizeof *copy);
	enum acct_rc rc = ACCT_ENOMEM;

	if (!copy)
		return rc;
	memcpy(copy, q->round, q->rounds * sizeof *copy);
	rc = ACCT_OK;
	for (size_t i = 0; i < q->rounds; i++) {
		copy[i].count *= times; /* at most 1e6 * 1e6 */
		if (copy[i].count > ACCT_MAX_COUNT)
			rc = ACCT_ELIMIT;
	}
	if (!rc)
		rc = acct_epsilon(copy, q->rounds, q->delta, eps);
	free(copy);
	return rc;
}

/* The largest number of repetitions whose upper bound is within epsilon. */
static enum acct_rc how_many(const struct question *q, struct answer *a)
{
	uint64_t fits = 0, most = ACCT_MAX_COUNT, next = 1;
	enum acct_rc rc;

	for (size_t i = 0; i < q->rounds; i++)
		if (ACCT_MAX_COUNT / q->round[i].count < most)
			most = ACCT_MAX_COUNT / q->round[i].count;
	uint64_t refused = most + 1;
	a->epsilon = (struct acct_bound){ 0, 0 };
	while (fits + 1 < refused) {
		struct acct_bound eps;

		rc = repeated(q, next, &eps);
		if (rc)
			return rc;
		if (eps.upper <= q->epsilon) {
			fits = next;
			a->epsilon = eps;
			next = refused > most && 2 * fits <= most ? 2 * fits : fits + (refused - fits) / 2;
		} else {
			refused = next;
			next = fits + (refused - fits) / 2;
		}
	}
	a->fit = fits;
	return ACCT_OK;
}

static enum acct_rc ask(const struct question *q, struct answer *a)
{
	a->epsilon = (struct acct_bound){ q->epsilon, q->epsilon };
	a->delta = (struct acct_bound){ q->delta, q->delta };
	if (q->verb == EPSILON)
		return acct_epsilon(q->round, q->rounds, q->delta, &a->epsilon);
	if (q->verb == DELTA)
		return acct_delta(q->round, q->rounds, q->epsilon, &a->delta);
	return how_many(q, a);
}

static void print_json_number(const char *name, double x)
{
	if (isfinite(x))
		printf(",\"%s\":%.17g", name, x);
	else
		printf(",\"%s\":null", name);
}

/* Nine digits, rounded outwards: a printed bound is a bound. */
static double up(double x)
{
	return x * (1 + 1e-9);
}

static double down(double x)
{
	return x * (1 - 1e-9);
}

static void print_answer(const struct question *q, const struct answer *a)
{
	uint64_t rounds = 0;

	for (size_t i = 0; i < q->rounds; i++)
		rounds += q->round[i].count;
	if (q->json) {
		printf("{\"schema\":\"tombola.accountant/1\"");
		print_json_number("epsilon_lower", a->epsilon.lower);
		print_json_number("epsilon_upper", a->epsilon.upper);
		print_json_number("delta_lower", a->delta.lower);
		print_json_number("delta_upper", a->delta.upper);
		printf(",\"method\":\"pld\",\"bound\":\"proved\",\"rounds\":%llu",
			(unsigned long long)rounds);
		if (q->verb == ROUNDS)
			printf(",\"fit\":%llu", (unsigned long long)a->fit);
		print_json_number("seconds", a->seconds);
		printf("}\n");
	} else if (q->verb == EPSILON) {
		printf("epsilon at most %.9g (at least %.9g) at delta %g\n", up(a->epsilon.upper),
			down(a->epsilon.lower), q->delta);
	} else if (q->verb == DELTA) {
		printf("delta at most %.9g (at least %.9g) at epsilon %g\n", up(a->delta.upper),
			down(a->delta.lower), q->epsilon);
	} else {
		printf("the list fits %llu times: epsilon at most %.9g at delta %g\n",
			(unsigned long long)a->fit, up(a->epsilon.upper), q->delta);
	}
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
	struct question q = { .epsilon = NAN, .delta = NAN };
	struct answer a = { .fit = 0 };
	int code = EXIT_INTERNAL;

	q.round = calloc(MOST_ROUNDS, sizeof *q.round);
	if (!q.round)
		return fail(EXIT_INTERNAL, "out of memory");
	code = parse(argc, argv, &q);
	if (code)
		goto out;
	double start = now();
	enum acct_rc rc = ask(&q, &a);
	a.seconds = now() - start;
	if (rc) {
		code = fail(rc == ACCT_ENOMEM ? EXIT_INTERNAL : EXIT_DATA, "%s", acct_strerror(rc));
		goto out;
	}
	print_answer(&q, &a);
out:
	free(q.round);
	if (code <= 0) {
		code = 0;
		if (fflush(stdout) || ferror(stdout))
			code = fail(EXIT_WRITE, "cannot write the answer");
	}
	return code;
}
