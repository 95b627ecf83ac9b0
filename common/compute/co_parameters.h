/* co_parameters.h - the maps by name, and the parameters of a map, which are part of the signed query. */
#pragma once

#include "qy_computing.h"
#include "qy_query.h"

#define CO_FEATURES_MAX 131072u
#define CO_CLASSES_MAX  1000u
#define CO_NODES_MAX    65536u /* most nodes of a tree: every reading looks at all of them */
#define CO_BOUND_MIN    1e-9   /* least length C to which vectors are cut, and least range L */
#define CO_BOUND_MAX    1e9
#define CO_SECONDS_MAX  3600.0

/* How a map uses payloads. */
enum co_payload {
	CO_PAYLOAD_ALWAYS = 0,
	CO_PAYLOAD_MAYBE,
	CO_PAYLOAD_ANY, /* the payload may be any bytes, or none */
};

/* The keys of a plan's group `compute` beside `map`, `features` or `columns`. */
#define CO_KEY_LABEL   1u /* the plan may name a field for the label */
#define CO_KEY_LABELED 2u /* the plan must name a field for the label */
#define CO_KEY_PART    4u
#define CO_KEY_PROGRAM 8u /* the plan must have `program` and `seconds` */

struct co_map {
	const char *name;
	const char *summary; /* what the map computes, in one line for --help */
	enum qy_kind kind;   /* the kind of query that the map answers */
	unsigned keys;
	enum co_payload payload;
};
/* The map of this name; NULL if there is none. */
const struct co_map *co_map_find(const char *name);
/* Map i, NULL past the last. */
const struct co_map *co_map_at(size_t i);

enum co_part {
	CO_PART_ALL = 0,
	CO_PART_MEAN,
};

/* The parameters of a map, and which fields it reads: either one field that has all features as an array,
 * or one field for each; then the label's field.  The bytes, little-endian:
 *   u8 1; u8 1 if the features are an array; u8 1 if there is a label; u8 part; u32 m; f64 C; f64 seconds;
 *   u16 K; u8 1 if classes have names; then for each class u8 length and its name.  Without names the
 *   classes
 *   are "0", "1", ... */
struct co_parameters {
	const struct co_map *map;
	bool array, label;
	enum co_part part;
	uint32_t features; /* the number of features, m */
	double clip;       /* the length C to which vectors are cut; 0 for maps to columns */
	double seconds;    /* for a program: the time that it may take for one device; otherwise 0 */
	uint32_t classes;  /* the number of classes, K; 0 without a label, and for maps to columns */
	bool named;
	uint16_t name_at[CO_CLASSES_MAX]; /* where in the bytes a class's name begins, after its length */
	const uint8_t *bytes;             /* the computing's bytes from which this was read; borrowed */
};
/* Read the parameters of a computing, without its query.  CM_EDATA with a line. */
CM_CHECK enum cm_rc co_parameters_read(
	const struct qy_computing *c, struct co_parameters *out, struct cm_err *err);
/* Write p's bytes into c, whose map is p->map.  name has p->classes names, or is NULL for "0", "1", ...
 * CM_EDATA: there are more bytes than PR_COMPUTING_MAX. */
CM_CHECK enum cm_rc co_parameters_write(
	const struct co_parameters *p, const char *const *name, struct qy_computing *c, struct cm_err *err);
