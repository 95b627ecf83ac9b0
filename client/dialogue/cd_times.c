/* cd_times.c - computes the moments of a round. */
#include "cd_times.h"

#include <math.h>

#include "cm_fault.h"

#define DEVICE_US 10.0 /* microseconds for each device: ten times what a usual row takes */
#define NUMBER_US 0.3
#define ROWS      5 /* rows of one device that can be read in that time on a busy machine */
#define PART      4 /* reading takes at most one part in PART of the time that the round is open */

struct cd_times cd_times_make(const struct cd_times_of *of)
{
	double each_us =
		(DEVICE_US + of->numbers * NUMBER_US) * (of->rows > ROWS ? (double)of->rows / ROWS : 1);
	int64_t open = of->deadline_ms > of->from_ms ? of->deadline_ms - of->from_ms : 0;
	int64_t step = of->prepare_ms < open / 10 ? of->prepare_ms : open / 10;
	double more = (double)of->devices * each_us / 1e3;
	int64_t ms = step / 2 + (int64_t)(more < (double)open ? more : (double)open);
	bool little = step < CD_TIMES_PREPARE_MS;
	int64_t from = of->from_ms;
	struct cd_times t;

	if (of->judging_ms > ms / 2) {
		step = step > 0 ? step : 1;
		from += (of->judging_ms + step - 1) / step * step;
		open = of->deadline_ms > from ? of->deadline_ms - from : 0;
	}
	ms = ms < open / PART ? ms : open / PART;
	t.end_ms = from + ms;
	t.last_ms = from + (little && ms < CD_TIMES_SHORT_MS ? CD_TIMES_SHORT_MS : ms);
	return t;
}

bool cd_send_may_begin(unsigned jobs, size_t given_to_jobs, size_t devices)
{
	if (!CM_CHECKED("client.sealed_first"))
		return given_to_jobs > 0 || devices == 0;
	return jobs == 0 && given_to_jobs == devices;
}

int64_t cd_send_start(int64_t from_ms, int64_t deadline_ms, int64_t step_ms, int64_t now_ms)
{
	int64_t most = (deadline_ms - from_ms) / 10, step = step_ms < most ? step_ms : most;

	if (!CM_CHECKED("client.times"))
		return now_ms;
	step = step > 0 ? step : 1;
	return now_ms <= from_ms ? from_ms + step : from_ms + (now_ms - from_ms + step - 1) / step * step;
}

int64_t cd_send_spread(int64_t now_ms, int64_t end_ms, uint64_t k, const struct cr_rng *rng)
{
	/* 53 random bits plus one half, scaled: strictly inside (0, 1). */
	double u = ((double)(cr_rng_u64(rng) >> 11) + 0.5) * 0x1p-53;

	if (end_ms <= now_ms || k == 0)
		return now_ms;
	/* The smallest of k uniform draws exceeds t with probability (1 - t)^k; solve that for t. */
	return now_ms + (int64_t)((double)(end_ms - now_ms) * -expm1(log(u) / (double)k));
}
