/* pl_why.c - explains the choice of protocol "auto" in words. */
#include "pl_why.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static void describe(const struct pl_candidate *c, char *out, size_t room)
{
	char dummies[32] = "", shuffler[64] = "", size[48] = "", levels[32] = "", local[48] = "no epsilon0";

	if (c->request.dummies > 0 || c->request.dummy_chance > 0)
		(void)snprintf(dummies, sizeof dummies, ", %.6g dumm%s",
			pt_dummies_each(c->request.dummies, c->request.dummy_chance),
			c->request.dummies == 1 && c->request.dummy_chance == 0 ? "y" : "ies");
	if (c->randomizer.shuffler.dummies > 0)
		(void)snprintf(shuffler, sizeof shuffler, ", %" PRIu64 " dummies of the shuffler",
			c->randomizer.shuffler.dummies);
	if (c->randomizer.shuffler.noise_mean > 0)
		(void)snprintf(shuffler, sizeof shuffler, ", noise of the shuffler, %u dummies a bin",
			(unsigned)c->randomizer.shuffler.noise_mean);
	if (c->request.slots != 0)
		(void)snprintf(size, sizeof size, ", %u slot%s, words of %u", (unsigned)c->request.slots,
			c->request.slots == 1 ? "" : "s", (unsigned)c->request.size);
	else if (c->request.size != 0 && c->protocol->device->kinds == QY_SETS)
		(void)snprintf(size, sizeof size, ", sets of %u", (unsigned)c->request.size);
	else if (c->request.size != 0)
		(void)snprintf(size, sizeof size, ", %u cells", (unsigned)c->request.size);
	if (c->request.levels != 0)
		(void)snprintf(levels, sizeof levels, ", %u levels", (unsigned)c->request.levels);
	if (isfinite(c->request.epsilon0))
		(void)snprintf(local, sizeof local, "epsilon0 %.4g%s", c->request.epsilon0,
			c->protocol->device->kinds == QY_PLACES ? ", less of places nearby" : "");
	(void)snprintf(out, room, "%s (%s%s%s%s%s): error %.3g, %" PRIu64 " bytes", c->protocol->device->name,
		local, levels, size, dummies, shuffler, c->error, c->bytes);
}

void pl_choice_why(const struct pl_choice *c, char out[PL_WHY_LEN])
{
	static const char *const limit[] = {
		[PL_LIMIT_BUDGET] = "the budget",
		[PL_LIMIT_BYTES] = "max_bytes",
		[PL_LIMIT_LOCAL] = "the cap on epsilon0",
	};
	char best[160], next[160] = "nothing else fits";

	describe(&c->best, best, sizeof best);
	if (c->next.protocol)
		describe(&c->next, next, sizeof next);
	(void)snprintf(out, PL_WHY_LEN, "%s; %s%s; %s binds", best, c->next.protocol ? "next " : "", next,
		limit[c->limit]);
}
