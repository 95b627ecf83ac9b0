/* cl_slots.c - computes when the devices of a round are computed. */
#include "cl_slots.h"

#define YEAR_NS (366LL * 86400 * 1000000000)
#define SPARE   16 /* one slot is spare for this many groups, in case this machine is late */

static int64_t feeding(const struct cl_slots_of *of)
{
	size_t group = of->devices < of->at_once ? of->devices : of->at_once;

	return (int64_t)((double)group * (double)of->payload / CL_SLOTS_FEED * 1e9);
}

/* Length of one slot.  A device's time may be as long as a year. */
static int64_t length_of(const struct cl_slots_of *of)
{
	int64_t ns = (int64_t)(of->seconds * 1e9) + (of->kept ? 0 : feeding(of));

	return ns > 0 ? ns : 1;
}

static int64_t before_of(const struct cl_slots_of *of)
{
	return CL_SLOTS_BEGIN_NS + (of->kept ? feeding(of) : 0);
}

static size_t slots_of(const struct cl_slots_of *of)
{
	size_t groups = (of->devices + of->at_once - 1) / of->at_once;

	return groups + groups / SPARE + (groups > 0);
}

int64_t cl_slots_length(const struct cl_slots_of *of)
{
	size_t slots = slots_of(of);

	if ((double)slots * (double)length_of(of) > (double)YEAR_NS)
		return INT64_MAX;
	return before_of(of) + (int64_t)slots * length_of(of);
}

void cl_slots_init(struct cl_slots *s, int64_t start_ns, const struct cl_slots_of *of)
{
	int64_t takes = cl_slots_length(of);

	*s = (struct cl_slots){ .next_ns = start_ns + before_of(of),
		.length_ns = length_of(of),
		.end_ns = takes < INT64_MAX - start_ns ? start_ns + takes : INT64_MAX,
		.left = of->devices,
		.group = of->at_once };
}

size_t cl_slots_take(struct cl_slots *s, int64_t now_ns, int64_t *end_ns)
{
	size_t n;

	if (now_ns - s->next_ns > s->length_ns / 8)
		s->next_ns = now_ns;
	/* If no whole slot fits before the end, the devices that are left get no answer. */
	if (s->next_ns > s->end_ns - s->length_ns)
		s->left = 0;
	n = s->left < s->group ? s->left : s->group;
	if (n > 0)
		s->next_ns += s->length_ns;
	s->left -= n;
	*end_ns = n > 0 ? s->next_ns : s->end_ns;
	return n;
}

int64_t cl_slots_budget(int64_t length_ns)
{
	return length_ns / 4 * 3;
}

/* An eighth of the slot less than the budget, for what else the processors do. */
int64_t cl_slots_processor(int64_t length_ns, size_t group, unsigned processors)
{
	double each = group > processors ? (double)processors / (double)group : 1;

	return (int64_t)((double)length_ns * 5 / 8 * each);
}
