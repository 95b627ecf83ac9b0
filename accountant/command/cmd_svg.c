/* cmd_svg.c (cmd_curve.h) - draws curves as SVG with labelled axes, a grid, and a legend that states each
 * line's worth. */
#include <math.h>
#include <string.h>

#include "cmd_curve.h"

#define WIDTH  820.0
#define LEFT   84.0
#define RIGHT  28.0
#define TOP    58.0
#define HEIGHT 340.0 /* of the plot area */
#define FOOT   66.0  /* tick labels and the axis' name */
#define ROW    20.0  /* of one row of the legend */

/* Colours that colour-blind readers can tell apart, on light and on dark (after Okabe and Ito 2008). */
static const char *const colour[] = { "#1f83c4", "#d55e00", "#e69f00", "#009e73", "#cc79a7", "#56b4e9",
	"#8c6bb1", "#999999" };

struct axis {
	double low, high; /* of the values */
	bool logarithmic;
	double from, to; /* positions on the picture */
};

static double place(const struct axis *a, double v)
{
	double t =
		a->logarithmic ? log(v / a->low) / log(a->high / a->low) : (v - a->low) / (a->high - a->low);

	return a->from + t * (a->to - a->from);
}

/* Length of a valid UTF-8 sequence at s, or 0. */
static size_t sequence(const unsigned char *s)
{
	size_t n = *s < 0x80 ? 1 : *s >= 0xc2 && *s < 0xe0 ? 2 : *s >= 0xe0 && *s < 0xf0 ? 3 : 0;

	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	bool narrow = n == 3 && ((*s == 0xe0 && s[1] < 0xa0) || (*s == 0xed && s[1] >= 0xa0) ||
					(*s == 0xef && s[1] == 0xbf && s[2] >= 0xbe));
	return narrow ? 0 : n;
}

/* Writes text as XML; a character that XML forbids becomes a question mark. */
static void put_text(FILE *to, const char *text)
{
	for (const unsigned char *s = (const unsigned char *)text; *s;) {
		size_t n = sequence(s);

		if (*s == '&')
			fputs("&amp;", to);
		else if (*s == '<')
			fputs("&lt;", to);
		else if (*s == '>')
			fputs("&gt;", to);
		else if (n == 0 || *s < 0x20 || *s == 0x7f)
			fputc('?', to);
		else
			(void)fwrite(s, 1, n, to);
		s += n > 0 ? n : 1;
	}
}

/* 1, 2 or 5 times a power of ten, so that about `ticks` of them make the length. */
static double nice_step(double length, double ticks)
{
	double raw = length / ticks, power = pow(10, floor(log10(raw))), digit = raw / power;

	return power * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10);
}

/* Ends of the y axis: from 0, or in decades where the values span more than two of them. */
static struct axis y_axis(const struct cmd_plot *p)
{
	struct axis y = { 0, 0, false, TOP + HEIGHT, TOP };
	double least = INFINITY, most = 0;

	for (size_t k = 0; k < p->count; k++)
		for (size_t i = 0; i < p->series[k].points; i++) {
			struct acct_bound b = p->series[k].point[i].y;

			if (isfinite(b.upper)) {
				most = fmax(most, b.upper);
				least = b.upper > 0 ? fmin(least, b.upper) : least;
			}
			if (b.lower > 0 && isfinite(b.lower)) {
				most = fmax(most, b.lower);
				least = fmin(least, b.lower);
			}
		}
	if (!(most > 0)) {
		y.high = 1;
		return y;
	}
	y.logarithmic = most / least > 100;
	if (y.logarithmic) {
		y.low = pow(10, floor(log10(least)));
		y.high = pow(10, ceil(log10(most)));
	} else {
		double step = nice_step(most, 6);

		y.high = step * ceil(most / step - 1e-9);
	}
	return y;
}

/* From the least to the largest x of all series: one that does not apply at an end has no point there. */
static struct axis x_axis(const struct cmd_plot *p)
{
	struct axis x = { INFINITY, -INFINITY, p->x_logarithmic, LEFT, WIDTH - RIGHT };

	for (size_t k = 0; k < p->count; k++)
		for (size_t i = 0; i < p->series[k].points; i++) {
			x.low = fmin(x.low, p->series[k].point[i].x);
			x.high = fmax(x.high, p->series[k].point[i].x);
		}
	if (!(x.low < x.high)) {
		double middle = isfinite(x.low) ? x.low : 0;

		x.logarithmic = false;
		x.low = middle - 0.5;
		x.high = middle + 0.5;
	}
	return x;
}

