/* cl_times.c - computes until when a round's readings are read. */
#include "cl_times.h"

#include <stdbool.h>

#define DEVICE_US 10.0 /* microseconds for each device: ten times what a usual row takes */
#define NUMBER_US 0.3
#define ROWS      5 /* rows of one device that can be read in that time on a busy machine */
#define PART      4 /* reading takes at most one part in PART of the time that the round is open */

struct cl_times cl_times_make(const struct cl_times_of *of)
{
	double each_us =
		(DEVICE_US + of->numbers * NUMBER_US) * (of->rows > ROWS ? (double)of->rows / ROWS : 1);
	int64_t open = of->deadline_ms > of->from_ms ? of->deadline_ms - of->from_ms : 0;
	int64_t step = of->prepare_ms < open / 10 ? of->prepare_ms : open / 10;
	double more = (double)of->devices * each_us / 1e3;
	int64_t ms = step / 2 + (int64_t)(more < (double)open ? more : (double)open);
	bool little = step < CL_TIMES_PREPARE_MS;
	int64_t from = of->from_ms;
	struct cl_times t;

	if (of->judging_ms > ms / 2) {
		step = step > 0 ? step : 1;
		from += (of->judging_ms + step - 1) / step * step;
		open = of->deadline_ms > from ? of->deadline_ms - from : 0;
	}
	ms = ms < open / PART ? ms : open / PART;
	t.end_ms = from + ms;
	t.last_ms = from + (little && ms < CL_TIMES_SHORT_MS ? CL_TIMES_SHORT_MS : ms);
	return t;
}
