/* rd_together.c - sums epsilon0 over the reports of a device. */
#include "rd_together.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The functions that compute an epsilon0 from chances may be this much below it. */
#define ROUNDING 0x1p-46

static double up(double v)
{
	return nextafter(v, INFINITY);
}

static void add_name(struct rd_together *t, const char *name)
{
	size_t n = strlen(t->unprotected), room = sizeof t->unprotected - n;

	if (n >= 3 && strcmp(t->unprotected + n - 3, "...") == 0)
		return;
	if (strlen(name) + sizeof ", , ..." > room)
		(void)snprintf(t->unprotected + n, room, "%s...", n > 0 ? ", " : "");
	else
		(void)snprintf(t->unprotected + n, room, "%s%s", n > 0 ? ", " : "", name);
}

void rd_together_add(struct rd_together *t, const struct rd_descriptor *d, uint64_t tries, const char *name)
{
	double one = fmax(d->privacy.epsilon0, d->randomizer.row->epsilon0(&d->randomizer));

	if (tries == 0)
		return;
	t->reports += tries;
	if (isfinite(one)) {
		t->epsilon0 = up(t->epsilon0 + up(up(one * (1 + ROUNDING)) * (double)tries));
	} else {
		t->unbounded += tries;
		add_name(t, name);
	}
}

double rd_together_epsilon0(const struct rd_together *t)
{
	return t->unbounded > 0 ? (double)INFINITY : t->epsilon0;
}

void rd_together_words(const struct rd_together *t, char *out, size_t size)
{
	double shown = ceil(t->epsilon0 * 1e4) / 1e4;

	if (t->unbounded == 0)
		(void)snprintf(out, size,
			"epsilon0 %.4f summed over %" PRIu64
			" report%s: what shuffler and analyzer together could learn of a device",
			shown, t->reports, t->reports == 1 ? "" : "s");
	else
		(void)snprintf(out, size,
			"unbounded: rounds %s have epsilon0 = inf, so shuffler and analyzer together could learn "
			"all of a device's value; the other %" PRIu64 " reports sum to epsilon0 %.4f",
			t->unprotected, t->reports - t->unbounded, shown);
}
