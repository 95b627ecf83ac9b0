/* co_compute.h - what a device computes: a value of the query's domain from a public payload and the device's
 * own reading.  No I/O, no state: a value is a function of computing, query, payload and that reading.
 *
 * x: the m features of the reading; y: its label, a class 0..K-1; (x, 1): x and a 1 after it; e_k: the k-th
 * unit vector; a (x) b: every product, row by row.  Vectors are answers to a query of kind QY_VECTOR with
 * range [-L, L]; columns are answers to one of kind QY_MARGINALS.
 *
 * z = (x - mean) scale, number by number, where a payload may have `mean` [m], `scale` [m], both or none:
 *
 * linear-gradient: payload `weights` [K, m+1], mean, scale.  p = softmax(weights (z, 1)).
 *   (p - e_y) (x) (z, 1): K (m+1) numbers, cut to length C.
 *
 * network-gradient: payload `hidden` [H, m+1], `weights` [K, H+1], mean, scale.  a = hidden (z, 1),
 *   h = max(a, 0), p = softmax(weights (h, 1)); g_j = sum_k weights[k, j] (p - e_y)_k if a_j > 0, else 0.
 *   g (x) (z, 1), then (p - e_y) (x) (h, 1): H (m+1) + K (H+1) numbers, cut to length C.
 *
 * moments: payload, if there is one: mean, scale.  f = (z, 1).
 *   Part "all": the upper triangle of f f^T row by row, what is beside the diagonal times sqrt 2, which is
 *   (m+1)(m+2)/2 numbers, cut to C / sqrt 2; then e_y (x) f, K (m+1) numbers, cut to C / sqrt 2.
 *   Without a label: the triangle alone, cut to C.
 *   Part "mean": z, m numbers, cut to C; no label.
 *
 * Others:
 *
 * nearest-centroid: payload `centroids` [K, m].  k: the nearest by Euclidean distance, the first of several.
 *   e_k (x) (x - centroid_k, 1): K (m+1) numbers, cut to C; no label.
 *
 * tree-path: payload `feature` int32 [N], `threshold` [N], `left` int32 [N], `right` int32 [N], and `edges`.
 *   From node 0: left if x[feature] <= threshold, else right; c >= 0 is node c, which comes later than its
 *   parent; c < 0 is leaf -1-c.  Columns: the leaf; of each feature its bin; the label if there is one.
 *
 * statistics: payload `edges` [m, B-1].  Columns: of each feature its bin; the label if there is one.
 *
 * program: payload of any bytes.  d float32 of a program of the client's host (client/program/cl_lane.h), cut
 * to length C.
 *
 * A feature's bin is the number of its edges that are <= x, 0..B-1; edges rise strictly.  Of marginals the
 * label is one of the last column's categories, and the other columns' categories are as many as the leaves
 * or bins; they are counted by position.  Of vectors the label is one of the computing's classes.
 *
 * Domain.  Features are float32, to which the numbers of a text are rounded.  A reading is valid if every
 * feature is there, finite and at most 3.4028235e38 (FLT_MAX) in magnitude, and the label is one of its
 * classes.  Any other reading is NONE, and only those.  Every finite payload and valid reading has a value:
 * no number overflows on the way, because payloads are float32.
 *
 * Sensitivity.  To cut to length C is to multiply by min(1, C / length).  Lengths are computed in double,
 * rounded up by more than their error; each coordinate then becomes an integer multiple of L / 2^30, rounded
 * towards 0.  So in exact arithmetic the value has a Euclidean length of at most C, 0 < C <= L, and each
 * coordinate lies in [-L, L].  Two readings' values are at most 2 C apart. */
#pragma once

#include "co_parameters.h"
#include "qy_value.h"

/* Is the map known, and are its parameters possible for that query?  CM_EDATA with a line. */
CM_CHECK enum cm_rc co_check(const struct qy_computing *c, const struct qy_query *q, struct cm_err *err);
/* Are these bytes a payload of that map?  (NULL, 0) means that there is no payload.  Whatever passes has a
 * value for every valid reading.  CM_EDATA with a line; CM_EINTERNAL: out of memory. */
CM_CHECK enum cm_rc co_payload_check(const struct qy_computing *c, const struct qy_query *q,
	const uint8_t *bytes, size_t n, struct cm_err *err);

/* ---- computing ---- */

/* Computes values on one thread.  Borrows the query, computing and payload, and has room for one value. */
struct co_maker;
/* Errors as of co_check and co_payload_check.  Memory: 8 bytes for each number of the value, 40 for each
 * feature. */
CM_CHECK enum cm_rc co_maker_new(const struct qy_computing *c, const struct qy_query *q,
	const uint8_t *payload, size_t payload_len, struct co_maker **out, struct cm_err *err);
/* Also wipes what the last reading left. */
void co_maker_free(struct co_maker *m);
const struct co_parameters *co_maker_parameters(const struct co_maker *m);

/* Convert a label's text to its class.  False: it is not a label. */
CM_CHECK bool co_label(const struct co_maker *m, const char *text, uint32_t *label);
/* Convert a reading's texts, one for each of the computing's fields, to its features and its label; x has
 * room for m features.  A text may be NULL.  Without a label *label is 0.  False: the reading is not
 * valid. */
CM_CHECK bool co_reading(struct co_maker *m, const char *const *text, float *x, uint32_t *label);
/* Compute the value of a reading: qy_value_width(q) numbers into `at`, in the form of qy_value.  False: the
 * value is NONE, and `at` is not changed. */
CM_CHECK bool co_value(struct co_maker *m, const float *x, uint32_t label, uint32_t *at);
/* Cut a program's answer to a valid reading, q->dimension numbers, and write it into `at`.  False: a number
 * is not finite. */
CM_CHECK bool co_value_answer(struct co_maker *m, const float *answer, uint32_t *at);
