/* cr_x25519_many.c - chooses how X25519 products are computed, and computes many of them. */
#include "cr_x25519_many.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cm_buf.h"
#include "cr_x25519_lanes.h"
#include "cr_x25519_lib25519.h"

#define AT_ONCE ((size_t)CR_LANES_MOST)
/* from this number of products on, making the point's table and using it is faster than doing without */
#define TABLE_FROM 256u

/* A product to compute; all three pointers are the caller's. */
struct product {
	const uint8_t *scalar, *point;
	uint8_t *out;
};

static const uint8_t base[CR_X25519_LEN] = { 9 };

static bool yes(void)
{
	return true;
}

/* The index of the first word of number i in struct cr_numbers; its other words are `lanes` apart. */
static size_t place(size_t lanes, size_t i)
{
	return i / lanes * lanes * 4 + i % lanes;
}

static void put(struct cr_numbers *n, size_t lanes, size_t i, const uint8_t number[CR_X25519_LEN])
{
	for (size_t k = 0; k < 4; k++)
		n->word[place(lanes, i) + k * lanes] = cm_get_le64(number + 8 * k);
}

/* Store a scalar, clamped (RFC 7748 section 5). */
static void put_scalar(struct cr_numbers *n, size_t lanes, size_t i, const uint8_t number[CR_X25519_LEN])
{
	put(n, lanes, i, number);
	n->word[place(lanes, i)] &= ~(uint64_t)7;
	n->word[place(lanes, i) + 3 * lanes] &= ((uint64_t)1 << 63) - 1;
	n->word[place(lanes, i) + 3 * lanes] |= (uint64_t)1 << 62;
}

static void take(const struct cr_numbers *n, size_t lanes, size_t i, uint8_t number[CR_X25519_LEN])
{
	for (size_t k = 0; k < 4; k++)
		cm_put_le64(number + 8 * k, n->word[place(lanes, i) + k * lanes]);
}

/* Compute 1..AT_ONCE products.  Lanes that remain compute the last product again. */
static void make_in_lanes(const struct cr_lanes *in, const struct product *p, size_t n)
{
	const size_t lanes = in->lanes, all = (n + lanes - 1) / lanes * lanes;
	struct cr_numbers scalar = { 0 }, point = { 0 }, out;

	for (size_t i = 0; i < all; i++) {
		put_scalar(&scalar, lanes, i, p[i < n ? i : n - 1].scalar);
		put(&point, lanes, i, p[i < n ? i : n - 1].point);
	}
	in->multiply(&scalar, &point, all, &out);
	for (size_t i = 0; i < n; i++)
		take(&out, lanes, i, p[i].out);
	explicit_bzero(&scalar, sizeof scalar);
	explicit_bzero(&out, sizeof out);
}

/* Compute 1..CR_LIB25519_MANY products by the library, which has a separate function for products of the
 * base point. */
static void make_some_by_library(const struct product *p, size_t n)
{
	uint8_t scalar[CR_LIB25519_MANY][CR_X25519_LEN], point[CR_LIB25519_MANY][CR_X25519_LEN],
		out[CR_LIB25519_MANY][CR_X25519_LEN];

	for (int of_base = 0; of_base < 2; of_base++) {
		size_t some = 0, at = 0;

		for (size_t i = 0; i < n; i++)
			if ((p[i].point == base) == of_base) {
				memcpy(scalar[some], p[i].scalar, CR_X25519_LEN);
				memcpy(point[some++], p[i].point, CR_X25519_LEN);
			}
		if (some > 0 && of_base)
			cr_x25519_lib25519_base(scalar[0], some, out[0]);
		else if (some > 0)
			cr_x25519_lib25519(scalar[0], point[0], some, out[0]);
		for (size_t i = 0; i < n; i++)
			if ((p[i].point == base) == of_base)
				memcpy(p[i].out, out[at++], CR_X25519_LEN);
	}
	explicit_bzero(scalar, sizeof scalar);
	explicit_bzero(out, sizeof out);
}

static void make_by_library(const struct product *p, size_t n)
{
	for (size_t at = 0; at < n; at += CR_LIB25519_MANY)
		make_some_by_library(p + at, n - at < CR_LIB25519_MANY ? n - at : CR_LIB25519_MANY);
}

