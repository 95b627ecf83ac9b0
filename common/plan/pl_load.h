/* pl_load.h - reads and checks the file of a plan. */
#pragma once

#include "pl_plan.h"
#include "pl_wish.h"

/* Read and check a plan.  Every fault is written to `faults` as "file:line: text" (NULL: nowhere), the first
 * also to err; CM_ECONFIG then, CM_ENOINPUT without a file.  Anybody may have written the file, since nobody
 * signs the plan.  Free with pl_plan_fini in either case. */
CM_CHECK enum cm_rc pl_plan_load(const char *path, FILE *faults, struct pl_plan *out, struct cm_err *err);
/* The same for n bytes in memory; `name` stands for the file. */
CM_CHECK enum cm_rc pl_plan_parse(const uint8_t *bytes, size_t n, const char *name, FILE *faults,
	struct pl_plan *out, struct cm_err *err);
/* The same for a plan that is to be signed: nobody but this user and root may be able to write its file
 * (cm_owned_check).  kept: file that may hold what "auto" chose before (pl_kept.h), which is then not
 * searched again; NULL: none. */
CM_CHECK enum cm_rc pl_plan_load_kept(
	const char *path, const char *kept, FILE *faults, struct pl_plan *out, struct cm_err *err);
/* The digest of a plan's file as it is now, as struct pl_plan has it of the file that was read.  Errors as
 * cm_file_read. */
CM_CHECK enum cm_rc pl_plan_digest(const char *path, uint8_t out[PR_HASH_LEN], struct cm_err *err);
/* Write the file `kept`, if "auto" searched anything. */
CM_CHECK enum cm_rc pl_plan_keep(const struct pl_plan *p, const char *kept, struct cm_err *err);
/* The same for pl_optimise: the text has wishes (pl_wish.h), each of which is read as the number 1. */
CM_CHECK enum cm_rc pl_plan_parse_open(const uint8_t *bytes, size_t n, const char *name,
	const struct pl_wishes *open, FILE *faults, struct pl_plan *out, struct cm_err *err);

/* Print a commented sample of a plan file. */
void pl_plan_sample(FILE *out);
