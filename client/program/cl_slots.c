/* cl_slots.c - when the devices of a round are computed. */
#include "cl_slots.h"

#define YEAR_NS (366LL * 86400 * 1000000000)
#define SPARE   16 /* of so many groups one slot is spare, for when this machine is late */

static int64_t length_of(double seconds)
{
	int64_t ns = (int64_t)(seconds * 1e9);

	return ns > 0 ? ns : 1;
}

static size_t slots_of(size_t devices, size_t at_once)
{
	size_t groups = (devices + at_once - 1) / at_once;

	return groups + groups / SPARE + (groups > 0);
}

int64_t cl_slots_length(size_t devices, size_t at_once, double seconds)
{
	size_t slots = slots_of(devices, at_once);

	if ((double)slots * seconds > (double)YEAR_NS / 1e9)
		return INT64_MAX;
	return CL_SLOTS_BEGIN_NS + (int64_t)slots * length_of(seconds);
}

void cl_slots_init(struct cl_slots *s, int64_t start_ns, size_t devices, size_t at_once, double seconds)
{
	int64_t takes = cl_slots_length(devices, at_once, seconds);

	*s = (struct cl_slots){ .next_ns = start_ns + CL_SLOTS_BEGIN_NS,
		.length_ns = length_of(seconds),
		.end_ns = takes < INT64_MAX - start_ns ? start_ns + takes : INT64_MAX,
		.left = devices,
		.group = at_once };
}

size_t cl_slots_take(struct cl_slots *s, int64_t now_ns, int64_t *end_ns)
{
	size_t n;

	if (now_ns - s->next_ns > s->length_ns / 8)
		s->next_ns = now_ns;
	/* Who is left then has no answer. */
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
