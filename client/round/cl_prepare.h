/* cl_prepare.h - prepares a round before any value is randomized: judges the descriptor, lists the devices,
 * reads the readings, chooses one value per device.  Blocking; uses files and the database, no network. */
#pragma once

#include "cl_batch.h"
#include "cl_conf.h"
#include "cl_devices.h"
#include "cl_judge.h"
#include "cl_payload.h"
#include "cl_values.h"
#include "cr_secret.h"

/* A row of the input and what became of it: for verbs that send nothing, and show readings to their owner. */
struct cl_seen {
	const struct cl_row *row;
	const uint8_t *pseudonym;     /* NULL: it cannot be told which device this is */
	uint32_t missing;             /* how many of the round's fields have no valid reading */
	bool clamped;                 /* a number was outside its range */
	const struct qy_value *value; /* NULL: no field has a valid reading */
};

/* The source of readings. */
struct cl_input {
	const char *path; /* "-": stdin */
	bool again;       /* it is read in more than one round */
	/* Used instead of a file: hands every reading to the reader's callbacks, at line 0.  `path` is then
	 * its name in errors.  Called on the thread that prepares. */
	enum cm_rc (*feed)(void *user, const struct cl_reader_conf *conf, struct cm_err *err);
	void *user;
	enum cl_format format;
	const char *labels;       /* of a .npy: the array of its labels; NULL: none */
	const char *device_field; /* NULL: every row is a device of its own */
	const struct cl_map *map; /* of a file of CSV or JSON; NULL: none; borrowed */
	struct cl_csv_form csv;
	/* The participating devices; NULL: those that the file's rows name. */
	const struct cl_devices *devices;
	/* What the round's map reads, if it is there.  Borrowed until the round is sealed. */
	struct cl_payload_bytes payload;
	/* With a list: a file that is not there or not of its form has a reading of nobody, as one without
	 * rows has.  Whether a producer wrote a file may depend on what it read. */
	bool may_be_absent;
	uint64_t limit; /* use the first `limit` devices; 0: no limit */
	/* With a list: what is not read by then (cm_clock_mono_ns) is left out, and devices of which nothing
	 * was read have no reading.  0: everything is read. */
	int64_t until_ns;
	void (*seen)(void *seer, const struct cl_seen *s); /* called for each row; NULL: nobody looks */
	void *seer;
	bool strict; /* fail at a bad row; only for verbs that send nothing, because a failure reveals
		      * something about the row */
};

#define CL_PLACE_MAX 200u /* bytes of an input's name in a message */

/* Counts of rows.  They depend on the readings, so they are private and shown only on request.  Texts hold
 * places, never values. */
struct cl_rows {
	uint64_t rows, bad, out_of_domain, clamped, duplicates, unlisted;
	uint64_t none;       /* devices that took part without a reading */
	bool late;           /* the time was over before all was read */
	char first_bad[320]; /* "file:line: text"; "": none; of a long path only the last CL_PLACE_MAX
			      * bytes */
};

struct cl_prepared {
	struct cl_judgement j;
	struct cl_batch *batch; /* complete; NULL: nothing is left to encode */
	struct cl_rows rows;
	struct cl_payload_bytes payload; /* of the input */
	int64_t read_ns; /* when the readings are read (cm_clock_mono_ns), whatever they are; 0: no moment */
	/* Wall time at which programs have computed all values, which is no matter of what they did; 0: the
	 * round asks for none. */
	int64_t computed_ms;
};

/* Read the input of a round into a complete batch of every listed device, with a reading or NONE, except
 * those in `taken` (devices of the active round in that db; may be NULL).  In a round with classes all get
 * the policy's class.  In a round that computes, the batch holds readings (cl_values.h).  CM_EDATA,
 * CM_ENOINPUT: the file's form is wrong, unless it may be; with strict also a bad row. */
CM_CHECK enum cm_rc cl_prepare_batch(const struct cl_input *in, const struct rd_descriptor *d,
	const struct cl_policy *policy, const struct cr_key *secret, const struct cr_rng *rng,
	struct cl_db *taken, struct cl_batch **out, struct cl_rows *rows, struct cm_err *err);

/* Fix when the readings of a round that came at from_ms by the wall clock, and was judged for judging_ms, are
 * read: in->until_ns, and *read_ns as in cl_prepared (cl_times.h). */
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
	int64_t from_ms;    /* when the round came, by the wall clock; 0: its readings have any time */
	const char *absent; /* as in cl_judge_job */
	/* Whether a round's payload is here or not to be had; a round of which that is not known needs it
	 * first.  NULL: without asking for any. */
	const struct cl_payload *payload;
	const atomic_bool *stop;
};
/* CM_OK: *out holds the judged round and the devices to encode (batch NULL: none are left).  CM_EMORE and
 * refusals as cl_judge.  Call cl_prepared_fini on success and on failure. */
CM_CHECK enum cm_rc cl_prepare(const struct cl_prepare_job *job, struct cl_prepared *out, struct cm_err *err);
void cl_prepared_fini(struct cl_prepared *p);
