/* pt_multi.c - checks the parameters of the rows that send one wide message among wide dummies. */
#include "pt_multi.h"

#include <math.h>

#include "cm_fault.h"
#include "pr_limits.h"
#include "pt_category.h"

enum cm_rc pt_multi_check(const struct qy_query *q, const struct pt_randomizer *p, struct cm_err *err)
{
	enum cm_rc rc = pt_histogram_check(q, p, err);

	if (rc != CM_OK)
		return rc;
	if (p->multi.dummies >= PR_BLANKET_MAX || pt_mixbins_messages(p) > PR_BLANKET_MAX)
		return cm_fail(err, CM_EPROTO, "%s: too many dummies", p->row->name);
	if (p->shuffler.dummies > PT_SHUFFLER_DUMMIES_MAX)
		return cm_fail(err, CM_EPROTO, "%s: too many dummies of the shuffler", p->row->name);
	if (CM_CHECKED("protocol.blanket") && p->multi.dummies == 0 && p->multi.dummy_chance == 0 &&
		p->shuffler.dummies == 0)
		return cm_fail(err, CM_EPROTO, "%s: dummies are wanted", p->row->name);
	return CM_OK;
}

enum cm_rc pt_multi_size(const struct pt_device *row, uint32_t size, enum cm_rc code, struct cm_err *err)
{
	if (size < 2 || size > PR_CATEGORIES_MAX)
		return cm_fail(err, code, "%s: size %u, must be 2 to %u", row->name, (unsigned)size,
			PR_CATEGORIES_MAX);
	return CM_OK;
}

enum cm_rc pt_multi_check_true(const struct qy_query *q, const struct pt_randomizer *p, struct cm_err *err)
{
	enum cm_rc rc = pt_multi_check(q, p, err);

	return rc == CM_OK ? pt_multi_size(p->row, p->multi.size, CM_EPROTO, err) : rc;
}

double pt_multi_no_guarantee(const struct pt_randomizer *p)
{
	(void)p;
	return INFINITY;
}

static const struct pt_field fields[] = {
	{ "bins", offsetof(struct pt_randomizer, multi.bins), PT_FIELD_U32 },
	{ "dummies", offsetof(struct pt_randomizer, multi.dummies), PT_FIELD_U32 },
	{ "dummy_chance", offsetof(struct pt_randomizer, multi.dummy_chance), PT_FIELD_CHANCE },
	{ "size", offsetof(struct pt_randomizer, multi.size), PT_FIELD_U32 },
};
const struct pt_layout pt_multi_layout = { .field = fields, .fields = sizeof fields / sizeof *fields };
