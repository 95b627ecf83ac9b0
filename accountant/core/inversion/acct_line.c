/* acct_line.c (acct_path.h) - sums over nodes of the line c + it, computed four nodes at a time. */
#include <math.h>
#include <string.h>

#include "acct_path.h"

void acct_line_init(struct acct_line *f, const struct acct_path *w)
{
	f->path = w;
	f->waiting = 0;
	f->longest = f->size = f->turning = f->whole = f->value = f->mass = 0;
	for (size_t j = 0; j < w->cells; j++) {
		double a = w->c * w->x[j], x = fabs(w->x[j]), e = w->grown[j],
		       most = w->omega[j] * fmax(1, e);

		f->longest = fmax(f->longest, x);
		f->size += most * fabs(a);
		f->turning += most * x;
		f->whole += w->omega[j] * e;
		f->value += w->omega[j] * x * e;
		f->mass += w->omega[j] * w->both[j] * e;
	}
}

/* Approximations of the modulus from above (at most sqrt(2) times it) and from below (at least it over
 * sqrt(2)).  Only bounds on errors use them. */
ACCT_INLINED void above_modulus(const struct acct_lane_pair *z, acct_lanes *out)
{
	acct_lanes a, b;

	acct_lane_abs(&z->re, &a);
	acct_lane_abs(&z->im, &b);
	*out = a + b;
}

ACCT_INLINED void below_modulus(const struct acct_lane_pair *z, acct_lanes *out)
{
	acct_lanes a, b;

	acct_lane_abs(&z->re, &a);
	acct_lane_abs(&z->im, &b);
	acct_lane_max(&a, &b, out);
}

/* *out = log(1 + w), and *size a lower bound on |1 + w|. */
ACCT_INLINED void log_of(const struct acct_lane_pair *w, struct acct_lane_pair *out, acct_lanes *size)
{
	acct_lanes gain = 2 * w->re + w->re * w->re + w->im * w->im;
	struct acct_lane_pair whole = { 1 + w->re, w->im };

	below_modulus(&whole, size);
	acct_lane_log1p(&gain, &out->re);
	acct_lane_atan2(&whole.im, &whole.re, &out->im);
	for (int i = 0; i < ACCT_LANES && !acct_lane_within(&gain, -1 + 1e-12, 1e100); i++) {
		out->re[i] = log1p(gain[i]);
		out->im[i] = atan2(whole.im[i], whole.re[i]);
	}
	out->re *= 0.5;
}

/* The log of a node's common power: of the factors prod B_c^count_c C^dummies e^{tau^2 z^2/2}; and a bound
 * on its error in ulps, to which every term that is not exact adds by its modulus. */
struct power {
	struct acct_lane_pair log;
	acct_lanes err;
};

ACCT_INLINED void power_add(struct power *p, const struct acct_lane_pair *log, double terms)
{
	acct_lanes mod;

	above_modulus(log, &mod);
	p->log.re += log->re;
	p->log.im += log->im;
	p->err += terms * mod;
}

/* Multiply the power by (1 + share s)^count, where s has an error of off[] ulps. */
ACCT_INLINED void power_raise(struct power *p, const struct acct_lane_pair *s, double share, double count,
	const acct_lanes *off, double terms)
{
	struct acct_lane_pair w = { share * s->re, share * s->im }, log;
	acct_lanes mod, least;

	log_of(&w, &log, &least);
	above_modulus(&w, &mod);
	p->err += count * (share * *off / least + 4 * (mod + mod * mod) / (least * least));
	log.re *= count;
	log.im *= count;
	power_add(p, &log, terms);
}

ACCT_INLINED void power_of(
	const struct acct_line *f, const struct acct_lane_pair *s, const acct_lanes *size, struct power *p)
{
	const struct acct_path *w = f->path;
	const struct acct_list *l = w->list;
	double tau2 = w->tau * w->tau, c = w->c, terms = 9 + (double)l->groups;
	struct acct_lane_pair normal = { tau2 * (c * c - f->t * f->t) / 2, tau2 * c * f->t };
	acct_lanes off, zero = { 0 };

	*p = (struct power){ { zero, zero }, zero + 64 };
	power_add(p, &normal, terms);
	for (size_t k = 0; k < l->groups; k++) {
		off = *size * acct_path_off(w, l->group[k].share);
		power_raise(p, s, l->group[k].share, l->group[k].count, &off, terms);
	}
	if (l->dummies > 0) {
		off = *size * acct_path_off(w, 1);
		power_raise(p, s, 1 / l->blanket, l->dummies, &off, terms);
	}
}

/* Sums over the cells at each node: of omega (e^{zx} - 1) (s), omega x e^{zx} (value), omega (u+v)/2 e^{zx}
 * (mass), and omega e^{zx} (whole). */
struct cells {
	struct acct_lane_pair s, value, mass, whole;
};

