/* an_check.h - `check` and `check-config`: verify that this analyzer and its files are in order. */
#pragma once

#include "an_conf.h"
#include "nt_health.h"

/* Verify plan, ledger and certificate, and ask the daemon if it has an HTTP address.  Adds every finding to
 * `h`; the caller prints them with nt_health_end. */
void an_check(const struct an_conf *conf, struct nt_health *h);

/* Verify what a configuration loaded from `file` names, as far as it names it: addresses, keys, certificates.
 * Prints every fault to `faults`, and puts the first into *err, whose code is CM_OK before. */
void an_conf_check(const struct cf_file *file, const struct an_conf *conf, FILE *faults, struct cm_err *err);

/* What a start would find in the state folder, as an_conf_check says it.  planned: the plan file is whole;
 * without it the ledger is only read.  Changes nothing. */
void an_state_check(const struct an_conf *conf, bool planned, FILE *faults, struct cm_err *err);
