/* cl_check.h - `check`: tests that the daemon answers, that budget is left, and that the certificate is not
 * about to expire; and what check-config says of the readings. */
#pragma once

#include "cl_conf.h"
#include "nt_health.h"

/* Add every finding to `h`; the caller prints them with nt_health_end. */
void cl_check(const struct cl_setup *setup, struct nt_health *h);

/* Add a finding for each file of readings that no round could read.  Whether a file exists and what is in it
 * may depend on readings.  So only somebody at a terminal is told that it is missing, or that its form is
 * another or lacks the devices' column: a journal keeps what is printed. */
void cl_check_input(const struct cl_setup *s, FILE *faults, struct cm_err *first);
