/* cm_table.c - prints aligned text tables and a progress line. */
#include "cm_table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BAR_CELLS     30
#define REDRAW_MS     100
#define PLAIN_LINE_MS 10000

struct cm_table {
	size_t columns, rows, room;
	char *align;
	char **cell; /* rows * columns cells, those of the head first */
};

/* The columns that a UTF-8 text takes on a terminal, one for each code point. */
static size_t width_of(const char *s)
{
	size_t n = 0;

	for (; *s != '\0'; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

/* Copy a text without characters that could control a terminal or break the line. */
static char *clean_copy(const char *s)
{
	char *copy = strdup(s ? s : "");

	for (char *c = copy; c && *c != '\0'; c++) {
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
	}
	return copy;
}

struct cm_table *cm_table_new(const char *align, const char *const *head)
{
	struct cm_table *t = calloc(1, sizeof *t);

	if (!t)
		return NULL;
	t->columns = strlen(align);
	t->align = strdup(align);
	if (!t->align) {
		free(t);
		return NULL;
	}
	cm_table_row(t, head);
	return t;
}

void cm_table_row(struct cm_table *t, const char *const *cell)
{
	if (!t)
		return;
	if (t->rows == t->room) {
		size_t room = t->room == 0 ? 16 : t->room * 2;
		char **grown = reallocarray(t->cell, room, t->columns * sizeof *grown);

		if (!grown)
			return;
		t->cell = grown;
		t->room = room;
	}
	for (size_t i = 0; i < t->columns; i++)
		t->cell[t->rows * t->columns + i] = clean_copy(cell[i]);
	t->rows++;
}

static const char *cell_at(const struct cm_table *t, size_t row, size_t column)
{
	const char *s = t->cell[row * t->columns + column];

	return s ? s : "";
}

/* Compute the width of each column; NULL out of memory. */
static size_t *column_widths(const struct cm_table *t)
{
	size_t *width = calloc(t->columns + 1, sizeof *width);

	for (size_t i = 0; width && i < t->rows * t->columns; i++) {
		size_t w = width_of(cell_at(t, i / t->columns, i % t->columns));

		if (w > width[i % t->columns])
			width[i % t->columns] = w;
	}
	return width;
}

static void pad(FILE *out, size_t n)
{
	while (n-- > 0)
		(void)fputc(' ', out);
}

static bool rest_is_empty(const struct cm_table *t, size_t row, size_t column)
{
	while (column < t->columns && *cell_at(t, row, column) == '\0')
		column++;
	return column == t->columns;
}

void cm_table_print(const struct cm_table *t, FILE *out)
{
	if (t)
		cm_table_print_rows(t, 0, t->rows, out);
}

void cm_table_print_rows(const struct cm_table *t, size_t from, size_t to, FILE *out)
{
	size_t *width = t ? column_widths(t) : NULL;

	/* Line 0 is the head. */
	for (size_t r = from == 0 ? 0 : from + 1; width && r < t->rows && r <= to; r++) {
		for (size_t c = 0; c < t->columns; c++) {
			const char *s = cell_at(t, r, c);
			size_t space = width[c] - width_of(s);
			bool right = t->align[c] == '>';

			pad(out, right ? space : 0);
			(void)fputs(s, out);
			/* Print no trailing spaces after the last cell that is not empty. */
			if (!rest_is_empty(t, r, c + 1))
				pad(out, (right ? 0 : space) + 2);
		}
		(void)fputc('\n', out);
	}
	free(width);
}

void cm_table_free(struct cm_table *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->rows * t->columns; i++)
		free(t->cell[i]);
	free(t->cell);
	free(t->align);
	free(t);
}

const char *cm_thousands(int64_t v, char out[32])
{
	char digits[24];
	int n = snprintf(digits, sizeof digits, "%" PRIu64, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
	size_t at = 0;

	if (v < 0)
		out[at++] = '-';
	for (int i = 0; i < n; i++) {
		if (i > 0 && (n - i) % 3 == 0)
			out[at++] = ',';
		out[at++] = digits[i];
	}
	out[at] = '\0';
	return out;
}

static void show(const struct cm_progress *p, uint64_t done, const char *end)
{
	char a[32], b[32], bar[BAR_CELLS + 1];
	double part = p->total > 0 && done < p->total ? (double)done / (double)p->total : 1;

	(void)cm_thousands((int64_t)done, a);
	(void)cm_thousands((int64_t)p->total, b);
	memset(bar, '.', BAR_CELLS);
	memset(bar, '#', (size_t)(part * BAR_CELLS));
	bar[BAR_CELLS] = '\0';
	if (p->tty)
		(void)fprintf(stderr, "\r%s [%s] %s of %s%s", p->what, bar, a, b, end);
	else
		(void)fprintf(stderr, "%s: %s of %s\n", p->what, a, b);
	(void)fflush(stderr);
}

void cm_progress_init(struct cm_progress *p, const char *what, uint64_t total, int64_t now_ms)
{
	*p = (struct cm_progress){ .what = what,
		.total = total,
		.started_ms = now_ms,
		.shown_ms = now_ms,
		.tty = isatty(STDERR_FILENO) != 0 };
}

void cm_progress_at(struct cm_progress *p, uint64_t done, int64_t now_ms)
{
	if (now_ms - p->shown_ms < (p->tty ? REDRAW_MS : PLAIN_LINE_MS))
		return;
	p->shown_ms = now_ms;
	show(p, done, "");
}

void cm_progress_done(struct cm_progress *p, uint64_t done, int64_t now_ms)
{
	/* If the total is reached before anything was shown, nothing is shown, except on a terminal that
	 * has a bar. */
	if (p->tty ? p->shown_ms != p->started_ms : now_ms - p->started_ms >= PLAIN_LINE_MS)
		show(p, done, "\n");
	p->shown_ms = now_ms;
}
