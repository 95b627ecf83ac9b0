/* cl_found.h - collects what the readings of one round hold: its devices, the readings that cannot be used
 * as they are, and their places. */
#pragma once

#include "cl_flaw.h"
#include "cl_prepare.h"

/* most kinds of flaws that are counted separately; further ones are counted in the last */
#define CL_FOUND_FLAWS 24u

struct cl_found_device {
	uint8_t pseudonym[PR_PSEUDONYM_LEN];
	char *name;    /* the name in its rows; owned; NULL if it has no row */
	uint32_t list; /* its line in the list of devices; 0 if there is no list */
	/* line of its first row with a valid reading, otherwise of its first row; 0 if it has no row */
	uint64_t line;
	bool taken;    /* it has a valid reading in at least one field */
	bool clamped;  /* a number of a row with a valid reading is outside its range */
	uint32_t flaw; /* index plus 1 of the flaw of its first row that has one; 0 if no row has */
};

/* Rows that have the same flaw in the same field. */
struct cl_found_flaw {
	enum cl_flaw flaw;
	uint32_t field; /* number of the round's field, from 0 */
	char why[160];  /* for CL_FLAW_ROW a copy of cl_row.why; otherwise empty */
	uint64_t rows;
	uint64_t line; /* line of the first of these rows */
	/* device of the first of these rows, made fit to be shown; empty if the row does not tell it */
	char device[64];
	char text[48]; /* text of the first of these rows, made fit to be shown; may be empty */
};

struct cl_found {
	const struct rd_descriptor *d; /* borrowed */
	bool listed;                   /* a list says which devices take part */
	struct cl_found_device *device;
	size_t devices, room;
	uint32_t *slot; /* hash table: index of the device plus 1; 0 if the slot is free */
	size_t slots;
	struct cl_found_flaw flaw[CL_FOUND_FLAWS];
	size_t flaws;
	uint64_t rows; /* rows of devices that take part, and rows that do not tell their device */
	/* those of `rows` with a valid reading in at least one field, and those with a number outside its
	 * range */
	uint64_t valid, clamped;
	uint64_t unlisted;     /* rows of devices that are not on the list */
	double least, most;    /* the least and the largest valid number, if `numbers` */
	bool numbers;          /* the round asks for one number, and some row has a valid one */
	uint64_t clamped_line; /* line of the first row with a number outside its range */
	char clamped_device[64];
	bool failed; /* out of memory */
};

/* Begin with the devices of a list; if it is NULL, every device that has a row takes part.  d is borrowed.
 * Call cl_found_fini on success and on failure. */
CM_CHECK enum cm_rc cl_found_init(
	struct cl_found *f, const struct rd_descriptor *d, const struct cl_devices *list, struct cm_err *err);
void cl_found_fini(struct cl_found *f);
/* Use it as cl_input.seen; `found` is a struct cl_found. */
void cl_found_row(void *found, const struct cl_seen *s);
