/* cr_x25519_text.h - X25519 (RFC 7748 section 5) in several lanes.  This text is shared by
 * cr_x25519_eight.c and cr_x25519_four.c, and uses the field of cr_field_text.h. */

#define GROUPS (CR_LANES_MOST / LANES)
_Static_assert(GROUPS <= DIVIDE_MOST && MOST <= DIVIDE_MOST, "one inversion for all");

INLINE const vector *group_of(const struct cr_numbers *n, size_t i)
{
	return (const vector *)n->word + 4 * i;
}

/* ---- products of any points ---- */

/* Everything in a call that depends on a scalar, in one place so that it can be wiped.  Names are those of
 * RFC 7748. */
struct climbing {
	struct element x1, x2, z2, x3, z3, a, b, c, d, aa, bb, e, t;
	struct element x[GROUPS], z[GROUPS];
};

/* One step of RFC 7748's loop.  (x3 : z3) becomes the sum of both points, whose difference is x1; the sum
 * does not depend on the order of the two.  (x2 : z2) becomes twice itself, or with `swap` twice (x3 :
 * z3). */
INLINE void step(struct climbing *w, const vector *swap)
{
	add_factor(&w->a, &w->x2, &w->z2);
	subtract_factor(&w->b, &w->x2, &w->z2);
	add_factor(&w->c, &w->x3, &w->z3);
	subtract_factor(&w->d, &w->x3, &w->z3);
	multiply(&w->x3, &w->d, &w->a); /* DA of RFC 7748 */
	multiply(&w->z3, &w->c, &w->b); /* CB of RFC 7748 */
	choose_element(&w->a, swap, &w->c, &w->a);
	choose_element(&w->b, swap, &w->d, &w->b);
	add_factor(&w->c, &w->x3, &w->z3);
	subtract_factor(&w->d, &w->x3, &w->z3);
	square_tight(&w->aa, &w->a);
	square_tight(&w->bb, &w->b);
	square(&w->x3, &w->c);
	square(&w->d, &w->d);
	as_factor(&w->d);
	multiply(&w->z3, &w->d, &w->x1);
	multiply(&w->x2, &w->aa, &w->bb);
	subtract_factor(&w->e, &w->aa, &w->bb);
	add_scaled(&w->t, &w->aa, &w->e);
	multiply(&w->z2, &w->e, &w->t);
}

/* Compute (x2 : z2) = scalar * x1, tight. */
NOINLINE void climb(struct climbing *w, const vector scalar[4])
{
	vector before = { 0 };

	set_number(&w->x2, 1);
	set_number(&w->z2, 0);
	w->x3 = w->x1;
	set_number(&w->z3, 1);
	for (int bit = 254; bit >= 0; bit--) {
		const vector now = -(scalar[bit / 64] >> (bit % 64) & 1), swap = now ^ before;

		before = now;
		step(w, &swap);
	}
	/* The last bit of a clamped scalar is 0, so nothing is left exchanged. */
	settle(&w->x2);
	settle(&w->z2);
}

NOINLINE void climb_all(
	const struct cr_numbers *scalar, const struct cr_numbers *point, size_t n, struct cr_numbers *product)
{
	const size_t groups = n / LANES;
	struct climbing w;

	for (size_t i = 0; i < groups; i++) {
		load(&w.x1, group_of(point, i));
		climb(&w, group_of(scalar, i));
		w.x[i] = w.x2;
		w.z[i] = w.z2;
	}
	divide(w.x, w.z, groups);
	for (size_t i = 0; i < groups; i++)
		store((vector *)product->word + 4 * i, &w.x[i]);
	explicit_bzero(&w, sizeof w);
}

static void multiply_points(
	const struct cr_numbers *scalar, const struct cr_numbers *point, size_t n, struct cr_numbers *product)
{
	climb_all(scalar, point, n, product);
	cr_wipe_stack();
}

/* ---- the table of a public point, with the same in all lanes ----
 *
 * Curve25519 is the Edwards curve -x^2 + y^2 = 1 + d x^2 y^2, d = -121665 / 121666 (RFC 7748 section 4.1), by
 * u = (1 + y) / (1 - y).  Its law of addition is complete: it has no exceptions, for points of small order
 * neither (Bernstein, Birkner, Joye, Lange, Peters, "Twisted Edwards Curves", 2008; Hisil, Wong, Carter,
 * Dawson, "Twisted Edwards Curves Revisited", 2008).  Which of its two x a point has does not matter, since
 * the product's u is the same.  A scalar is a sum of digits[i] (2 MOST)^i with digits of -MOST to MOST, and
 * the table has the multiples 1 to MOST of each (2 MOST)^i times the point. */

