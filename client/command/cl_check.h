/* cl_check.h - `check`: tests that the daemon answers, that budget is left, and that the certificate is not
 * about to expire. */
#pragma once

#include "cl_conf.h"
#include "nt_health.h"

/* Add every finding to `h`; the caller prints them with nt_health_end. */
void cl_check(const struct cl_setup *setup, struct nt_health *h);
