/* sh_recover.h - the verbs with which an operator resumes work after a loss.  The daemon must not run. */
#pragma once

#include "cm_cli.h"

/* Options: the name of what is lost; the number of witnessed records to close; whether the population is
 * given up. */
enum { SH_RECOVER_CONFIRM, SH_RECOVER_LEDGER, SH_RECOVER_SPENT };
/* The option of `round give-up` by which the operator states that this state is the newest that ever
 * existed. */
enum { SH_GIVE_UP_NEWEST = SH_RECOVER_CONFIRM + 1 };
#define SH_RECOVER_OPTIONS(what, why) [SH_RECOVER_CONFIRM] = CM_OPTION("confirm", what, why)

/* `accept-loss`: create a new state.db in place of a lost one.  This never resets a budget: plans that the
 * lost state may have pinned are closed, and their slices count as spent.  The daemon learns which plans
 * these are from the clients that connect; --ledger N closes N records in any case.  With --spent the daemon
 * asks no client, and closes every plan that it will ever see. */
CM_CHECK enum cm_rc sh_recover_accept_loss(const struct cm_cli *cli, int *exit_code, struct cm_err *err);
/* `round give-up N`: end a round that cannot continue because its key or its messages are lost.  Its entry is
 * spent: a state that was restored cannot tell whether the lost one sealed and released the round since, and
 * a VOID manifest would let the devices answer the entry again.  With --newest, the operator's word that this
 * is no copy, a round that is collecting here ends with a VOID manifest: no message was released. */
CM_CHECK enum cm_rc sh_recover_give_up(const struct cm_cli *cli, int *exit_code, struct cm_err *err);
