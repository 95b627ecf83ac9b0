/* acct_frame.h - a grid, a tilt and a transform size, under which products of laws are kept and extended.
 *
 * A product is size/2 + 1 complex numbers that the caller owns: the transform of the tilted composed law.
 * Frequencies from `active` on are below 1e-18 and taken as 0: together they add that much to ||error||_2.
 * The window is cyclic, so its position is chosen when a product is read, not when it is computed.  Every
 * tilt is sound; one chosen for fewer rounds widens the answer (doc/accounting.md, "The ledger's state"). */
#pragma once

#include "acct_compose.h"
#include "acct_fft.h"

#define ACCT_FRAME_SIDES 7

struct acct_frame {
	/* h: the grid's step; lambda: the exponent of the tilt */
	double h, lambda;
	/* distances from lambda at which log moments are kept: Chernoff's bounds on the masses outside the
	 * window use them, on both sides */
	double mu[ACCT_FRAME_SIDES];
	struct acct_fft fft;
};

struct acct_spectrum {
	double (*at)[2];
	size_t active;
};

/* Facts about one law that the frame needs, or the sums of these over the laws of a product. */
struct acct_factor {
	/* log E[e^{lambda L}; L finite] of the loss L, and its first two derivatives by lambda */
	double psi[3];
	/* log moments at lambda - mu[i] (side[0]) and lambda + mu[i] (side[1]) */
	double side[2][ACCT_FRAME_SIDES];
	double spread;  /* 2-norm of the tilted law, whose sum is 1 */
	double finite;  /* log of the mass of finite loss */
	double reach;   /* largest finite loss, in steps of the grid; in a sum, the sum */
	double longest; /* largest finite loss of one law; in a sum, the largest */
	/* 1; in a sum, the number of laws */
	double counts;
};

/* Choose the tilt and the exponents for the composition of these laws.  ACCT_EPRECISION when exponents
 * leave the range of a double.  Call acct_frame_fini whatever the result. */
ACCT_CHECK enum acct_rc acct_frame_init(
	struct acct_frame *f, const struct acct_part *part, size_t parts, double h, struct acct_aim aim);
void acct_frame_fini(struct acct_frame *f);

/* Set the size to `growth` times what the product with these factors needs.  Call it once, before any
 * product.  ACCT_ELIMIT above 2^23. */
ACCT_CHECK enum acct_rc acct_frame_room(struct acct_frame *f, const struct acct_factor *all, double growth);
size_t acct_frame_points(const struct acct_frame *f); /* The number of complex numbers in a product. */
/* Set a product to that of no law: 1 at every frequency. */
void acct_frame_one(const struct acct_frame *f, struct acct_spectrum *product);
void acct_frame_copy(const struct acct_frame *f, struct acct_spectrum *to, const struct acct_spectrum *from);

/* Compute the facts about a law on the frame's grid. */
ACCT_CHECK enum acct_rc acct_frame_factor(
	const struct acct_frame *f, const struct acct_law *law, struct acct_factor *out);
void acct_factor_add(struct acct_factor *sum, const struct acct_factor *one, double count);

/* Multiply a product by a law's transform, count >= 1 times.  Cost: one transform at most. */
ACCT_CHECK enum acct_rc acct_frame_multiply(
	struct acct_frame *f, struct acct_spectrum *product, const struct acct_law *law, double count);

/* Read the composed law from a product, with n further laws multiplied in.  all: the summed factors of the
 * product's laws and the further ones.  Cost: one transform, and one for each law.  Call acct_sum_fini
 * whatever the result. */
ACCT_CHECK enum acct_rc acct_frame_sum(struct acct_frame *f, const struct acct_spectrum *product,
	const struct acct_part *extra, size_t n, const struct acct_factor *all, struct acct_sum *s);
