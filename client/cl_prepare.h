/* cl_prepare.h - everything before the first random bit: the descriptor judged, the readings read, one value
 * per device.  Blocking; knows files and the database, no network. */
#pragma once

#include "cl_batch.h"
#include "cl_conf.h"
#include "cl_judge.h"
#include "cm_secret.h"

/* Where readings come from. */
struct cl_input {
	const char *path; /* "-": stdin */
	/* Instead of a file: hand every reading to the reader's callbacks, at line 0.  `path` is its name in
	 * messages. On the thread that prepares. */
	enum cm_rc (*feed)(void *user, const struct cl_reader_conf *conf, struct cm_err *err);
	void *user;
	enum cl_format format;
	const char *device_field; /* NULL: every row its own device */
	uint64_t limit;           /* devices; 0: no limit */
	bool strict;              /* a bad row ends it */
};

#define CL_PLACE_MAX 200u /* bytes of an input's name in a message */

/* What became of the rows.  Texts hold places, never values. */
struct cl_rows {
	uint64_t rows, bad, out_of_domain, clamped, duplicates, over_limit;
	char first_bad[320]; /* "file:line: what"; "" if none; of a long path the last CL_PLACE_MAX bytes */
};

struct cl_prepared {
	struct cl_judgement j;
	struct cl_batch *batch; /* shuffled; NULL when nothing more is to be encoded */
	struct cl_rows rows;
};

/* Read the input for a round into a shuffled batch, leaving out the devices of `taken` (the active round's in
 * db, when not NULL).  Where the round has classes all are of the policy's.  CM_EDATA: unreadable, a bad row
 * under strict. */
CM_CHECK enum cm_rc cl_prepare_batch(const struct cl_input *in, const struct rd_descriptor *d,
	const struct cl_policy *policy, const struct cm_key *secret, const struct cm_rng *rng,
	struct cl_db *taken, struct cl_batch **out, struct cl_rows *rows, struct cm_err *err);

struct cl_prepare_job {
	struct cl_db *db;
	const struct cl_setup *setup;
	const struct cl_input *input; /* NULL: only what is stored already */
	const struct cm_key *secret;
	const uint8_t *descriptor, *signature; /* as received */
	size_t descriptor_len, signature_len;
	int64_t now_ms;
};
/* CM_OK: *out says what to encode (batch NULL: nothing more) for the round it judged.  A refusal as cl_judge
 * says. Free with cl_prepared_fini in both cases. */
CM_CHECK enum cm_rc cl_prepare(const struct cl_prepare_job *job, struct cl_prepared *out, struct cm_err *err);
void cl_prepared_fini(struct cl_prepared *p);