/* Writes powers of ten for numbers too large or too small to read at a glance. */
static void put_number(FILE *to, double v, const struct axis *a)
{
	double e = a->logarithmic ? round(log10(v)) : 0;
	bool far = a->low < 0.99e-3 || a->high > 1.01e4;

	if (far && fabs(e) > 1 && fabs(v / pow(10, e) - 1) < 1e-9)
		fprintf(to, "10<tspan dy=\"-5\" font-size=\"10\">%.0f</tspan>", e);
	else
		fprintf(to, "%.6g", v + 0.0); /* adding 0.0 removes the sign of -0 */
}

static void put_tick(FILE *to, const struct axis *a, bool across, double v, bool labelled)
{
	double at = place(a, v);

	if (across)
		fprintf(to, "<path class=\"%s\" d=\"M%.1f %.1fV%.1f\"/>\n", labelled ? "grid" : "minor", at,
			TOP, TOP + HEIGHT);
	else
		fprintf(to, "<path class=\"%s\" d=\"M%.1f %.1fH%.1f\"/>\n", labelled ? "grid" : "minor", LEFT,
			at, WIDTH - RIGHT);
	if (!labelled)
		return;
	if (across)
		fprintf(to, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">", at, TOP + HEIGHT + 20);
	else
		fprintf(to, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">", LEFT - 9, at + 4);
	put_number(to, v, a);
	fputs("</text>\n", to);
}

static void put_axis(FILE *to, const struct axis *a, bool across)
{
	if (!a->logarithmic) {
		double step = nice_step(a->high - a->low, across ? 8 : 6), first = ceil(a->low / step - 1e-9);

		for (double i = first; i * step <= a->high + 1e-9 * step; i++)
			put_tick(to, a, across, i * step, true);
		return;
	}
	double decades = log10(a->high / a->low), every = ceil(decades / (across ? 11 : 8));
	for (double e = floor(log10(a->low)); e <= ceil(log10(a->high)); e++)
		for (int digit = 1; digit < 10; digit++) {
			double v = digit * pow(10, e);
			bool main = digit == 1 ? fmod(e, every) == 0
					       : decades < 2.5 && (digit == 2 || digit == 5);

			if (v >= a->low * (1 - 1e-9) && v <= a->high * (1 + 1e-9) && (main || decades < 4))
				put_tick(to, a, across, v, main);
		}
}

enum end { LOWER_END, UPPER_END };

/* The points that are known, as one path with gaps. */
static void put_path(FILE *to, const struct cmd_series *s, const struct axis *x, const struct axis *y,
	enum end end, const char *style)
{
	bool pen = false, any = false;

	for (size_t i = 0; i < s->points; i++) {
		struct acct_bound b = s->point[i].y;
		double v = end == UPPER_END ? b.upper : b.lower;
		bool known = isfinite(v) && (v > 0 || (end == UPPER_END && !y->logarithmic)) &&
			     (!y->logarithmic || v >= y->low);

		if (known && !any)
			fputs("<path class=\"line\" d=\"", to);
		if (known)
			fprintf(to, "%c%.1f %.1f", pen ? 'L' : 'M', place(x, s->point[i].x), place(y, v));
		pen = known;
		any = any || known;
	}
	if (any)
		fprintf(to, "\" %s/>\n", style);
}

/* One line: of a guarantee solid, of a lower bound dotted, of anything else dashed. */
static void put_line(FILE *to, const struct cmd_plot *p, size_t k, const struct axis *x, const struct axis *y,
	enum end end)
{
	static const char *const dash[] = { "", " stroke-dasharray=\"7 5\"", " stroke-dasharray=\"7 5\"",
		" stroke-dasharray=\"2 4\"" };
	const struct cmd_series *s = &p->series[k];
	enum acct_worth look = end == LOWER_END ? ACCT_LOWER : s->worth;
	char style[128];

	(void)snprintf(style, sizeof style, "stroke=\"%s\" stroke-width=\"%s\"%s",
		colour[k % (sizeof colour / sizeof *colour)], look == ACCT_LOWER ? "2.4" : "2", dash[look]);
	put_path(to, s, x, y, end, style);
	if (s->worth == look) {
		double row = TOP + HEIGHT + FOOT + ROW * (double)k;

		fprintf(to, "<path class=\"line\" d=\"M%.1f %.1fH%.1f\" %s/>\n", LEFT, row, LEFT + 34, style);
	}
}

