/* rd_randomizer.c - decodes and encodes the exact randomizer of a descriptor. */
#include "rd_randomizer.h"

#include "cm_fault.h"
#include "rd_tags.h"
#include "rd_text.h"
#include "rd_wire.h"

_Static_assert(PT_PARAMETERS_MAX == PR_PARAMETERS_MAX, "any row's parameters fit the wire");

static enum cm_rc read_row(const Tombola__V1__Randomizer *m, const struct qy_query *query,
	const struct pt_device **out, struct cm_err *err)
{
	char name[32];
	enum cm_rc rc = rd_copy_name(m->protocol, "randomizer.protocol", name, sizeof name, err);

	if (rc != CM_OK)
		return rc;
	*out = pt_device_find(name);
	if (!*out)
		return cm_fail(err, CM_EPROTO, "randomizer.protocol: '%s' is unknown", name);
	if (((*out)->kinds & (unsigned)query->kind) == 0)
		return cm_fail(
			err, CM_EPROTO, "randomizer.protocol: '%s' does not answer this kind of query", name);
	return CM_OK;
}

static enum cm_rc read_shuffler(
	const Tombola__V1__ShufflerPart *m, struct pt_randomizer *p, struct cm_err *err)
{
	if (!m)
		return CM_OK;
	if (m->dummies > PT_SHUFFLER_DUMMIES_MAX)
		return cm_fail(
			err, CM_EPROTO, "randomizer.shuffler.dummies: above %u", PT_SHUFFLER_DUMMIES_MAX);
	if (m->dummies > 0 && !p->row->dummy)
		return cm_fail(err, CM_EPROTO, "randomizer.shuffler.dummies: '%s' has none", p->row->name);
	if ((m->noise_decay > 0 || m->noise_mean > 0) && !p->row->noise_bins)
		return cm_fail(err, CM_EPROTO, "randomizer.shuffler.noise_mean: '%s' has none", p->row->name);
	p->shuffler.dummies = m->dummies;
	p->shuffler.noise_decay = m->noise_decay;
	p->shuffler.noise_mean = m->noise_mean;
	return rd_tags_read(m, p, err);
}

enum cm_rc rd_randomizer_read(const Tombola__V1__Randomizer *m, const struct qy_query *query,
	struct pt_randomizer *p, struct cm_err *err)
{
	enum cm_rc rc;

	if (!m)
		return cm_fail(err, CM_EPROTO, "randomizer: missing");
	*p = (struct pt_randomizer){ 0 };
	rc = read_row(m, query, &p->row, err);
	if (rc == CM_OK)
		rc = read_shuffler(m->shuffler, p, err);
	if (rc != CM_OK)
		return rc;
	rc = pt_parameters_read(m->parameters.data, m->parameters.len, p, err);
	if (rc != CM_OK)
		return cm_context(err, "randomizer.parameters");
	/* A row without the symbol would make a message of it that no reading makes. */
	rc = pt_none_check(p->row, query, CM_EPROTO, err);
	if (CM_CHECKED("round.descriptor.none") && rc != CM_OK)
		return cm_context(err, "randomizer");
	rc = p->row->check(query, p, err);
	return rc == CM_OK ? rc : cm_context(err, "randomizer");
}

enum cm_rc rd_batch_check(uint64_t least, uint64_t target, const struct pt_randomizer *p, struct cm_err *err)
{
	uint64_t classes = 0;

	if (target == 0 || target > PR_ROUND_REPORTS_MAX)
		return cm_fail(err, CM_EPROTO, "target: not in 1..%u", PR_ROUND_REPORTS_MAX);
	if (least == 0 || least > target)
		return cm_fail(err, CM_EPROTO, "min_reports: not in 1..target");
	for (size_t i = 0; i < PT_SLOTS_MAX; i++)
		classes += p->shuffler.tag_least[i];
	if (classes > target)
		return cm_fail(err, CM_EPROTO, "randomizer.shuffler.tag_least: all together above target");
	return CM_OK;
}

enum cm_rc rd_honest_check(double honest_fraction, uint64_t colluders, struct cm_err *err)
{
	if (!(honest_fraction > 0.0 && honest_fraction <= 1.0))
		return cm_fail(err, CM_EPROTO, "honest_fraction: not in (0, 1]");
	if (colluders > PR_ROUND_REPORTS_MAX)
		return cm_fail(err, CM_EPROTO, "colluders: above %u", PR_ROUND_REPORTS_MAX);
	return CM_OK;
}

void rd_randomizer_wire(const struct pt_randomizer *p, struct rd_randomizer_wire *out)
{
	const struct pt_shuffler *s = &p->shuffler;

	tombola__v1__randomizer__init(&out->m);
	out->m.protocol = rd_wire_text(p->row->name);
	out->m.parameters = rd_wire_bytes(out->parameters, pt_parameters_write(p, out->parameters));
	if (s->dummies == 0 && s->tags == 0 && s->noise_decay == 0 && s->noise_mean == 0)
		return;
	tombola__v1__shuffler_part__init(&out->shuffler);
	out->shuffler.dummies = s->dummies;
	out->shuffler.noise_decay = s->noise_decay;
	out->shuffler.noise_mean = s->noise_mean;
	rd_tags_fill(s, &out->shuffler);
	out->m.shuffler = &out->shuffler;
}
