/* cl_check.h - `check`: is the daemon up, the budget not spent, the certificate not about to end? */
#pragma once

#include "cl_conf.h"
#include "cm_health.h"

/* What there is to say, for cm_health_end. */
void cl_check(const struct cl_setup *setup, struct cm_health *h);