#define DIGITS ((255 + BITS - 1) / BITS)

/* A multiple of the point, as it is added: y + x, y - x and 2 d x y, d the constant of the curve. */
struct row {
	struct column plus, minus, product;
};

struct cr_multiples {
	struct row row[DIGITS];
};

/* A point with x = X / Z, y = Y / Z, x y = T / Z. */
struct point {
	struct element x, y, z, t;
};

static const uint64_t curve_d[4] = { 0x75eb4dca135978a3, 0x00700a4d4141d8ab, 0x8cc740797779e898,
	0x52036cee2b6ffe73 };

/* Find the Edwards point of u: y = (u - 1) / (u + 1), x^2 = -4 u / (d (u - 1)^2 + (u + 1)^2).  Returns
 * false if u is on the curve's twist. */
TARGET static bool find_point(const uint8_t u[CR_POINT_LEN], struct point *out)
{
	struct element n, one, zero, d, a, b, x;
	uint64_t word[4];

	for (size_t i = 0; i < 4; i++)
		word[i] = cm_get_le64(u + 8 * i);
	set_words(&n, word);
	set_words(&d, curve_d);
	set_number(&one, 1);
	set_number(&zero, 0);
	subtract(&out->y, &n, &one);
	add(&out->z, &n, &one);
	if (are_equal(&out->z, &zero))
		return false;
	add(&a, &n, &n);
	add(&a, &a, &a);
	subtract(&a, &zero, &a);
	square_times(&b, &out->y, 1);
	times(&b, &b, &d);
	square_times(&d, &out->z, 1);
	add(&b, &b, &d);
	if (!root(&x, &a, &b))
		return false;
	times(&out->t, &x, &out->y);
	times(&out->x, &x, &out->z);
	return true;
}

/* out = p + q, for tight points; out may be one of them. */
NOINLINE void add_points(struct point *out, const struct point *p, const struct point *q)
{
	struct element a, b, c, d, e, f;

	subtract(&e, &p->y, &p->x);
	subtract(&f, &q->y, &q->x);
	times(&a, &e, &f);
	add(&e, &p->y, &p->x);
	add(&f, &q->y, &q->x);
	times(&b, &e, &f);
	set_words(&d, curve_d);
	add(&d, &d, &d);
	times(&c, &p->t, &q->t);
	times(&c, &c, &d);
	times(&d, &p->z, &q->z);
	add(&d, &d, &d);
	subtract(&e, &b, &a);
	subtract(&f, &d, &c);
	add(&d, &d, &c);
	add(&c, &b, &a);
	times(&out->x, &f, &e);
	times(&out->y, &d, &c);
	times(&out->t, &e, &c);
	times(&out->z, &f, &d);
}

/* Compute the multiples 1 to MOST of p, which becomes 2 MOST p. */
TARGET static void make_row(struct row *row, struct point *p)
{
	struct element x[MOST], y[MOST], z[MOST], inverse[MOST], d, t;
	struct point multiple = *p;

	set_words(&d, curve_d);
	add(&d, &d, &d);
	for (size_t j = 0; j < MOST; j++) {
		if (j > 0)
			add_points(&multiple, &multiple, p);
		x[j] = multiple.x;
		y[j] = multiple.y;
		z[j] = multiple.z;
		set_number(&inverse[j], 1);
	}
	divide(inverse, z, MOST);
	for (size_t j = 0; j < MOST; j++) {
		times(&x[j], &x[j], &inverse[j]);
		times(&y[j], &y[j], &inverse[j]);
		add(&t, &y[j], &x[j]);
		put(&row->plus, j, &t);
		subtract(&t, &y[j], &x[j]);
		put(&row->minus, j, &t);
		times(&t, &x[j], &y[j]);
		times(&t, &t, &d);
		put(&row->product, j, &t);
	}
	add_points(p, &multiple, &multiple);
}

static struct cr_multiples *multiples_of(const uint8_t point[CR_POINT_LEN])
{
	struct cr_multiples *m = aligned_alloc(64, sizeof *m);
	struct point p;

	if (!m || !find_point(point, &p)) {
		free(m);
		return NULL;
	}
	for (int i = 0; i < DIGITS; i++)
		make_row(&m->row[i], &p);
	return m;
}

