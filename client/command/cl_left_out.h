/* cl_left_out.h - says why devices of a round were not taken, for the log and for `check`. */
#pragma once

#include "cl_conf.h"
#include "cl_reports.h"

/* Whether a device of this round was over a limit, closed, or never answered. */
bool cl_left_out_any(const struct cl_counts *counts);
/* Write a sentence with the setting and both values; target is the round's.  Reads the client's
 * certificate. */
void cl_left_out_words(const struct cl_setup *setup, uint64_t target, const struct cl_counts *counts,
	char *out, size_t size);
