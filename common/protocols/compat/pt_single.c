/* pt_single.c - checks the parameters of the rows that send one wide message and no dummies. */
#include "pt_single.h"

#include "pt_category.h"

uint32_t pt_single_messages(const struct pt_randomizer *p)
{
	(void)p;
	return 1;
}

enum cm_rc pt_single_check(const struct qy_query *q, const struct pt_randomizer *p, struct cm_err *err)
{
	enum cm_rc rc = pt_histogram_check(q, p, err);

	if (rc != CM_OK)
		return rc;
	if (p->single.keep == 0 || p->shuffler.dummies != 0)
		return cm_fail(
			err, CM_EPROTO, "%s: a keep probability and no dummies are wanted", p->row->name);
	return CM_OK;
}

enum cm_rc pt_single_guarantee(
	const struct pt_randomizer *p, struct pt_ratio ratio, enum cm_rc code, struct cm_err *err)
{
	double epsilon0 = pt_ratio_log(ratio, 1);

	if (epsilon0 < PT_EPSILON0_MIN)
		return cm_fail(err, code, "%s: epsilon0 is too small to say anything", p->row->name);
	if (epsilon0 > PT_EPSILON0_MAX)
		return cm_fail(err, code, "%s: epsilon0 above %g", p->row->name, PT_EPSILON0_MAX);
	return CM_OK;
}