/* ---- products of a point that has a table ---- */

/* Everything in a call that depends on a scalar, in one place so that it can be wiped. */
struct adding {
	struct point sum; /* coordinates of the sum of entries so far, as products leave them */
	struct element plus, minus, product, a, b, c, d, e, f, g, h;
	vector digit[DIGITS], negative[DIGITS];
	struct element u[GROUPS], w[GROUPS];
};

/* Find the digits of clamped scalars, the last of which is at most 8: the magnitudes, and all ones for
 * digits below 0. */
INLINE void find_digits(struct adding *w, const vector word[4])
{
	vector more = { 0 };

	for (int i = 0; i < DIGITS; i++) {
		const int at = BITS * i / 64, from = BITS * i % 64;
		vector digit = word[at] >> from;

		if (from > 64 - BITS && at < 3)
			digit |= word[at + 1] << (64 - from);
		digit = (digit & (2 * MOST - 1)) + more;
		/* All ones for a digit that becomes negative, which adds 1 to the next digit. */
		w->negative[i] = -((digit + (MOST - 1)) >> BITS);
		more = w->negative[i] & 1;
		w->digit[i] = ((digit - (more << BITS)) ^ w->negative[i]) + more;
	}
}

/* Choose the entry of digit i.  As -(x, y) = (-x, y), a negative digit exchanges y + x and y - x. */
NOINLINE void choose_entry(struct adding *w, const struct row *row, int i)
{
	const vector *negative = &w->negative[i];
	struct element product, opposite, zero;

	pick_two(&w->plus, &w->minus, &row->plus, &row->minus, &w->digit[i], negative);
	pick(&product, &row->product, &w->digit[i], 0);
	set_number(&zero, 0);
	subtract_factor(&opposite, &zero, &product);
	choose_element(&w->product, negative, &opposite, &product);
}

/* Set the sum to the entry (x, y) alone: Z = 4, X = 4 x, Y = 4 y, T = 4 x y. */
NOINLINE void begin_with_entry(struct adding *w)
{
	subtract(&w->a, &w->plus, &w->minus);
	add(&w->b, &w->plus, &w->minus);
	multiply(&w->sum.t, &w->a, &w->b);
	add(&w->sum.x, &w->a, &w->a);
	add(&w->sum.y, &w->b, &w->b);
	set_number(&w->sum.z, 4);
}

/* Add the entry to the sum. */
NOINLINE void add_entry(struct adding *w)
{
	struct point *s = &w->sum;

	subtract_factor(&w->a, &s->y, &s->x);
	multiply(&w->a, &w->a, &w->minus);
	add_factor(&w->b, &s->y, &s->x);
	multiply(&w->b, &w->b, &w->plus);
	as_factor(&s->t);
	multiply(&w->c, &w->product, &s->t);
	add_loose(&w->d, &s->z, &s->z);
	subtract_factor(&w->e, &w->b, &w->a);
	subtract_factor(&w->f, &w->d, &w->c);
	add_factor(&w->g, &w->d, &w->c);
	add_factor(&w->h, &w->b, &w->a);
	multiply(&s->x, &w->f, &w->e);
	multiply(&s->y, &w->g, &w->h);
	multiply(&s->t, &w->e, &w->h);
	multiply(&s->z, &w->f, &w->g);
}

NOINLINE void add_all(
	const struct cr_multiples *m, const struct cr_numbers *scalar, size_t n, struct cr_numbers *product)
{
	const size_t groups = n / LANES;
	struct adding w;

	for (size_t i = 0; i < groups; i++) {
		find_digits(&w, group_of(scalar, i));
		choose_entry(&w, &m->row[0], 0);
		begin_with_entry(&w);
		for (int k = 1; k < DIGITS; k++) {
			choose_entry(&w, &m->row[k], k);
			add_entry(&w);
		}
		add(&w.u[i], &w.sum.z, &w.sum.y);
		subtract(&w.w[i], &w.sum.z, &w.sum.y);
	}
	divide(w.u, w.w, groups);
	for (size_t i = 0; i < groups; i++)
		store((vector *)product->word + 4 * i, &w.u[i]);
	explicit_bzero(&w, sizeof w);
}

static void multiply_scalars(
	const struct cr_multiples *m, const struct cr_numbers *scalar, size_t n, struct cr_numbers *product)
{
	add_all(m, scalar, n, product);
	cr_wipe_stack();
}

static bool here(void)
{
	__builtin_cpu_init();
	return HERE;
}
