/* cl_slots.c - when the devices of a round are computed. */
#include "cl_slots.h"

#define YEAR_NS (366LL * 86400 * 1000000000)

static int64_t length_of(double seconds)
{
	int64_t ns = (int64_t)(seconds * 1e9);

	return ns > 0 ? ns : 1;
}

void cl_slots_init(struct cl_slots *s, int64_t start_ns, size_t devices, size_t at_once, double seconds)
{
	*s = (struct cl_slots){ start_ns + CL_SLOTS_BEGIN_NS, length_of(seconds), devices, at_once };
}

int64_t cl_slots_length(size_t devices, size_t at_once, double seconds)
{
	size_t groups = (devices + at_once - 1) / at_once;

	if ((double)groups * seconds > (double)YEAR_NS / 1e9)
		return INT64_MAX;
	return CL_SLOTS_BEGIN_NS + (int64_t)groups * length_of(seconds);
}

size_t cl_slots_take(struct cl_slots *s, int64_t now_ns, int64_t *end_ns)
{
	size_t n = s->left < s->group ? s->left : s->group;

	if (now_ns - s->next_ns > s->length_ns / 8)
		s->next_ns = now_ns;
	if (n > 0)
		s->next_ns += s->length_ns;
	s->left -= n;
	*end_ns = s->next_ns;
	return n;
}

int64_t cl_slots_budget(int64_t length_ns)
{
	return length_ns / 4 * 3;
}
