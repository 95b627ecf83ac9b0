/* pl_wish.c - finds the wishes in a plan's text. */
#include "pl_wish.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cm_suggest.h"

static const char *const names[] = {
	[PL_OPEN_EPSILON0] = "epsilon0",
	[PL_OPEN_DUMMIES] = "dummies",
	[PL_OPEN_SHUFFLER_DUMMIES] = "shuffler_dummies",
	[PL_OPEN_EPSILON] = "epsilon",
};

/* The position of the scan in libconfig's grammar. */
struct scan {
	const char *text;
	size_t n, at;
	int line;
	unsigned depth;          /* depth of brackets */
	bool in_rounds;          /* the scan is within the list `rounds` */
	int64_t item;            /* number of the item of that list, -1 before the first */
	size_t name, name_bytes; /* the name that was read last: its place in the text, and its length */
	struct pl_wishes *out;
	size_t cap;
};

const char *pl_open_name(enum pl_open key)
{
	return names[key];
}

const char *pl_wish_meant(const struct pl_wish *w)
{
	return !w->meant ? "" : w->error ? ": did you mean \"error X\"?" : ": did you mean \"weight X\"?";
}

static bool looking_at(const struct scan *s, const char *word)
{
	size_t n = strlen(word);

	return s->n - s->at >= n && memcmp(s->text + s->at, word, n) == 0;
}

static bool last_name_is(const struct scan *s, const char *name)
{
	return s->name_bytes == strlen(name) && memcmp(s->text + s->name, name, s->name_bytes) == 0;
}

static void skip_to(struct scan *s, const char *end)
{
	while (s->at < s->n && !looking_at(s, end))
		s->line += s->text[s->at++] == '\n';
}

static void skip_comment(struct scan *s)
{
	s->at += 2;
	skip_to(s, "*/");
	s->at = s->n - s->at > 2 ? s->at + 2 : s->n;
}

/* Find which of the two words the text begins with or, misspelt, means; NULL: neither. */
static const char *first_word(const char *at, size_t n)
{
	struct cm_suggest near = { 0 };
	char word[16];
	size_t i = 0;

	while (i < n && i < sizeof word - 1 && isalpha((unsigned char)at[i])) {
		word[i] = at[i];
		i++;
	}
	word[i] = '\0';
	cm_suggest_offer(&near, word, "error");
	cm_suggest_offer(&near, word, "weight");
	return near.word;
}

/* Read "error 400" or "weight 2", without the quotes; a string that begins with a word like these is a wish
 * without a number. */
static bool read_wish(const char *at, size_t n, struct pl_wish *out)
{
	const char *word = first_word(at, n);
	char text[40], *end;

	if (!word)
		return false;
	size_t skip = strlen(word);
	out->error = strcmp(word, "error") == 0;
	if (n < skip || memcmp(at, word, skip) != 0)
		out->meant = word;
	if (out->meant || n <= skip + 1 || n - skip >= sizeof text || at[skip] != ' ')
		return true;
	memcpy(text, at + skip, n - skip);
	text[n - skip] = '\0';
	out->number = strtod(text, &end);
	if (*end != '\0' || !(out->number > 0 && isfinite(out->number)))
		out->number = 0;
	return true;
}

static bool keep(struct scan *s, struct pl_wish wish)
{
	struct pl_wish *grown = cm_grow(s->out->wish, s->out->n, &s->cap, sizeof *grown);

	if (!grown)
		return false;
	s->out->wish = grown;
	grown[s->out->n++] = wish;
	return true;
}

/* Take the string at the quote.  False: out of memory. */
static bool take_string(struct scan *s)
{
	struct pl_wish wish = { .line = s->line, .begin = s->at++ };
	size_t body = s->at;

	while (s->at < s->n && s->text[s->at] != '"') {
		s->at += s->text[s->at] == '\\' && s->n - s->at > 1;
		s->line += s->text[s->at++] == '\n';
	}
	if (s->at == s->n)
		return true;
	wish.bytes = ++s->at - wish.begin;
	if (!s->in_rounds || s->depth != 2 || !read_wish(s->text + body, wish.bytes - 2, &wish))
		return true;
	wish.item = (uint32_t)s->item;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (last_name_is(s, names[i])) {
			wish.key = (enum pl_open)i;
			return keep(s, wish);
		}
	return true;
}

static void take_name(struct scan *s)
{
	s->name = s->at;
	while (s->at < s->n && (isalnum((unsigned char)s->text[s->at]) || strchr("-_*", s->text[s->at])))
		s->at++;
	s->name_bytes = s->at - s->name;
}

static void take_bracket(struct scan *s, char c)
{
	if (strchr("({[", c)) {
		if (s->depth++ == 0) {
			s->in_rounds = c == '(' && last_name_is(s, "rounds");
			s->item = -1;
		}
		s->item += s->in_rounds && s->depth == 2;
	} else if (s->depth > 0) {
		s->depth--;
	}
	s->at++;
}

bool pl_wishes_find(const char *text, size_t n, struct pl_wishes *out)
{
	struct scan s = { .text = text, .n = n, .line = 1, .out = out };
	bool ok = true;

	*out = (struct pl_wishes){ 0 };
	while (ok && s.at < n) {
		char c = text[s.at];

		if (c == '#' || looking_at(&s, "//"))
			skip_to(&s, "\n");
		else if (looking_at(&s, "/*"))
			skip_comment(&s);
		else if (c == '"')
			ok = take_string(&s);
		else if (c != '\0' && strchr("(){}[]", c))
			take_bracket(&s, c);
		else if (isalpha((unsigned char)c))
			take_name(&s);
		else
			s.line += text[s.at++] == '\n';
	}
	return ok;
}

void pl_wishes_fini(struct pl_wishes *w)
{
	free(w->wish);
	*w = (struct pl_wishes){ 0 };
}

const struct pl_wish *pl_wish_of(const struct pl_wishes *w, uint32_t item)
{
	for (size_t i = 0; w && i < w->n; i++)
		if (w->wish[i].item == item)
			return &w->wish[i];
	return NULL;
}

enum cm_rc pl_wishes_fill(const struct pl_wishes *w, const char *text, size_t n, const char (*value)[32],
	struct cm_buf *out, struct cm_err *err)
{
	size_t at = 0;
	bool bad = false;

	for (size_t i = 0; i < w->n; i++) {
		const struct pl_wish *wish = &w->wish[i];

		bad = bad || cm_buf_put(out, text + at, wish->begin - at) != CM_OK ||
		      cm_buf_put(out, value[i], strlen(value[i])) != CM_OK ||
		      cm_buf_put(out, " /* ", 4) != CM_OK ||
		      cm_buf_put(out, text + wish->begin + 1, wish->bytes - 2) != CM_OK ||
		      cm_buf_put(out, " */", 3) != CM_OK;
		at = wish->begin + wish->bytes;
	}
	bad = bad || cm_buf_put(out, text + at, n - at) != CM_OK;
	return bad ? cm_fail(err, CM_ECONFIG, "the plan with its numbers is too long") : CM_OK;
}
