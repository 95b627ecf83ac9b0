/* cl_prepare.h - prepares a round before any value is randomized: judges the descriptor, lists the devices,
 * reads the readings, chooses one value per device.  The call blocks; it uses files and the database, no
 * network. */
#pragma once

#include "cl_batch.h"
#include "cl_conf.h"
#include "cl_devices.h"
#include "cl_judge.h"
#include "cl_payload.h"
#include "cl_values.h"
#include "cr_secret.h"

/* A row of the input and what became of it.  Verbs that send nothing use it to show readings to their
 * owner. */
struct cl_seen {
	const struct cl_row *row;
	const uint8_t *pseudonym;     /* NULL if the row does not tell which device it is of */
	uint32_t missing;             /* how many of the round's fields have no valid reading */
	bool clamped;                 /* a number was outside its range */
	const struct qy_value *value; /* NULL if no field has a valid reading */
};

/* The source of readings. */
struct cl_input {
	const char *path; /* "-" stands for stdin */
	bool again;       /* the file is read in more than one round */
	/* Used instead of a file: it hands every reading to the reader's callbacks, with line number 0.
	 * `path` is then the name that errors give to the input.  Called on the thread that prepares. */
	enum cm_rc (*feed)(void *user, const struct cl_reader_conf *conf, struct cm_err *err);
	void *user;
	enum cl_format format;
	const char *labels;       /* for a .npy: the array of its labels; NULL if there is none */
	const char *device_field; /* NULL if every row is a device of its own */
	const struct cl_map *map; /* for a file of CSV or JSON, borrowed; NULL if there is no map */
	struct cl_csv_form csv;
	/* The participating devices; NULL if the rows of the file name them. */
	const struct cl_devices *devices;
	/* The bytes that the round's map reads, if they have arrived.  Borrowed until the round is
	 * sealed. */
	struct cl_payload_bytes payload;
	/* With a list of devices: a file that is absent or does not have its form counts as a file without
	 * rows.  Whether a producer wrote a file may depend on what it read. */
	bool may_be_absent;
	uint64_t limit; /* use the first `limit` devices; 0 means all */
	/* With a list of devices: rows that are not read by then (cm_clock_mono_ns) are left out, and
	 * devices without a row until then have no reading.  0: everything is read. */
	int64_t until_ns;
	void (*seen)(void *seer, const struct cl_seen *s); /* called for each row unless it is NULL */
	void *seer;
	bool strict; /* fail at a bad row; only for verbs that send nothing, because a failure reveals
		      * something about the row */
};

#define CL_PLACE_MAX 200u /* bytes of an input's name in a message */

/* Counts of rows.  They depend on the readings, so they are private and shown only on request.  Texts hold
 * places, never values. */
struct cl_rows {
	uint64_t rows, bad, out_of_domain, clamped, duplicates, unlisted;
	uint64_t none; /* devices that took part without a reading */
	bool late;     /* the time was over before all was read */
	/* "file:line: text", empty if no row was bad; a long path is cut to its last CL_PLACE_MAX bytes */
	char first_bad[320];
};

struct cl_prepared {
	struct cl_judgement j;
	struct cl_batch *batch; /* complete; NULL if nothing is left to encode */
	struct cl_rows rows;
	struct cl_payload_bytes payload; /* the payload of the input */
	/* the moment at which reading ends (cm_clock_mono_ns), whatever the readings are; 0: there is
	 * none */
	int64_t read_ns;
	/* Wall time at which all values count as computed by programs, whatever the programs did; 0 if the
	 * round asks for no program. */
	int64_t computed_ms;
};

/* Read the input of a round into a complete batch: every listed device has its reading or NONE.  Devices in
 * `taken` are left out (those of the active round in that db; may be NULL).  In a round with classes all
 * devices get the policy's class.  In a round that computes, the batch holds readings (cl_values.h).
 * CM_EDATA, CM_ENOINPUT: the file's form is wrong, unless may_be_absent allows it; with strict also a bad
 * row. */
CM_CHECK enum cm_rc cl_prepare_batch(const struct cl_input *in, const struct rd_descriptor *d,
	const struct cl_policy *policy, const struct cr_key *secret, const struct cr_rng *rng,
	struct cl_db *taken, struct cl_batch **out, struct cl_rows *rows, struct cm_err *err);

/* Set the time at which readings are read: in->until_ns, and *read_ns as in cl_prepared (cd_times.h).  The
 * round came at from_ms by the wall clock and was judged for judging_ms. */
void cl_prepare_times(const struct cl_conf *conf, const struct rd_descriptor *d, int64_t from_ms,
	int64_t judging_ms, struct cl_input *in, int64_t *read_ns);

struct cl_prepare_job {
	struct cl_db *db;
	const struct cl_setup *setup;
	const struct cl_input *input; /* NULL: use only the stored reports */
	const struct cr_key *secret;
	const uint8_t *descriptor, *signature; /* as received */
	size_t descriptor_len, signature_len;
	int64_t now_ms;
	int64_t from_ms;    /* wall time at which the round came; 0 if reading has no fixed time */
	const char *absent; /* as in struct cl_judge_job */
	/* Tells whether the round's payload has arrived or cannot be had; while that is not decided, the
	 * round needs it first.  NULL: the round is prepared without asking for a payload. */
	const struct cl_payload *payload;
	const atomic_bool *stop;
};
/* CM_OK: *out holds the judged round and the devices to encode (batch is NULL if none are left).  CM_EMORE
 * and refusals are those of cl_judge.  Call cl_prepared_fini on success and on failure. */
CM_CHECK enum cm_rc cl_prepare(const struct cl_prepare_job *job, struct cl_prepared *out, struct cm_err *err);
void cl_prepared_fini(struct cl_prepared *p);
