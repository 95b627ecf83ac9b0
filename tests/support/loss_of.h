/* loss_of.h - a loss of one round of the accountant. */
#pragma once

#include "pt_loss.h"

static inline struct pt_loss loss_of(const struct acct_round *r)
{
	struct pt_loss loss = { .pure = 0 };

	loss.part[0] = *r;
	loss.parts = 1;
	return loss;
}
