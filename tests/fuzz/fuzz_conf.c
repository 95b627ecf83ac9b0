/* fuzz_conf.c - any text as a configuration file of every type of key. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cf_conf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
const char *__lsan_default_suppressions(void);

/* libconfig 1.5 drops the string it is reading when the text turns out to be wrong; a program reads its file
 * once. */
const char *__lsan_default_suppressions(void)
{
	return "leak:libconfig";
}

struct item {
	char *name;
	double number, range[2];
	struct cf_strings values;
	struct cf_table sets;
	struct cf_doubles at;
};
struct conf {
	char *text, *path;
	int64_t whole, wait;
	double number, maybe;
	bool flag;
	struct cf_strings words;
	struct cf_word word;
	struct cf_words either;
	char letter;
	struct cf_list items, named;
};

static const struct cf_row item_rows[] = {
	CF_REQUIRED("name", CF_STRING, offsetof(struct item, name), NULL),
	CF_OPTIONAL("number", CF_DOUBLE(0, 9), offsetof(struct item, number), NULL),
	CF_OPTIONAL("range", CF_RANGE(-9, 9), offsetof(struct item, range), NULL),
	CF_OPTIONAL("values", CF_STRINGS(2, 5), offsetof(struct item, values), NULL),
	CF_OPTIONAL("sets", CF_TABLE, offsetof(struct item, sets), NULL),
	CF_OPTIONAL("at", CF_DOUBLES(1, 5), offsetof(struct item, at), NULL),
	CF_END,
};
struct named {
	char *key;
	double number;
};
static const struct cf_row named_rows[] = {
	CF_DEFAULT("number", CF_DOUBLE(0, 9), offsetof(struct named, number), "1.0", NULL),
	CF_END,
};
static const struct cf_row group_rows[] = {
	CF_OPTIONAL("number", CF_DOUBLE, offsetof(struct conf, number), NULL),
	CF_DEFAULT("maybe", CF_EXTENDED, offsetof(struct conf, maybe), "\"inf\"", NULL),
	CF_REQUIRED("flag", CF_BOOL, offsetof(struct conf, flag), NULL),
	CF_END,
};
static const struct cf_row rows[] = {
	CF_DEFAULT("text", CF_STRING, offsetof(struct conf, text), "t", NULL),
	CF_OPTIONAL("path", CF_PATH, offsetof(struct conf, path), NULL),
	CF_OPTIONAL("whole", CF_INT(-5, 1e10), offsetof(struct conf, whole), NULL),
	CF_DEFAULT("wait", CF_DURATION, offsetof(struct conf, wait), "15m", NULL),
	CF_OPTIONAL("word", CF_WORD, offsetof(struct conf, word), NULL),
	CF_OPTIONAL("either", CF_WORDS(1, 4), offsetof(struct conf, either), NULL),
	CF_DEFAULT("letter", CF_CHAR, offsetof(struct conf, letter), ",", NULL),
	CF_OPTIONAL("words", CF_STRINGS, offsetof(struct conf, words), NULL),
	CF_OPTIONAL("group", CF_GROUP(group_rows), 0, NULL),
	CF_OPTIONAL("items", CF_LIST(0, 8, item_rows, struct item), offsetof(struct conf, items), NULL),
	CF_OPTIONAL("named", CF_NAMED(1, 8, named_rows, struct named), offsetof(struct conf, named), NULL),
	CF_END,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct conf c = { 0 };
	struct cm_err err = { 0 };
	struct cf_file *file;
	char *text = malloc(size + 1);
	enum cm_rc rc;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	rc = cf_parse(text, "/etc/fuzz.conf", rows, &c, &file, NULL, &err);
	/* Accepted: within what the table allows.  Refused: a line that says why. */
	if (rc == CM_OK && (c.whole < -5 || c.whole > 10000000000 || c.items.n > 8 || c.named.n > 8 ||
				   !c.text || c.letter <= 0))
		abort();
	if (rc != CM_OK && (rc != CM_ECONFIG || strncmp(err.msg, "/etc/fuzz.conf:", 15) != 0))
		abort();
	if (file)
		(void)cf_line(file, "items.[0].name");
	cf_file_free(file);
	cf_free(rows, &c);
	free(text);
	return 0;
}
