/* sh_mend.h - the verbs by which an operator goes on after a loss.  The daemon must not run. */
#pragma once

#include "cm_cli.h"

enum { SH_MEND_CONFIRM }; /* the option: what is lost, by name */
#define SH_MEND_OPTIONS(what, why)                                      \
	{                                                               \
		[SH_MEND_CONFIRM] = { "confirm", (what), (why), false } \
	}

/* `accept-loss`: begin a new state in place of one that is lost. */
CM_CHECK enum cm_rc sh_mend_accept_loss(const struct cm_cli *cli, int *exit_code, struct cm_err *err);
/* `round give-up N`: end a round that cannot go on, because its key or its messages are lost. */
CM_CHECK enum cm_rc sh_mend_give_up(const struct cm_cli *cli, int *exit_code, struct cm_err *err);
