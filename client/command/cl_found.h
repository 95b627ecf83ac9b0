/* cl_found.h - what is in the readings of one round: its devices, the readings that cannot be taken as they
 * are, and where these are. */
#pragma once

#include "cl_flaw.h"
#include "cl_prepare.h"

#define CL_FOUND_FLAWS 24u /* kinds of flaws kept apart; the rest is counted in the last */

struct cl_found_device {
	uint8_t pseudonym[PR_PSEUDONYM_LEN];
	char *name;    /* as its rows name it; NULL: it has no row.  Owned. */
	uint32_t list; /* its line in the list of devices; 0: there is no list */
	uint64_t line; /* of its first row with a valid reading, else of its first row; 0: it has no row */
	bool taken;    /* it has a valid reading, in one field at least */
	bool clamped;  /* a number of such a row is outside its range */
	uint32_t flaw; /* index of the flaw of its first row that has one, plus 1; 0: none has */
};

/* Rows that have the same flaw in the same field. */
struct cl_found_flaw {
	enum cl_flaw flaw;
	uint32_t field; /* of the round, from 0 */
	char why[160];  /* CL_FLAW_ROW: cl_row.why; else "" */
	uint64_t rows;
	uint64_t line;   /* of the first */
	char device[64]; /* of the first, fit to be shown; "": it cannot be told which */
	char text[48];   /* what the first row has there, fit to be shown; "": nothing */
};

struct cl_found {
	const struct rd_descriptor *d; /* borrowed */
	bool listed;                   /* a list says which devices take part */
	struct cl_found_device *device;
	size_t devices, room;
	uint32_t *slot; /* hash table: index of the device plus 1; 0: free */
	size_t slots;
	struct cl_found_flaw flaw[CL_FOUND_FLAWS];
	size_t flaws;
	uint64_t rows;           /* of devices that take part, or of which it cannot be told */
	uint64_t valid, clamped; /* of these, with a reading in a field at least; outside a range */
	uint64_t unlisted;       /* rows of devices that are not on the list */
	double least, most;      /* of the valid numbers, if `numbers` */
	bool numbers;            /* the round asks for one number, and a row has it */
	uint64_t clamped_line;   /* the first such row */
	char clamped_device[64];
	bool failed; /* out of memory */
};

/* Begin with the devices of a list; NULL: devices take part that have a row.  d is borrowed.  Call
 * cl_found_fini in any case. */
CM_CHECK enum cm_rc cl_found_init(
	struct cl_found *f, const struct rd_descriptor *d, const struct cl_devices *list, struct cm_err *err);
void cl_found_fini(struct cl_found *f);
/* As cl_input.seen, of a struct cl_found. */
void cl_found_row(void *found, const struct cl_seen *s);
