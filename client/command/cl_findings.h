/* cl_findings.h - what is to be said of a round's readings: sentences about what is wrong, and notes. */
#pragma once

#include "cl_found.h"

#define CL_FINDINGS_MAX (CL_FOUND_FLAWS + 8u)

struct cl_finding {
	bool wrong;       /* the answer would be wrong, or there would be none; false: a note */
	char text[640];   /* what is found, with its place */
	char advice[320]; /* what to do; "": nothing */
};

struct cl_findings {
	struct cl_finding item[CL_FINDINGS_MAX];
	size_t n, wrong; /* how many there are, and how many of them are wrong */
};

/* Where readings, devices and plan come from, for the places in sentences. */
struct cl_findings_of {
	const char *input, *list, *plan; /* list NULL: none */
	int plan_line;                   /* of the round */
	uint64_t others;                 /* devices that take part through other clients */
	int64_t window_ms;               /* of the round */
	const char *refused;             /* why this client would refuse the round; NULL: it would not */
};
/* Judge what was found.  *out is set anew. */
void cl_findings_judge(const struct cl_found *f, const struct cl_findings_of *of, struct cl_findings *out);
/* How many devices have a valid reading, and of how many of them a number is clamped. */
void cl_findings_devices(const struct cl_found *f, uint64_t *taken, uint64_t *clamped);
