/* opened.h - a bucket opened with the root that it has. */
#pragma once

#include "an_open.h"
#include "bucket_root.h"

/* Calls an_open_bucket, and ends the program if the bucket has another root than rd_manifest.h gives it. */
static inline enum cm_rc open_bucket(
	struct an_open *o, const uint8_t *sealed, size_t n, size_t len, struct cm_err *err)
{
	uint8_t root[PR_HASH_LEN];
	bool right = false;

	bucket_root(sealed, n, len, root);
	enum cm_rc rc = an_open_bucket(o, sealed, n, root, &right, err);
	if (rc == CM_OK && !right)
		abort();
	return rc;
}
