/* bench_choose.c - which protocol: error and bytes at equal central (epsilon, delta), and what "auto"
 * chooses.
 *
 *   bench_choose [EPSILON DELTA]       markdown tables; 1 and 1e-8 by default */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pl_choose.h"
#include "pl_mu.h"
#include "pr_limits.h"

static const uint32_t domains[] = { 16, 256, 4096 };
static const uint64_t batches[] = { 10000, 100000, 1000000 };
#define COLUMNS 9

struct cell {
	double error, epsilon0;
	uint64_t bytes;
	uint32_t dummies;
};

static double target = 1, delta = 1e-8;

static struct pl_need need_of(const struct qy_query *q, uint64_t n)
{
	return (struct pl_need){
		.query = q, .reports = n, .honest = n, .epsilon = target, .delta = delta, .max_bytes = 1048320
	};
}

/* Does it fit, and is it better? */
static bool consider(
	const struct pl_need *n, const struct pt_protocol *row, const struct pt_request *r, struct cell *best)
{
	struct pt_randomizer p;
	struct pt_loss loss;
	struct acct_bound b = { 0, INFINITY };
	struct cm_err err = { 0 };
	double error;

	if (pt_derive(row, n->query, r, &p, &err) != CM_OK || pt_loss(&p, n->honest, &loss, &err) != CM_OK ||
		acct_epsilon(loss.part, loss.parts, n->delta, &b) != ACCT_OK || b.upper > n->epsilon)
		return false;
	error = pt_expected_error(n->query, &p, n->reports);
	if (error < best->error)
		*best = (struct cell){ error, row->device->epsilon0(&p), pl_bytes(row, &p),
			p.mixbins.dummies };
	return true;
}

/* The best that a row without dummies can do: from below in ever finer steps, for large answers are dear. */
static struct cell tuned(const struct pl_need *n, const struct pt_protocol *row)
{
	struct cell best = { .error = INFINITY };
	double low = 0;

	for (double step = 0.64; step > 0.004; step /= 4) {
		struct pt_request r = { .epsilon0 = low + step, .min_reports = n->reports };

		while (r.epsilon0 <= PT_EPSILON0_MAX && consider(n, row, &r, &best)) {
			low = r.epsilon0;
			r.epsilon0 += step;
		}
	}
	return best;
}

/* The fewest dummies of each device without a local guarantee. */
static struct cell fewest(const struct pl_need *n, const struct pt_protocol *row, uint32_t size)
{
	uint32_t low = 0, high = 1;
	struct cell best = { .error = INFINITY };
	struct pt_request r = { .epsilon0 = INFINITY, .min_reports = n->reports, .size = size };

	for (r.dummies = high; high < PR_BLANKET_MAX && !consider(n, row, &r, &best); r.dummies = high) {
		low = high;
		high *= 2;
	}
	while (high - low > 1) {
		r.dummies = low + (high - low) / 2;
		best.error = INFINITY;
		if (consider(n, row, &r, &best))
			high = r.dummies;
		else
			low = r.dummies;
	}
	best.error = INFINITY;
	r.dummies = high;
	return consider(n, row, &r, &best) ? best : (struct cell){ .error = INFINITY };
}

static struct cell chosen(struct pl_need n, double epsilon0, uint64_t bytes, bool shuffler, bool noise)
{
	struct pl_choice c;
	struct cm_err err = { 0 };

	n.epsilon0 = epsilon0;
	n.max_bytes = bytes;
	n.shuffler = shuffler;
	n.noise_delta = noise ? n.delta / 64 : 0;
	if (pl_choose(&n, &c, &err) != CM_OK)
		return (struct cell){ .error = INFINITY };
	return (struct cell){ c.best.error, c.best.protocol->device->epsilon0(&c.best.randomizer),
		c.best.bytes, c.best.randomizer.mixbins.dummies };
}

static void print_cell(struct cell c)
{
	if (isinf(c.error))
		printf(" - |");
	else if (c.bytes == 0)
		printf(" %.3g |", c.error);
	else
		printf(" %.3g @%llu |", c.error, (unsigned long long)c.bytes);
}

static void print_row(const char *name, const struct cell *cell)
{
	printf("| %s |", name);
	for (size_t i = 0; i < COLUMNS; i++)
		print_cell(cell[i]);
	putchar('\n');
	(void)fflush(stdout);
}

