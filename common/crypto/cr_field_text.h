/* cr_field_text.h - inverses, quotients and square roots in the field of 2^255 - 19, in several lanes.
 * This text is shared by cr_field_eight.h and cr_field_four.h; a file includes it once, after one of these.
 *
 * Those headers define vectors of LANES numbers, struct element and, on all lanes at once:
 *
 *	set_number, load, store	a small number; four vectors of 64 bits; its canonical form, below 2^255 - 19
 *	multiply, square	the product of tight elements or factors
 *	square_tight		the square, brought to the tight form; square_times() repeats it
 *	settle, as_factor	make a product tight, or a factor
 *	add, subtract		tight results, of tight elements or products
 *	add_factor,		factors, of the same
 *	 subtract_factor
 *	add_loose		the same, for a result that is added to or subtracted from only once more
 *	choose_element		one of two in each lane, by a mask of all ones or zeros
 *
 * A tight element may be used everywhere.  No operation depends on a value: there is no branch, no index
 * and no instruction whose time depends on one. */

/* Set every lane to the same number of 256 bits, least word first. */
NOINLINE void set_words(struct element *out, const uint64_t word[4])
{
	vector all[4] = { 0 };

	for (size_t i = 0; i < 4; i++)
		all[i] += word[i];
	load(out, all);
}

NOINLINE void times(struct element *out, const struct element *x, const struct element *y)
{
	multiply(out, x, y);
	settle(out);
}

/* The powers on the way to an inverse or a root.  In comments a_b stands for the exponent 2^a - 2^b. */
struct powers {
	struct element z11, z5_0, z10_0, z50_0, z100_0, t;
};

/* Set t to z^(2^250 - 1), and z11 to z^11; z is tight. */
NOINLINE void power_250_0(struct powers *p, const struct element *z)
{
	square_times(&p->t, z, 1);
	square_times(&p->z5_0, &p->t, 2);
	times(&p->z5_0, &p->z5_0, z); /* now z to the exponent 9 */
	times(&p->z11, &p->z5_0, &p->t);
	square_times(&p->t, &p->z11, 1);
	times(&p->z5_0, &p->t, &p->z5_0); /* now z to the exponent 31, which is 2^5 - 2^0 */
	square_times(&p->t, &p->z5_0, 5);
	times(&p->z10_0, &p->t, &p->z5_0);
	square_times(&p->t, &p->z10_0, 10);
	times(&p->t, &p->t, &p->z10_0); /* now z to the exponent 20_0 */
	square_times(&p->z50_0, &p->t, 20);
	times(&p->t, &p->z50_0, &p->t); /* now z to the exponent 40_0 */
	square_times(&p->t, &p->t, 10);
	times(&p->z50_0, &p->t, &p->z10_0);
	square_times(&p->t, &p->z50_0, 50);
	times(&p->z100_0, &p->t, &p->z50_0);
	square_times(&p->t, &p->z100_0, 100);
	times(&p->t, &p->t, &p->z100_0); /* now z to the exponent 200_0 */
	square_times(&p->t, &p->t, 50);
	times(&p->t, &p->t, &p->z50_0);
}

/* Compare tight elements whose values are public and the same in all lanes. */
TARGET static bool are_equal(const struct element *x, const struct element *y)
{
	vector a[4], b[4];
	bool equal = true;

	store(a, x);
	store(b, y);
	for (size_t i = 0; i < 4; i++)
		equal = equal && a[i][0] == b[i][0];
	return equal;
}

/* x = sqrt(a / b), computed as a b^3 (a b^7)^((p - 5) / 8), for elements that are public and the same in
 * all lanes.  Returns false if there is no root. */
TARGET static bool root(struct element *x, const struct element *a, const struct element *b)
{
	static const uint64_t sqrt_of_minus_1[4] = { 0xc4ee1b274a0ea0b0, 0x2f431806ad2fe478,
		0x2b4d00993dfbd7a7, 0x2b8324804fc1df0b };
	struct powers p;
	struct element b3, t, minus, i;

	square_times(&b3, b, 1);
	times(&b3, &b3, b);
	square_times(&t, &b3, 1);
	times(&t, &t, b);
	times(&t, &t, a);
	power_250_0(&p, &t);
	square_times(&p.t, &p.t, 2);
	times(&t, &p.t, &t);
	times(&t, &t, &b3);
	times(x, &t, a);
	square_times(&t, x, 1);
	times(&t, &t, b);
	if (are_equal(&t, a))
		return true;
	set_number(&minus, 0);
	subtract(&minus, &minus, a);
	set_words(&i, sqrt_of_minus_1);
	times(x, x, &i);
	return are_equal(&t, &minus);
}

/* Where z is zero modulo 2^255 - 19, set z to one and x to zero: such a z would make the common inverse
 * zero. */
NOINLINE void avoid_zero(struct element *x, struct element *z)
{
	vector c[4], mask;
	struct element one, zero;

	set_number(&one, 1);
	set_number(&zero, 0);
	store(c, z);
	mask = (vector)((c[0] | c[1] | c[2] | c[3]) == 0);
	choose_element(z, &mask, &one, z);
	choose_element(x, &mask, &zero, x);
	explicit_bzero(c, sizeof c);
}

#define DIVIDE_MOST 32u

/* Set x[i] to x[i] / z[i], tight, and to 0 where z[i] is 0, for 1 to DIVIDE_MOST tight elements, by one
 * inversion: 1 / z = z^(2^255 - 21).  before[i] is the product of z[0] to z[i - 1]. */
NOINLINE void divide(struct element *x, struct element *z, size_t n)
{
	struct element before[DIVIDE_MOST], all;
	struct powers p;

	set_number(&all, 1);
	for (size_t i = 0; i < n; i++) {
		avoid_zero(&x[i], &z[i]);
		before[i] = all;
		times(&all, &all, &z[i]);
	}
	power_250_0(&p, &all);
	square_times(&p.t, &p.t, 5);
	times(&p.t, &p.t, &p.z11);
	for (size_t i = n; i-- > 0;) {
		times(&before[i], &p.t, &before[i]);
		times(&x[i], &x[i], &before[i]);
		times(&p.t, &p.t, &z[i]);
	}
	explicit_bzero(before, n * sizeof *before);
	explicit_bzero(&all, sizeof all);
	explicit_bzero(&p, sizeof p);
}
