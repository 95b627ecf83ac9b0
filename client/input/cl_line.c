/* cl_line.c - multiplies and adds decimals digit by digit. */
#include "cl_line.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cl_json.h"
#include "cr_secret.h"

#define DIGITS 17 /* most digits of a decimal: enough for every double */
/* index of the digit of 10^0 in a sum; a product of two doubles has no digit below 10^-682 */
#define ZERO   700
#define PLACES 1400 /* number of digits of a sum; a product of two doubles has no digit above 10^618 */

/* The number digit[0] * 10^exponent + digit[1] * 10^(exponent - 1) + ... */
struct decimal {
	int8_t digit[DIGITS]; /* in a negative number all digits are negative */
	int n, exponent;
};

/* Write x as whole / 10^places with at most 15 digits and as few of up to 6 places as possible, which most
 * numbers allow.  Both parts are exact doubles, so their quotient is the double nearest to this decimal. */
static bool few_places(double x, int64_t *whole, int *places)
{
	static const double power[] = { 1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6 };

	for (*places = 0; *places < (int)(sizeof power / sizeof power[0]); ++*places) {
		double scaled = x * power[*places], back;

		if (!(fabs(scaled) < 999999999999999.0))
			return false;
		*whole = llrint(scaled);
		back = (double)*whole / power[*places];
		if (!(back < x) && !(back > x))
			return true;
	}
	return false;
}

/* Write the shortest text of a finite double that reads back as the same double, in the form d.ddde+dd. */
static void shortest(double x, char text[32])
{
	for (int digits = 15; digits <= DIGITS; digits++) {
		double back;

		(void)snprintf(text, 32, "%.*e", digits - 1, x);
		back = strtod(text, NULL);
		if (!(back < x) && !(back > x))
			return;
	}
}

static struct decimal decimal_of(double x)
{
	struct decimal d = { .n = 0 };
	char text[32];
	int64_t whole;
	int places = 0;
	bool few = few_places(x, &whole, &places);

	if (few)
		(void)snprintf(text, sizeof text, "%lld", (long long)whole);
	else
		shortest(x, text);
	for (const char *at = text; *at != 'e' && *at != '\0'; at++)
		if (*at >= '0' && *at <= '9')
			d.digit[d.n++] = (int8_t)(*text == '-' ? '0' - *at : *at - '0');
	d.exponent = few ? d.n - 1 - places : (int)strtol(strchr(text, 'e') + 1, NULL, 10);
	while (d.n > 1 && d.digit[d.n - 1] == 0)
		d.n--;
	cr_wipe(text, sizeof text);
	return d;
}

/* The digits of a sum, each at the index of its power of ten, before and after carrying. */
struct sum {
	int32_t at[PLACES];
	int low, high; /* only the digits at[low] to at[high] are set */
};

static void use(struct sum *s, int low, int high)
{
	while (s->low > low)
		s->at[--s->low] = 0;
	while (s->high < high)
		s->at[++s->high] = 0;
}

static void add_product(struct sum *s, const struct decimal *a, const struct decimal *b)
{
	int top = ZERO + a->exponent + b->exponent;

	use(s, top - a->n - b->n + 2, top);
	for (int i = 0; i < a->n; i++)
		for (int j = 0; j < b->n; j++)
			s->at[top - i - j] += a->digit[i] * b->digit[j];
}

/* Carry, so that every digit except the highest is in 0..9. */
static void carry(struct sum *s)
{
	for (int i = s->low; i < s->high; i++) {
		int32_t up = s->at[i] >= 0 ? s->at[i] / 10 : -((9 - s->at[i]) / 10);

		s->at[i] -= up * 10;
		s->at[i + 1] += up;
	}
}

/* The sum as a double; it is rounded only here. */
static double value_of(struct sum *s)
{
	char text[PLACES + 16], *to = text;
	double x;

	use(s, s->low, s->high + 4);
	carry(s);
	if (s->at[s->high] < 0) {
		*to++ = '-';
		for (int i = s->low; i <= s->high; i++)
			s->at[i] = -s->at[i];
		carry(s);
	}
	for (int i = s->high; i >= s->low; i--)
		*to++ = (char)('0' + s->at[i]);
	(void)snprintf(to, 16, "e%d", s->low - ZERO);
	x = strtod(text, NULL);
	cr_wipe(text, sizeof text);
	return x;
}

static void put_places(int64_t whole, int places, char out[CL_LINE_TEXT])
{
	int n = snprintf(out, CL_LINE_TEXT, "%s%0*lld", whole < 0 ? "-" : "", places + 1,
		(long long)(whole < 0 ? -whole : whole));

	if (places == 0)
		return;
	memmove(out + n - places + 1, out + n - places, (size_t)places + 1);
	out[n - places] = '.';
}

bool cl_line_text(double value, double scale, double offset, char out[CL_LINE_TEXT])
{
	static const struct decimal one = { .digit = { 1 }, .n = 1 };
	const struct decimal v = decimal_of(value), k = decimal_of(scale), c = decimal_of(offset);
	struct sum s = { .low = ZERO + 1, .high = ZERO };
	char text[32];
	int64_t whole;
	int places;
	double x;

	add_product(&s, &v, &k);
	add_product(&s, &c, &one);
	x = value_of(&s);
	cr_wipe(&s, sizeof s);
	if (!isfinite(x))
		return false;
	if (few_places(x, &whole, &places)) {
		put_places(whole, places, out);
		return true;
	}
	shortest(x, text);
	if (!cl_json_shortest(text, out))
		(void)snprintf(out, CL_LINE_TEXT, "%s", text);
	cr_wipe(text, sizeof text);
	return true;
}
