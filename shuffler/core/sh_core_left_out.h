/* sh_core_left_out.h - counts the devices that a round does not take, and those whose clients decline it. */
#pragma once

#include "sh_core.h"

/* This client takes no part in the round with that sequence number, if it is the open one (sh_left_out.h). */
void sh_core_decline(
	struct sh_core *c, const struct cr_identity *who, uint64_t sequence, uint32_t why, uint64_t listed);

/* Count the devices of a Submit that its receipt says were not taken. */
void sh_core_count_left_out(
	struct sh_round *r, const struct cr_identity *peer, const struct sh_receipt *receipt);
