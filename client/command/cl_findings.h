/* cl_findings.h - turns what was found in a round's readings into sentences: faults, and notes. */
#pragma once

#include "cl_found.h"

#define CL_FINDINGS_MAX (CL_FOUND_FLAWS + 8u)

struct cl_finding {
	/* true: the answer would be wrong, or there would be none; false: this is only a note */
	bool wrong;
	char text[640];   /* what was found, and where */
	char advice[320]; /* what to do; empty if there is no advice */
};

struct cl_findings {
	struct cl_finding item[CL_FINDINGS_MAX];
	size_t n, wrong; /* number of findings, and of those that are wrong */
};

/* Where readings, devices and plan come from; sentences name these places. */
struct cl_findings_of {
	const char *input, *list, *plan; /* list is NULL if there is no list of devices */
	int plan_line;                   /* line of the round in the plan */
	uint64_t others;                 /* devices that take part through other clients */
	int64_t window_ms;               /* the round's window */
	const char *refused;             /* why this client would refuse the round; NULL if it would not */
};
/* Judge what was found.  Earlier contents of *out are discarded. */
void cl_findings_judge(const struct cl_found *f, const struct cl_findings_of *of, struct cl_findings *out);
/* Count the devices that have a valid reading, and those of them with a clamped number. */
void cl_findings_devices(const struct cl_found *f, uint64_t *taken, uint64_t *clamped);
