/* cl_saved.h - stores a fetched round in two files and loads it: a tombola.v1.Round, and its
 * tombola.v1.SignedPlan in a second file whose name ends in ".plan". */
#pragma once

#include "cl_loop.h"

/* Load both files into *out, which cl_fetched_init prepared.  The plan's file may be absent.  CM_ENOINPUT,
 * CM_EDATA. */
CM_CHECK enum cm_rc cl_saved_load(const char *path, struct cl_fetched *out, struct cm_err *err);
CM_CHECK enum cm_rc cl_saved_store(const char *path, struct cl_fetched *round, struct cm_err *err);
