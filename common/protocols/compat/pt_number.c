/* pt_number.c - checks the parameters of the rows that send one symbol of a bounded number. */
#include "pt_number.h"

#include "pt_record.h"

/* Check the range of parameters that come from a plan or from a peer; `code` is the error for either. */
enum cm_rc pt_number_range(
	const struct pt_randomizer *p, uint32_t levels_max, bool sized, enum cm_rc code, struct cm_err *err)
{
	const char *name = p->row->name;
	double epsilon0;

	if (p->number.bins < 2 || p->number.bins > levels_max)
		return cm_fail(err, code, "%s: %u levels, must be 2 to %u", name, (unsigned)p->number.bins,
			(unsigned)levels_max);
	if (sized && (p->number.size < 1 || p->number.size >= p->number.bins))
		return cm_fail(err, code, "%s: size %u, must be 1 to %u for %u levels", name,
			(unsigned)p->number.size, (unsigned)p->number.bins - 1, (unsigned)p->number.bins);
	if (p->number.keep == 0)
		return cm_fail(err, code, "%s: epsilon0 is too small to say anything", name);
	epsilon0 = p->row->epsilon0(p);
	if (!(epsilon0 >= PT_EPSILON0_MIN))
		return cm_fail(err, code, "%s: epsilon0 is too small to say anything", name);
	if (epsilon0 > PT_EPSILON0_MAX)
		return cm_fail(err, code, "%s: epsilon0 above %g", name, PT_EPSILON0_MAX);
	return CM_OK;
}

enum cm_rc pt_number_check(const struct qy_query *q, const struct pt_randomizer *p, uint32_t levels_max,
	bool sized, struct cm_err *err)
{
	if (!qy_is_mean(q))
		return cm_fail(err, CM_EPROTO, "%s: answers means and sums only", p->row->name);
	if (p->shuffler.dummies != 0)
		return cm_fail(err, CM_EPROTO, "%s: no dummies are wanted", p->row->name);
	if (p->number.size != 0 && !sized)
		return cm_fail(err, CM_EPROTO, "%s: a size where there is none", p->row->name);
	return pt_number_range(p, levels_max, sized, CM_EPROTO, err);
}

uint32_t pt_number_record_len(const struct pt_randomizer *p)
{
	(void)p;
	return PT_RECORD_LEN;
}

static const struct pt_field fields[] = {
	{ "bins", offsetof(struct pt_randomizer, number.bins), PT_FIELD_U32 },
	{ "size", offsetof(struct pt_randomizer, number.size), PT_FIELD_U32 },
	{ "keep", offsetof(struct pt_randomizer, number.keep), PT_FIELD_CHANCE },
};
const struct pt_layout pt_number_layout = { .field = fields, .fields = sizeof fields / sizeof *fields };