ACCT_INLINED void over_cells(const struct acct_line *f, struct cells *sum)
{
	const struct acct_path *w = f->path;
	acct_lanes zero = { 0 };

	sum->s = sum->value = sum->mass = sum->whole = (struct acct_lane_pair){ zero, zero };
	for (size_t j = 0; j < w->cells; j++) {
		double omega = w->omega[j], x = w->x[j], both = w->both[j];
		acct_lanes half = f->t * (x / 2), s, c, fall, cosine, re, im;

		acct_lane_turn_any(&half, &s, &c);
		fall = 2 * s * s; /* 1 - cos tx, as 2 sin^2(tx/2) */
		cosine = 1 - fall;
		re = omega * (w->grown[j] * cosine);
		im = omega * (w->grown[j] * (2 * s * c));
		sum->s.re += omega * (w->gained[j] * cosine - fall);
		sum->s.im += im;
		sum->whole.re += re;
		sum->whole.im += im;
		sum->value.re += x * re;
		sum->value.im += x * im;
		sum->mass.re += both * re;
		sum->mass.im += both * im;
	}
}

/* What each node adds to struct acct_sums. */
struct parts {
	acct_lanes value, slope, excess, value_err, slope_err, excess_err, value_size, slope_size,
		excess_size;
};

ACCT_INLINED void add(const struct acct_line *f, struct parts *out)
{
	const struct acct_path *w = f->path;
	double c = w->c, more_size = w->more_rest + w->more_scale * f->whole;
	acct_lanes t = f->t, size = f->size + t * f->turning, g, inv = 1 / (c * c + t * t), least, own, err;
	struct acct_lane_pair e, ez, more, z;
	struct cells sum;
	struct power p;
	acct_lanes zero = { 0 };

	over_cells(f, &sum);
	power_of(f, &sum.s, &size, &p);
	acct_lane_exp_pair(&p.log, &f->weight, &e, &g);
	z = (struct acct_lane_pair){ zero + c, t };
	below_modulus(&z, &least);
	/* own: relative error of the factor beside the common power, whose terms may cancel; err: relative
	 * error of the common power. */
	own = (8 * (c + t) * f->longest + 32 + (double)w->cells) * ACCT_ULP + ACCT_OMEGA_ERROR +
	      ACCT_SHARE_ERROR;
	err = p.err * ACCT_ULP;
	for (int i = 0; i < ACCT_LANES; i++)
		err[i] = err[i] < 0.5 ? 2 * err[i] : INFINITY;
	own *= 1 + err;
	ez = (struct acct_lane_pair){ (e.re * c + e.im * t) * inv, (e.im * c - e.re * t) * inv };
	/* The excess has one more message (per_message).  Its factor has a sum of its own, since 1 + s may
	 * cancel. */
	more = (struct acct_lane_pair){ w->more_rest + w->more_scale * sum.whole.re,
		w->more_scale * sum.whole.im };
	above_modulus(&more, &out->excess_size);
	above_modulus(&sum.value, &out->value_size);
	above_modulus(&sum.mass, &out->slope_size);
	out->excess_size *= g;
	out->value_size *= g / least;
	out->slope_size *= g / least;
	out->value = sum.value.re * ez.re - sum.value.im * ez.im;
	out->slope = sum.mass.re * ez.re - sum.mass.im * ez.im;
	out->excess = more.re * e.re - more.im * e.im;
	out->value_err = out->value_size * err + g / least * f->value * own;
	out->slope_err = out->slope_size * err + g / least * f->mass * own;
	out->excess_err = out->excess_size * err + g * more_size * own;
}

static void add_plain(const struct acct_line *f, struct parts *out)
{
	add(f, out);
}

ACCT_AVX2 static void add_avx2(const struct acct_line *f, struct parts *out)
{
	add(f, out);
}

void acct_line_end(struct acct_line *f, struct acct_sums *sum)
{
	struct parts out;

	if (f->waiting == 0)
		return;
	for (size_t i = f->waiting; i < ACCT_LANES; i++) {
		f->t[i] = f->t[0];
		f->weight[i] = 0;
	}
	if (acct_lane_has_avx2())
		add_avx2(f, &out);
	else
		add_plain(f, &out);
	for (size_t i = 0; i < f->waiting; i++) {
		sum->value += out.value[i];
		sum->slope += out.slope[i];
		sum->excess += out.excess[i];
		sum->value_err += out.value_err[i];
		sum->slope_err += out.slope_err[i];
		sum->excess_err += out.excess_err[i];
		sum->value_size += out.value_size[i];
		sum->slope_size += out.slope_size[i];
		sum->excess_size += out.excess_size[i];
		sum->nodes++;
	}
	f->waiting = 0;
}

void acct_line_add(struct acct_line *f, double t, double weight, struct acct_sums *sum)
{
	f->t[f->waiting] = t;
	f->weight[f->waiting++] = weight;
	if (f->waiting == ACCT_LANES)
		acct_line_end(f, sum);
}