static void column(size_t i, struct qy_query *q, struct pl_need *n)
{
	*q = (struct qy_query){ .kind = QY_HISTOGRAM, .categories = domains[i % 3] };
	*n = need_of(q, batches[i / 3]);
}

/* Two categories change by one each: discrete Laplace noise of a = e^(-epsilon / 2), variance 2a / (1 - a)^2.
 * Gaussian noise for a shift of sqrt(2). */
static void print_marks(void)
{
	double a = exp(-target / 2);
	struct cell laplace[COLUMNS], gauss[COLUMNS], local[COLUMNS];

	for (size_t i = 0; i < COLUMNS; i++) {
		struct pt_request r = { .epsilon0 = target };
		struct qy_query q;
		struct pl_need n;
		struct pt_randomizer p;
		struct cm_err err = { 0 };

		column(i, &q, &n);
		laplace[i] = (struct cell){ .error = sqrt(2 * a) / (1 - a) };
		gauss[i] = (struct cell){ .error = sqrt(2) / pl_mu(target, delta) };
		local[i] = (struct cell){ .error = INFINITY };
		if (pt_derive(pt_find("olh"), &q, &r, &p, &err) == CM_OK)
			local[i] = (struct cell){ .error = pt_expected_error(&q, &p, batches[i / 3]) };
	}
	print_row("*central, discrete Laplace*", laplace);
	print_row("*central, Gaussian*", gauss);
	print_row("*local, olh with epsilon0 = epsilon*", local);
}

static void print_protocols(void)
{
	const struct pt_protocol *row;

	for (size_t j = 0; (row = pt_row(j)); j++) {
		struct cell cell[COLUMNS];
		bool any = false;

		if (!(row->device->kinds & QY_HISTOGRAM))
			continue;
		for (size_t i = 0; i < COLUMNS; i++) {
			struct qy_query q;
			struct pl_need n;

			column(i, &q, &n);
			cell[i] = tuned(&n, row);
			if (isinf(cell[i].error))
				cell[i] = fewest(&n, row, 0);
			any = any || isfinite(cell[i].error);
		}
		if (any)
			print_row(row->device->name, cell);
	}
}

static void print_choices(void)
{
	static const struct {
		const char *name;
		double epsilon0;
		uint64_t bytes;
		bool shuffler, noise;
	} wish[] = {
		{ "**auto**, epsilon0 8, 64 bytes", 8, 64, false, false },
		{ "**auto**, epsilon0 8, 16 kB", 8, 16384, false, false },
		{ "**auto**, inf, 64 bytes", INFINITY, 64, false, false },
		{ "**auto**, inf, 600 bytes", INFINITY, 600, false, false },
		{ "**auto**, inf, 16 kB", INFINITY, 16384, false, false },
		{ "`bins`, `shuffler_dummies`", INFINITY, 64, true, false },
		{ "**auto**, inf, the shuffler adds", INFINITY, 64, true, true },
	};
	double worst = 0;

	for (size_t k = 0; k < sizeof wish / sizeof *wish; k++) {
		struct cell cell[COLUMNS];

		for (size_t i = 0; i < COLUMNS; i++) {
			struct timespec t0, t1;
			struct qy_query q;
			struct pl_need n;

			column(i, &q, &n);
			(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t0);
			cell[i] = chosen(n, wish[k].epsilon0, wish[k].bytes, wish[k].shuffler, wish[k].noise);
			(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t1);
			worst = fmax(worst,
				(double)(t1.tv_sec - t0.tv_sec) + 1e-9 * (double)(t1.tv_nsec - t0.tv_nsec));
		}
		print_row(wish[k].name, cell);
	}
	printf("\nslowest choice: %.2f s\n", worst);
}

int main(int argc, char **argv)
{
	if (argc == 3) {
		target = strtod(argv[1], NULL);
		delta = strtod(argv[2], NULL);
	}
	if (!(target > 0 && target < 100 && delta > 0 && delta < 1)) {
		(void)fputs("usage: bench_choose [EPSILON DELTA]\n", stderr);
		return 64;
	}
	printf("error of a count @ sealed bytes of a device, central (%g, %g)\n\n| |", target, delta);
	for (size_t i = 0; i < COLUMNS; i++)
		printf(" n = %llu, d = %u |", (unsigned long long)batches[i / 3], (unsigned)domains[i % 3]);
	printf("\n|---|---|---|---|---|---|---|---|---|---|\n");
	print_marks();
	print_protocols();
	print_choices();
	return 0;
}