static bool is_finite_somewhere(const struct cmd_series *s)
{
	for (size_t i = 0; i < s->points; i++)
		if (isfinite(s->worth == ACCT_LOWER ? s->point[i].y.lower : s->point[i].y.upper))
			return true;
	return false;
}

static bool has_lower_end(const struct cmd_series *s)
{
	for (size_t i = 0; i < s->points; i++)
		if (s->point[i].y.lower > 0)
			return true;
	return false;
}

static void put_legend(FILE *to, const struct cmd_plot *p, size_t k)
{
	const struct cmd_series *s = &p->series[k];
	double row = TOP + HEIGHT + FOOT + ROW * (double)k;

	fprintf(to, "<text x=\"%.1f\" y=\"%.1f\">", LEFT + 44, row + 4);
	put_text(to, s->name);
	fprintf(to, ": %s%s%s%s</text>\n", acct_worth_text(s->worth),
		s->worth == ACCT_PROVED ? " upper bound" : "",
		s->worth == ACCT_PROVED && has_lower_end(s) ? " (dotted: the same from below)" : "",
		s->points == 0           ? ", does not apply here"
		: is_finite_somewhere(s) ? ""
					 : ", nowhere finite");
}

/* Solid lines first, what is broken above them: where two coincide both are seen. */
static void put_series(FILE *to, const struct cmd_plot *p, const struct axis *x, const struct axis *y)
{
	for (size_t k = 0; k < p->count; k++)
		if (p->series[k].worth == ACCT_PROVED)
			put_line(to, p, k, x, y, UPPER_END);
	for (size_t k = 0; k < p->count; k++) {
		enum acct_worth worth = p->series[k].worth;

		if (worth == ACCT_PROVED || worth == ACCT_LOWER)
			put_line(to, p, k, x, y, LOWER_END);
		else
			put_line(to, p, k, x, y, UPPER_END);
	}
	for (size_t k = 0; k < p->count; k++)
		put_legend(to, p, k);
}

/* Smaller for a long one, as far as it can be read: a bold character is at most 0.68 of its size wide. */
static double title_size(const char *title)
{
	double bytes = (double)strlen(title), room = WIDTH - LEFT - 10;

	return fmax(9, fmin(15, floor(10 * room / (0.68 * fmax(bytes, 1))) / 10));
}

void cmd_svg(FILE *to, const struct cmd_plot *p)
{
	struct axis x = x_axis(p), y = y_axis(p);
	double height = TOP + HEIGHT + FOOT + ROW * (double)p->count;

	fprintf(to,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
		"height=\"%.0f\" role=\"img\" font-family=\"system-ui,sans-serif\" "
		"font-size=\"13\">\n<title>",
		WIDTH, height, WIDTH, height);
	put_text(to, p->title);
	fputs("</title>\n<style>.paper{fill:#fff}text{fill:#333}.grid{stroke:#d5d7da}.minor{stroke:#eeeff1}"
	      ".frame{stroke:#888}path,.frame{fill:none}.line{stroke-linejoin:round}"
	      "@media (prefers-color-scheme:dark){.paper{fill:#1b1d21}text{fill:#d4d6d9}.grid{stroke:#3c4046}"
	      ".minor{stroke:#292c31}}</style>\n"
	      "<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n",
		to);
	fprintf(to, "<text x=\"%.1f\" y=\"30\" font-size=\"%g\" font-weight=\"600\">", LEFT,
		title_size(p->title));
	put_text(to, p->title);
	fputs("</text>\n", to);
	put_axis(to, &x, true);
	put_axis(to, &y, false);
	fprintf(to, "<rect class=\"frame\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n", LEFT,
		TOP, WIDTH - LEFT - RIGHT, HEIGHT);
	fprintf(to, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">", (LEFT + WIDTH - RIGHT) / 2,
		TOP + HEIGHT + 42);
	put_text(to, p->x_name);
	fprintf(to, "</text>\n<text transform=\"translate(24 %.1f) rotate(-90)\" text-anchor=\"middle\">",
		TOP + HEIGHT / 2);
	put_text(to, p->y_name ? p->y_name : "epsilon (nats)");
	fputs("</text>\n", to);
	put_series(to, p, &x, &y);
	fputs("</svg>\n", to);
}