/* The ways to compute products, fastest first. */
static const struct way {
	const char *name, *line;
	/* our own lanes, for which tables can be made; used by default where the processor has the
	 * instructions; NULL: another way */
	const struct cr_lanes *lanes;
	/* for other ways: whether it can be forced, and whether it is used by default */
	bool (*here)(void), (*first)(void);
	void (*make)(const struct product *p, size_t n); /* computes 1..AT_ONCE products */
	size_t least; /* with fewer products than this, one at a time is faster */
} ways[] = {
	{ "avx512", "X25519: eight at a time (AVX-512 IFMA)", &cr_lanes_eight, NULL, NULL, NULL, 2 },
	{ "avx2", "X25519: four at a time (AVX2)", &cr_lanes_four, NULL, NULL, NULL, 3 },
	{ "lib25519", "X25519: four at a time (lib25519)", NULL, cr_x25519_lib25519_here,
		cr_x25519_lib25519_quick, make_by_library, 1 },
	/* libcrypto, one product at a time */
	{ "openssl", "X25519: one at a time (OpenSSL)", NULL, yes, yes, NULL, SIZE_MAX },
};
#define WAYS (sizeof ways / sizeof ways[0])

static void make(const struct way *w, const struct product *p, size_t n)
{
	if (w->lanes)
		make_in_lanes(w->lanes, p, n);
	else
		w->make(p, n);
}

static const struct way *chosen;
static enum cm_rc chosen_rc = CM_OK;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Find a way by its name; for NULL the first that is used by default. */
static const struct way *find(const char *name)
{
	for (size_t i = 0; i < WAYS; i++) {
		const struct way *w = &ways[i];
		bool (*here)(void) = w->lanes ? w->lanes->here : name ? w->here : w->first;

		if ((!name || strcmp(w->name, name) == 0) && here())
			return w;
	}
	return NULL;
}

static void choose(void)
{
	const char *name = getenv(CR_X25519_VARIABLE);

	chosen = find(name && *name != '\0' ? name : NULL);
	if (!chosen) {
		chosen_rc = CM_EUSAGE;
		chosen = find(NULL);
	}
}

static const struct way *way(void)
{
	(void)pthread_once(&once, choose);
	return chosen;
}

enum cm_rc cr_x25519_begin(const char **line, struct cm_err *err)
{
	*line = way()->line;
	if (chosen_rc != CM_OK)
		return cm_fail(err, CM_EUSAGE,
			"%s is openssl, avx512 or avx2 on a processor with AVX-512 IFMA or AVX2, or "
			"lib25519 where that library is installed, not '%s'",
			CR_X25519_VARIABLE, getenv(CR_X25519_VARIABLE));
	return CM_OK;
}

const char *cr_x25519_way(void)
{
	return way()->name;
}

bool cr_x25519_use(const char *name)
{
	const struct way *found = find(name);

	(void)pthread_once(&once, choose);
	if (found)
		chosen = found;
	return found != NULL;
}

/* Is a product not zero?  The time does not depend on where it is not. */
static bool is_good(const uint8_t out[CR_X25519_LEN])
{
	static const uint8_t zero[CR_X25519_LEN];

	return !cr_equal(out, zero, sizeof zero);
}

/* Compute one product of one point. */
static enum cm_rc one_point(
	struct cr_x25519 *k, const uint8_t *point, uint8_t out[CR_X25519_LEN], bool *good, struct cm_err *err)
{
	enum cm_rc rc = cr_x25519_derive(k, point, out, err);

	*good = rc == CM_OK;
	return rc == CM_EDATA ? CM_OK : rc;
}

enum cm_rc cr_x25519_points(struct cr_x25519 *k, const uint8_t *const *point, size_t n,
	uint8_t (*out)[CR_X25519_LEN], bool *good, struct cm_err *err)
{
	struct product p[AT_ONCE];
	const struct way *w = way();
	enum cm_rc rc = CM_OK;
	size_t at = 0;

	while (at < n && n - at >= w->least) {
		size_t some = n - at < AT_ONCE ? n - at : AT_ONCE;

		for (size_t i = 0; i < some; i++)
			p[i] = (struct product){ cr_x25519_secret(k), point[at + i], out[at + i] };
		make(w, p, some);
		for (size_t i = 0; i < some; i++)
			good[at + i] = is_good(out[at + i]);
		at += some;
	}
	for (; rc == CM_OK && at < n; at++)
		rc = one_point(k, point[at], out[at], &good[at], err);
	return rc;
}

static enum cm_rc one_scalar(const struct cr_key *secret, const uint8_t point[CR_X25519_LEN],
	uint8_t public_key[CR_X25519_LEN], uint8_t out[CR_X25519_LEN], struct cm_err *err)
{
	struct cr_x25519 *k;
	enum cm_rc rc = cr_x25519_new(secret->bytes, &k, err);

	if (rc != CM_OK)
		return rc;
	memcpy(public_key, cr_x25519_public(k), CR_X25519_LEN);
	rc = cr_x25519_derive(k, point, out, err);
	cr_x25519_free(k);
	return rc;
}

