/* an_check.h - `check` and `check-config`: verify that this analyzer and its files are in order. */
#pragma once

#include "an_conf.h"
#include "nt_health.h"

/* Verify plan, ledger and certificate, and ask the daemon if it has an HTTP address.  Adds every finding to
 * `h`; the caller prints them with nt_health_end. */
void an_check(const struct an_conf *conf, struct nt_health *h);

/* Verify everything that a configuration loaded from `file` names: addresses, keys, certificates.  Prints
 * every fault to `faults`, and puts the first into *err, whose code must be CM_OK before. */
void an_conf_check(const struct cf_file *file, const struct an_conf *conf, FILE *faults, struct cm_err *err);

/* Report what a start would find in the state folder, in the way of an_conf_check.  planned: the plan file
 * has no faults; otherwise only the ledger is read.  Changes nothing. */
void an_state_check(const struct an_conf *conf, const struct cf_file *file, bool planned, FILE *faults,
	struct cm_err *err);
