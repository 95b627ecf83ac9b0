/* cl_lane.c - collects what a program is sent and what it answered. */
#include "cl_lane.h"

#include <stdlib.h>
#include <string.h>

#include "cm_buf.h"

#define VERSION 1u

static size_t answer_len(const struct cl_lane_job *job)
{
	return 4 * (size_t)job->dimension;
}

static void wipe(uint8_t *bytes, size_t n)
{
	if (bytes)
		explicit_bzero(bytes, n);
	free(bytes);
}

enum cm_rc cl_lane_init(struct cl_lane *l, const struct cl_lane_job *job, struct cm_err *err)
{
	*l = (struct cl_lane){ .job = job, .row_len = 4 + 4 * ((size_t)job->features + 1) };
	l->row = calloc(1, l->row_len);
	l->answer = calloc(1, answer_len(job) + 1);
	if (!l->row || !l->answer)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	cm_put_le32(l->head, 16);
	cm_put_le32(l->head + 4, VERSION);
	cm_put_le32(l->head + 8, job->features);
	cm_put_le32(l->head + 12, job->classes);
	cm_put_le32(l->head + 16, job->dimension);
	cm_put_le32(l->head + CL_LANE_HEAD, (uint32_t)job->payload_len);
	cm_put_le32(l->row, (uint32_t)(l->row_len - 4));
	l->row_sent = l->row_len;
	return CM_OK;
}

void cl_lane_fini(struct cl_lane *l)
{
	wipe(l->row, l->row_len);
	wipe(l->answer, l->job ? answer_len(l->job) : 0);
	*l = (struct cl_lane){ 0 };
}

void cl_lane_begin(struct cl_lane *l)
{
	l->head_sent = l->payload_sent = 0;
	l->broken = l->ended = false;
}

void cl_lane_give(struct cl_lane *l, const uint8_t *row)
{
	memcpy(l->row + 4, row, l->row_len - 4);
	l->row_sent = 0;
	l->got = 0;
}

size_t cl_lane_next(const struct cl_lane *l, const uint8_t **bytes)
{
	if (l->head_sent < sizeof l->head) {
		*bytes = l->head + l->head_sent;
		return sizeof l->head - l->head_sent;
	}
	if (l->payload_sent < l->job->payload_len) {
		*bytes = l->job->payload + l->payload_sent;
		return l->job->payload_len - l->payload_sent;
	}
	*bytes = l->row + l->row_sent;
	return l->row_len - l->row_sent;
}

void cl_lane_wrote(struct cl_lane *l, size_t n)
{
	if (l->head_sent < sizeof l->head)
		l->head_sent += n;
	else if (l->payload_sent < l->job->payload_len)
		l->payload_sent += n;
	else
		l->row_sent += n;
}

void cl_lane_read(struct cl_lane *l, const uint8_t *bytes, size_t n)
{
	size_t room = answer_len(l->job) - l->got;

	l->ended = l->ended || n == 0;
	/* A program that writes before it has the whole question does not answer that question. */
	if (n > room || (n > 0 && l->row_sent < l->row_len))
		l->broken = true;
	if (l->broken || n == 0)
		return;
	memcpy(l->answer + l->got, bytes, n);
	l->got += n;
}

const uint8_t *cl_lane_answer(const struct cl_lane *l)
{
	return !l->broken && l->row_sent == l->row_len && l->got == answer_len(l->job) ? l->answer : NULL;
}

bool cl_lane_goes_on(const struct cl_lane *l)
{
	return !l->ended && cl_lane_answer(l) != NULL;
}
