/* pt_parallel.c - counts of combinations of several fields' categories: each device draws one marginal and
 * answers for it. */
#include "pt_marginals.h"
#include "pt_rows.h"
#include "pt_sampled.h"

static enum cm_rc check(const struct qy_query *q, const struct pt_randomizer *p, struct cm_err *err)
{
	enum cm_rc rc = pt_marginals_query(p->row, q, CM_EPROTO, err);

	if (rc == CM_OK)
		rc = pt_sampled_check(p, err);
	return rc == CM_OK ? pt_marginals_fit(q, p, err) : rc;
}

static void encode(const struct qy_query *q, const struct pt_randomizer *p, const struct qy_value *value,
	const struct cr_rng *rng, uint8_t *records, void *room)
{
	pt_sampled_encode(q, p, value, pt_marginals_word, rng, records, room);
}

const struct pt_device pt_device_parallel = {
	.name = "parallel",
	.summary = "a random one of the combinations of fields, by response: marginal counts",
	.kinds = QY_MARGINALS,
	.none_symbol = QY_MARGINALS,
	.check = check,
	.encode = encode,
	PT_SAMPLED_DEVICE,
};
