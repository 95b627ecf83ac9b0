/* rd_computing.c - decodes and encodes what a device computes from its reading. */
#include "rd_computing.h"

#include <string.h>

#include "rd_text.h"
#include "rd_wire.h"

static enum cm_rc read_fields(const Tombola__V1__Computing *m, struct qy_computing *out, struct cm_err *err)
{
	for (size_t i = 0; i < m->n_fields; i++) {
		enum cm_rc rc = rd_copy_text(
			m->fields[i], "computing.fields", out->field[i], sizeof out->field[i], err);

		if (rc != CM_OK)
			return rc;
		for (size_t j = 0; j < i; j++)
			if (strcmp(out->field[i], out->field[j]) == 0)
				return cm_fail(err, CM_EPROTO,
					"computing.fields: number %zu is number %zu again", i + 1, j + 1);
	}
	out->fields = (uint32_t)m->n_fields;
	return CM_OK;
}

enum cm_rc rd_computing_read(
	const Tombola__V1__Computing *m, uint64_t payload_max, struct qy_computing *out, struct cm_err *err)
{
	enum cm_rc rc;

	memset(out, 0, sizeof *out);
	if (payload_max > PR_PAYLOAD_MAX)
		return cm_fail(err, CM_EPROTO, "payload_max: above %u", PR_PAYLOAD_MAX);
	if (!m)
		return payload_max == 0
			       ? CM_OK
			       : cm_fail(err, CM_EPROTO, "payload_max: nothing would read the payload");
	rc = rd_copy_name(m->map, "computing.map", out->map, sizeof out->map, err);
	if (rc != CM_OK)
		return rc;
	if ((strcmp(out->map, QY_MAP_PROGRAM) == 0) != (m->program_hash.len > 0))
		return cm_fail(err, CM_EPROTO,
			"computing.program_hash: belongs to map \"%s\", and to no other", QY_MAP_PROGRAM);
	/* pr_read has checked the maximum of each. */
	if (m->program_hash.len > 0)
		memcpy(out->program, m->program_hash.data, m->program_hash.len);
	if (m->parameters.len > 0)
		memcpy(out->parameters, m->parameters.data, m->parameters.len);
	out->parameters_len = (uint32_t)m->parameters.len;
	return read_fields(m, out, err);
}

Tombola__V1__Computing *rd_computing_wire(const struct qy_computing *c, struct rd_computing_wire *out)
{
	if (!qy_computes(c))
		return NULL;
	tombola__v1__computing__init(&out->m);
	out->m.map = rd_wire_text(c->map);
	out->m.parameters = rd_wire_bytes(c->parameters, c->parameters_len);
	if (strcmp(c->map, QY_MAP_PROGRAM) == 0)
		out->m.program_hash = rd_wire_bytes(c->program, sizeof c->program);
	for (uint32_t i = 0; i < c->fields; i++)
		out->field[i] = rd_wire_text(c->field[i]);
	out->m.n_fields = c->fields;
	out->m.fields = out->field;
	return &out->m;
}
