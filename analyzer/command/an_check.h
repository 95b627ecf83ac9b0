/* an_check.h - `check` and `check-config`: verify that this analyzer and its files are in order. */
#pragma once

#include "an_conf.h"
#include "nt_health.h"

/* Verify plan, ledger and certificate, and ask the daemon if it has an HTTP address.  Adds every finding to
 * `h`; the caller prints them with nt_health_end. */
void an_check(const struct an_conf *conf, struct nt_health *h);

/* Verify what the configuration loaded from `file` names: addresses, keys, certificates.  Prints every fault
 * to `faults`, and puts the first into err. */
CM_CHECK enum cm_rc an_conf_check(
	const struct cf_file *file, const struct an_conf *conf, FILE *faults, struct cm_err *err);
