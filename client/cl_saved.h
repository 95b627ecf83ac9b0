/* cl_saved.h - a round as the shuffler served it, kept in a file: one tombola.v1.Round. */
#pragma once

#include "cm_buf.h"
#include "pr_limits.h"

/* Append the descriptor's bytes.  CM_ENOINPUT, CM_EDATA. */
CM_CHECK enum cm_rc cl_saved_load(
	const char *path, struct cm_buf *descriptor, uint8_t signature[PR_SIGNATURE_LEN], struct cm_err *err);
CM_CHECK enum cm_rc cl_saved_store(const char *path, const struct cm_buf *descriptor,
	uint8_t signature[PR_SIGNATURE_LEN], struct cm_err *err);
