/* sh_round_private.h - what the two files of sh_round.h share. */
#pragma once

#include "sh_round.h"

/* Make this state durable in the round's row. */
CM_CHECK enum cm_rc sh_round_put(const struct sh_round *r, enum sh_state state, struct cm_err *err);
void sh_segments_init(struct sh_round *r);
/* Wipe what was read of the round. */
void sh_segments_fini(struct sh_round *r);