/* ---- many scalars and one point ---- */

static pthread_once_t base_once = PTHREAD_ONCE_INIT;
static struct cr_multiples *base_table[WAYS]; /* kept until the process ends */

static void make_base_tables(void)
{
	for (size_t i = 0; i < WAYS; i++)
		if (ways[i].lanes && ways[i].lanes->here())
			base_table[i] = ways[i].lanes->multiples(base);
}

void cr_x25519_point_init(struct cr_x25519_point *p, const uint8_t point[CR_X25519_LEN])
{
	*p = (struct cr_x25519_point){ 0 };
	memcpy(p->bytes, point, sizeof p->bytes);
}

void cr_x25519_point_like(struct cr_x25519_point *p, const struct cr_x25519_point *of)
{
	cr_x25519_point_init(p, of->bytes);
	p->table = of->table;
	p->tried = p->borrowed = of->table;
}

void cr_x25519_point_fini(struct cr_x25519_point *p)
{
	if (!p->borrowed)
		free(p->table);
	p->table = NULL;
}

void cr_x25519_point_expect(struct cr_x25519_point *p, size_t n)
{
	const struct way *w = way();

	if (n < TABLE_FROM || p->tried || !w->lanes)
		return;
	p->tried = true;
	(void)pthread_once(&base_once, make_base_tables);
	p->table = base_table[w - ways] ? w->lanes->multiples(p->bytes) : NULL;
}

/* Compute both products of at most AT_ONCE scalars from the tables.  Lanes that remain use the last
 * scalar. */
static void make_by_tables(const struct way *w, const struct cr_key *secret, size_t n,
	const struct cr_x25519_point *point, uint8_t (*public_key)[CR_X25519_LEN],
	uint8_t (*out)[CR_X25519_LEN])
{
	const size_t lanes = w->lanes->lanes, all = (n + lanes - 1) / lanes * lanes;
	struct cr_numbers scalar = { 0 }, product;

	for (size_t i = 0; i < all; i++)
		put_scalar(&scalar, lanes, i, secret[i < n ? i : n - 1].bytes);
	w->lanes->multiply_scalars(base_table[w - ways], &scalar, all, &product);
	for (size_t i = 0; i < n; i++)
		take(&product, lanes, i, public_key[i]);
	w->lanes->multiply_scalars(point->table, &scalar, all, &product);
	for (size_t i = 0; i < n; i++)
		take(&product, lanes, i, out[i]);
	explicit_bzero(&scalar, sizeof scalar);
	explicit_bzero(&product, sizeof product);
}

/* Compute the same without tables. */
static void make_both(const struct way *w, const struct cr_key *secret, size_t n, const uint8_t *point,
	uint8_t (*public_key)[CR_X25519_LEN], uint8_t (*out)[CR_X25519_LEN])
{
	struct product p[AT_ONCE];

	for (size_t i = 0; i < n; i++) {
		p[2 * i] = (struct product){ secret[i].bytes, base, public_key[i] };
		p[2 * i + 1] = (struct product){ secret[i].bytes, point, out[i] };
	}
	make(w, p, 2 * n);
}

enum cm_rc cr_x25519_scalars(const struct cr_key *secret, size_t n, struct cr_x25519_point *point,
	uint8_t (*public_key)[CR_X25519_LEN], uint8_t (*out)[CR_X25519_LEN], struct cm_err *err)
{
	const struct way *w = way();
	const bool alone = !w->lanes && !w->make;
	enum cm_rc rc = CM_OK;
	size_t most;

	point->products += n;
	cr_x25519_point_expect(point, point->products);
	most = point->table ? AT_ONCE : AT_ONCE / 2;
	for (size_t at = 0; !alone && at < n; at += most) {
		size_t some = n - at < most ? n - at : most;

		if (point->table)
			make_by_tables(w, secret + at, some, point, public_key + at, out + at);
		else
			make_both(w, secret + at, some, point->bytes, public_key + at, out + at);
	}
	for (size_t i = 0; rc == CM_OK && i < n; i++) {
		if (alone)
			rc = one_scalar(&secret[i], point->bytes, public_key[i], out[i], err);
		else if (!is_good(out[i]))
			rc = cm_fail(err, CM_EDATA, "a public key of low order");
	}
	if (rc != CM_OK)
		explicit_bzero(out, n * sizeof *out);
	return rc;
}
