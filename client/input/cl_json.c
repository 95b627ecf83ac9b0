/* cl_json.c - walks over JSON text without decoding it. */
#include "cl_json.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm_oom.h"

static bool is_space(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static const uint8_t *skip_space(const uint8_t *at, const uint8_t *end)
{
	while (at < end && is_space(*at))
		at++;
	return at;
}

/* Find the end of the string at `at`, after its closing quote; NULL if it is not closed. */
static const uint8_t *string_end(const uint8_t *at, const uint8_t *end)
{
	for (at++; at < end && *at != '"'; at++)
		if (*at == '\\' && ++at == end)
			return NULL;
	return at < end ? at + 1 : NULL;
}

/* Find the end of the value at `at`: the comma or bracket that follows it at the same depth.  NULL if the
 * text ends first. */
static const uint8_t *value_end(const uint8_t *at, const uint8_t *end)
{
	for (size_t depth = 0; at < end;) {
		if (*at == '"') {
			at = string_end(at, end);
			if (!at)
				return NULL;
			continue;
		}
		if (depth == 0 && (*at == ',' || *at == '}' || *at == ']'))
			return at;
		depth += *at == '{' || *at == '[';
		depth -= *at == '}' || *at == ']';
		at++;
	}
	return NULL;
}

bool cl_json_open(struct cl_json *j, const uint8_t *text, const uint8_t *end, uint8_t open)
{
	const uint8_t *at = skip_space(text, end);

	*j = (struct cl_json){ .at = at, .begin = text, .end = end, .first = true };
	j->close = open == '{' ? '}' : ']';
	if (at == end || *at != open)
		return false;
	j->at++;
	return true;
}

/* Take the key at j->at and its colon. */
static bool take_key(struct cl_json *j, struct cl_json_part *out)
{
	if (j->at == j->end || *j->at != '"')
		return false;
	out->key = j->at;
	out->key_end = string_end(j->at, j->end);
	if (!out->key_end)
		return false;
	j->at = skip_space(out->key_end, j->end);
	if (j->at == j->end || *j->at != ':')
		return false;
	j->at = skip_space(j->at + 1, j->end);
	return true;
}

static enum cm_rc take_end(struct cl_json *j)
{
	j->at = skip_space(j->at + 1, j->end);
	return j->at == j->end ? CM_ENOINPUT : CM_EDATA;
}

enum cm_rc cl_json_next(struct cl_json *j, struct cl_json_part *out)
{
	const uint8_t *after;

	*out = (struct cl_json_part){ 0 };
	j->at = skip_space(j->at, j->end);
	if (!j->first && j->at < j->end && *j->at == ',')
		j->at = skip_space(j->at + 1, j->end);
	else if (j->at < j->end && *j->at == j->close)
		return take_end(j);
	else if (!j->first)
		return CM_EDATA;
	j->first = false;
	if (j->close == '}' && !take_key(j, out))
		return CM_EDATA;
	out->value = j->at;
	after = value_end(j->at, j->end);
	if (!after || after == j->at || (*after != ',' && *after != j->close))
		return CM_EDATA;
	j->at = out->end = after;
	while (is_space(out->end[-1]))
		out->end--;
	return CM_OK;
}

static const uint8_t *skip_digits(const uint8_t *at, const uint8_t *end)
{
	while (at < end && *at >= '0' && *at <= '9')
		at++;
	return at;
}

bool cl_json_is_number(const uint8_t *at, const uint8_t *end)
{
	const uint8_t *digits;

	at += at < end && *at == '-';
	digits = at;
	at = skip_digits(at, end);
	if (at == digits || (*digits == '0' && at > digits + 1))
		return false;
	if (at < end && *at == '.') {
		digits = ++at;
		at = skip_digits(at, end);
		if (at == digits)
			return false;
	}
	if (at < end && (*at == 'e' || *at == 'E')) {
		at++;
		at += at < end && (*at == '+' || *at == '-');
		digits = at;
		at = skip_digits(at, end);
		if (at == digits)
			return false;
	}
	return at == end;
}

/* Whether a string, with its quotes, is ASCII without escapes or controls, as most strings are. */
static bool is_plain(const uint8_t *value, const uint8_t *end)
{
	for (value++; value + 1 < end; value++)
		if (*value < 0x20 || *value >= 0x80 || *value == '\\' || *value == '"')
			return false;
	return true;
}

static enum cm_rc put_text(struct cm_buf *out, const void *text, size_t n)
{
	return cm_buf_put(out, text, n) == CM_OK ? CM_OK : CM_EINTERNAL;
}

static enum cm_rc string_text(const uint8_t *value, const uint8_t *end, struct cm_buf *out)
{
	enum cm_rc rc = CM_EDATA;
	json_t *string;

	if (string_end(value, end) != end)
		return CM_EDATA;
	if (is_plain(value, end))
		return put_text(out, value + 1, (size_t)(end - value) - 2);
	(void)cm_oom_happened();
	string = json_loadb((const char *)value, (size_t)(end - value), JSON_DECODE_ANY, NULL);
	/* When memory runs out, jansson may report a valid string as invalid, or drop a byte and
	 * continue. */
	if (cm_oom_happened())
		rc = CM_EINTERNAL;
	else if (json_is_string(string))
		rc = put_text(out, json_string_value(string), json_string_length(string));
	json_decref(string);
	return rc;
}

enum cm_rc cl_json_text(const uint8_t *value, const uint8_t *end, struct cm_buf *out)
{
	size_t n = (size_t)(end - value);

	if (n > 1 && *value == '"')
		return string_text(value, end, out);
	if (cl_json_is_number(value, end) || (n == 4 && memcmp(value, "true", 4) == 0) ||
		(n == 5 && memcmp(value, "false", 5) == 0))
		return put_text(out, value, n);
	return CM_EDATA;
}

enum cm_rc cl_json_name(const uint8_t *value, const uint8_t *end, struct cm_buf *out)
{
	bool integer = cl_json_is_number(value, end);
	size_t before = out->len;
	enum cm_rc rc;

	for (const uint8_t *c = value; integer && c < end; c++)
		integer = *c != '.' && *c != 'e' && *c != 'E';
	rc = *value == '"' || integer ? cl_json_text(value, end, out) : CM_EDATA;
	return rc == CM_OK && out->len > before && memchr(out->data + before, '\0', out->len - before)
		       ? CM_EDATA
		       : rc;
}

enum cm_rc cl_json_key(const struct cl_json_part *part, struct cm_buf *room, const uint8_t **text, size_t *n)
{
	enum cm_rc rc = CM_OK;

	*text = part->key + 1;
	*n = (size_t)(part->key_end - part->key) - 2;
	if (!memchr(*text, '\\', *n))
		return CM_OK;
	room->len = 0;
	rc = cl_json_text(part->key, part->key_end, room);
	*text = room->data;
	*n = rc == CM_OK ? room->len : 0;
	return rc == CM_EINTERNAL ? rc : CM_OK;
}

/* Write the digits without an exponent; the first of them counts 10^exponent. */
static bool put_plain(const char *digits, size_t n, int exponent, bool negative, char out[CL_JSON_SHORTEST])
{
	size_t used = 0;

	if (exponent < -6 || exponent > 20)
		return false;
	if (negative)
		out[used++] = '-';
	if (exponent < 0)
		used += (size_t)sprintf(out + used, "0.");
	for (int i = exponent + 1; i < 0; i++)
		out[used++] = '0';
	for (size_t i = 0; i < n || (exponent >= 0 && i <= (size_t)exponent); i++) {
		if (exponent >= 0 && i == (size_t)exponent + 1)
			out[used++] = '.';
		out[used++] = (char)(i < n ? digits[i] : '0');
	}
	out[used] = '\0';
	return true;
}

bool cl_json_shortest(const char *number, char out[CL_JSON_SHORTEST])
{
	double x = strtod(number, NULL);
	char text[32], digits[20];
	size_t n;

	if (!isfinite(x) || strpbrk(number, ".eE") == NULL)
		return false;
	if (x == 0)
		return put_plain("0", 1, 0, false, out);
	/* 17 digits are enough to restore every double. */
	for (int more = 14; more <= 16; more++) {
		(void)snprintf(text, sizeof text, "%.*e", more, fabs(x));
		if (strtod(text, NULL) == fabs(x))
			break;
	}
	n = strcspn(text, "e");
	digits[0] = text[0];
	memcpy(digits + 1, text + 2, n - 2);
	for (n--; n > 1 && digits[n - 1] == '0';)
		n--;
	return put_plain(digits, n, (int)strtol(strchr(text, 'e') + 1, NULL, 10), x < 0, out);
}
