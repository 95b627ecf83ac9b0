/* cl_check.h - `check` tests that the daemon answers, that budget is left, and that the certificate is not
 * about to expire; check-config also reports on the readings. */
#pragma once

#include "cl_conf.h"
#include "nt_health.h"

/* Add every finding to `h`; the caller prints them with nt_health_end. */
void cl_check(const struct cl_setup *setup, struct nt_health *h);

/* Add a finding for each file of readings that no round could read.  Whether a file exists and what is in
 * it may depend on readings, and a journal keeps what is printed.  So a file that is missing, has another
 * form or lacks the devices' column is reported to a person at a terminal only. */
void cl_check_input(const struct cl_setup *s, FILE *faults, struct cm_err *first);
