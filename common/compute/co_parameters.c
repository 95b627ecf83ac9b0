/* co_parameters.c - reads and writes the bytes of a map's parameters. */
#include "co_parameters.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cm_buf.h"

#define FORM     1u
#define HEAD_LEN 27u
#define NAME_MAX 64u

static uint64_t bits_of(double x)
{
	uint64_t bits;

	memcpy(&bits, &x, sizeof bits);
	return bits;
}

static double double_of(const uint8_t at[8])
{
	uint64_t bits = cm_get_le64(at);
	double x;

	memcpy(&x, &bits, sizeof x);
	return x;
}

static enum cm_rc other_bytes(const struct qy_computing *c, struct cm_err *err)
{
	return cm_fail(err, CM_EDATA, "%s: its parameters are other bytes than it has", c->map);
}

/* Are these bytes allowed in a class's name: printable, or beyond ASCII? */
static bool is_name(const uint8_t *name, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (name[i] < ' ' || name[i] == 0x7f)
			return false;
	return n > 0 && n <= NAME_MAX;
}

static bool same_name(const struct co_parameters *p, uint32_t a, uint32_t b)
{
	const uint8_t *one = p->bytes + p->name_at[a], *other = p->bytes + p->name_at[b];

	return one[-1] == other[-1] && memcmp(one, other, one[-1]) == 0;
}

static enum cm_rc read_names(const struct qy_computing *c, struct co_parameters *p, struct cm_err *err)
{
	size_t at = HEAD_LEN;

	for (uint32_t i = 0; p->named && i < p->classes; i++) {
		size_t n = at < c->parameters_len ? c->parameters[at++] : 0;

		if (n > c->parameters_len - at || !is_name(c->parameters + at, n))
			return other_bytes(c, err);
		p->name_at[i] = (uint16_t)at;
		for (uint32_t k = 0; k < i; k++)
			if (same_name(p, k, i))
				return cm_fail(err, CM_EDATA, "%s: a class twice", c->map);
		at += n;
	}
	return at == c->parameters_len ? CM_OK : other_bytes(c, err);
}

static enum cm_rc check_fields(
	const struct qy_computing *c, const struct co_parameters *p, struct cm_err *err)
{
	uint32_t want = (p->array ? 1 : p->features) + (p->label ? 1 : 0);

	if (p->features < 1 || p->features > CO_FEATURES_MAX)
		return cm_fail(err, CM_EDATA, "%s: %lu features, it must be 1 to %u", c->map,
			(unsigned long)p->features, CO_FEATURES_MAX);
	if (c->fields != want)
		return cm_fail(err, CM_EDATA, "%s: it reads %lu fields, and %lu are named", c->map,
			(unsigned long)want, (unsigned long)c->fields);
	for (uint32_t i = 0; i < c->fields; i++)
		for (uint32_t k = 0; k < i; k++)
			if (strcmp(c->field[i], c->field[k]) == 0)
				return cm_fail(err, CM_EDATA, "%s: field '%s' twice", c->map, c->field[i]);
	return CM_OK;
}

/* Refuse parameters that the map does not have. */
static enum cm_rc check_keys(const struct co_parameters *p, struct cm_err *err)
{
	const struct co_map *map = p->map;
	bool program = (map->keys & CO_KEY_PROGRAM) != 0, vector = map->kind == QY_VECTOR;

	if (p->label && !(map->keys & (CO_KEY_LABEL | CO_KEY_LABELED)))
		return cm_fail(err, CM_EDATA, "%s: it reads no label", map->name);
	if (!p->label && (map->keys & CO_KEY_LABELED))
		return cm_fail(err, CM_EDATA, "%s: it needs a label", map->name);
	if (p->part != CO_PART_ALL && !(map->keys & CO_KEY_PART))
		return cm_fail(err, CM_EDATA, "%s: it has no parts", map->name);
	if (p->label && p->part == CO_PART_MEAN)
		return cm_fail(err, CM_EDATA, "%s: the mean reads no label", map->name);
	if (p->label && vector ? p->classes < 2 || p->classes > CO_CLASSES_MAX : p->classes != 0)
		return cm_fail(err, CM_EDATA, "%s: %lu classes, it must be %s", map->name,
			(unsigned long)p->classes, p->label && vector ? "2 to 1000" : "none");
	if (vector ? !(p->clip >= CO_BOUND_MIN && p->clip <= CO_BOUND_MAX) : bits_of(p->clip) != 0)
		return cm_fail(err, CM_EDATA, "%s: a clip from 1e-9 to 1e9 is wanted%s", map->name,
			vector ? "" : " of vectors alone");
	if (program ? !(p->seconds > 0 && p->seconds <= CO_SECONDS_MAX) : bits_of(p->seconds) != 0)
		return cm_fail(err, CM_EDATA, "%s: seconds above 0 and up to 3600 are wanted%s", map->name,
			program ? "" : " of programs alone");
	return CM_OK;
}
_Static_assert(CO_CLASSES_MAX == 1000, "check_keys says it");

enum cm_rc co_parameters_read(const struct qy_computing *c, struct co_parameters *out, struct cm_err *err)
{
	const uint8_t *at = c->parameters;
	enum cm_rc rc;

	*out = (struct co_parameters){ .map = co_map_find(c->map), .bytes = at };
	if (!out->map)
		return cm_fail(err, CM_EDATA, "'%s' is no map", c->map);
	if (c->parameters_len < HEAD_LEN || at[0] != FORM || at[1] > 1 || at[2] > 1 || at[3] > CO_PART_MEAN ||
		at[26] > 1)
		return other_bytes(c, err);
	out->array = at[1] != 0;
	out->label = at[2] != 0;
	out->part = at[3];
	out->features = cm_get_le32(at + 4);
	out->clip = double_of(at + 8);
	out->seconds = double_of(at + 16);
	out->classes = cm_get_le16(at + 24);
	out->named = at[26] != 0;
	rc = check_keys(out, err);
	if (rc == CM_OK && out->named && out->classes == 0)
		rc = other_bytes(c, err);
	if (rc == CM_OK)
		rc = check_fields(c, out, err);
	return rc == CM_OK ? read_names(c, out, err) : rc;
}

enum cm_rc co_parameters_write(
	const struct co_parameters *p, const char *const *name, struct qy_computing *c, struct cm_err *err)
{
	size_t at = HEAD_LEN;

	memset(c->parameters, 0, sizeof c->parameters);
	(void)snprintf(c->map, sizeof c->map, "%s", p->map->name);
	c->parameters[0] = FORM;
	c->parameters[1] = p->array;
	c->parameters[2] = p->label;
	c->parameters[3] = (uint8_t)p->part;
	cm_put_le32(c->parameters + 4, p->features);
	cm_put_le64(c->parameters + 8, bits_of(p->clip));
	cm_put_le64(c->parameters + 16, bits_of(p->seconds));
	cm_put_le16(c->parameters + 24, (uint16_t)p->classes);
	c->parameters[26] = name && p->classes > 0;
	for (uint32_t i = 0; name && i < p->classes; i++) {
		size_t n = strlen(name[i]);

		if (n > NAME_MAX || at + 1 + n > sizeof c->parameters)
			return cm_fail(err, CM_EDATA,
				"%s: the names of its classes are longer than %u bytes together, or one than "
				"%u",
				p->map->name, PR_COMPUTING_MAX - HEAD_LEN, NAME_MAX);
		c->parameters[at] = (uint8_t)n;
		memcpy(c->parameters + at + 1, name[i], n);
		at += 1 + n;
	}
	c->parameters_len = (uint32_t)at;
	return CM_OK;
}
