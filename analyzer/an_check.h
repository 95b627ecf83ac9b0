/* an_check.h - `check` and `check-config`: is this analyzer in order, are its files? */
#pragma once

#include "an_conf.h"
#include "cm_health.h"

/* Verify plan, ledger and certificate; ask the daemon when it has an HTTP address.  For cm_health_end. */
void an_check(const struct an_conf *conf, struct cm_health *h);

/* What a configuration that was just loaded from `path` names: addresses, keys, certificates.  Every fault is
 * said on `faults`, the first also to err. */
CM_CHECK enum cm_rc an_conf_check(
	const char *path, const struct an_conf *conf, FILE *faults, struct cm_err *err);
