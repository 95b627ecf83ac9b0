/* cmd_paper_page.c - writes all figures, settings and printed numbers to a folder, with a page of them
 * (cmd_paper.h). */
#include <math.h>
#include <string.h>

#include "cmd_figure.h"
#include "cmd_paper.h"

#define PATH_ROOM 1024

static enum cm_rc open_in(const char *folder, const char *name, char path[PATH_ROOM], FILE **to)
{
	(void)snprintf(path, PATH_ROOM, "%.900s/%s", folder, name);
	return cmd_create(path, to);
}

static enum cm_rc close_of(FILE *to, const char *path, enum cm_rc code)
{
	if (!code)
		return cmd_close(path, to);
	(void)fclose(to);
	return code;
}

static void csv_text(FILE *to, const char *text)
{
	(void)fputc('"', to);
	for (; *text; text++)
		(void)fprintf(to, *text == '"' ? "\"%c" : "%c", *text);
	(void)fputc('"', to);
}

static void csv_row(FILE *to, const struct cmd_printed *p)
{
	const double value[] = { p->here, p->proved, p->least };
	const char *const text[] = { p->paper, p->item, p->what, p->printed };

	for (size_t i = 0; i < 4; i++) {
		csv_text(to, text[i]);
		(void)fputc(',', to);
	}
	for (size_t i = 0; i < 3; i++)
		(void)fprintf(to, isnan(value[i]) ? "," : "%.17g,", value[i]);
	csv_text(to, p->remark);
	(void)fputc('\n', to);
}

/* For HTML: the texts of this program have no other special characters. */
static void html_text(FILE *to, const char *text)
{
	for (; *text; text++)
		if (*text == '<')
			(void)fputs("&lt;", to);
		else if (*text == '&')
			(void)fputs("&amp;", to);
		else
			(void)fputc(*text, to);
}

static void html_cell(FILE *to, const char *text)
{
	(void)fputs("<td>", to);
	html_text(to, text);
}

static void html_value(FILE *to, double x, const char *text)
{
	(void)fprintf(to, "<td class=\"n\">%s", isnan(x) ? "" : text);
}

static void html_row(FILE *to, const struct cmd_printed *p)
{
	char text[CMD_NUMBER_ROOM];

	(void)fputs("<tr>", to);
	html_cell(to, p->paper);
	html_cell(to, p->item);
	html_cell(to, p->what);
	html_cell(to, p->printed);
	html_value(to, p->here, cmd_near(p->here, text));
	html_value(to, p->proved, cmd_printed_proved(p, text));
	html_value(to, p->least, cmd_down(p->least, text));
	html_cell(to, p->remark);
	(void)fputc('\n', to);
}

static const char head[] =
	"<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" "
	"content=\"width=device-width\">\n<title>Five papers, done again</title>\n<style>"
	"body{font:15px/1.5 system-ui,sans-serif;max-width:1280px;margin:2em auto;padding:0 1em;"
	"background:#fff;color:#222}"
	"table{border-collapse:collapse;width:100%}"
	"td,th{padding:.25em .6em;text-align:left;vertical-align:top;border-bottom:1px solid #ddd}"
	".n{text-align:right;font-variant-numeric:tabular-nums}"
	".plots{display:grid;grid-template-columns:repeat(auto-fill,minmax(380px,1fr));gap:1em}"
	"figure{margin:0}img{width:100%}figcaption{font-size:13px}a{color:#1f6fb2}"
	"@media (prefers-color-scheme:dark){body{background:#1b1d21;color:#d4d6d9}"
	"td,th{border-color:#3c4046}a{color:#7fb8e6}}</style>\n"
	"<h1>Five papers, done again</h1>\n"
	"<p>000: Wang et al. 2025, numerical composition. 001: Wang et al. 2024, variation-ratio. "
	"002: Girgis et al. 2021, R&eacute;nyi. 003: Liu et al. 2021, FLAME. 004: Chen, Cao, Ge 2024, GSPA. "
	"Every setting of 000: <a href=\"settings.csv\">settings.csv</a>.</p>\n"
	"<h2>What is printed</h2>\n"
	"<p>Here: by the paper's own formula. Proved: an upper bound that holds. At least: a loss that "
	"occurs. A share saved or a ratio: by the formula, and by what is proved. As data: "
	"<a href=\"printed.csv\">printed.csv</a>.</p>\n"
	"<table><tr><th>Paper<th>Item<th>Quantity<th>Printed<th class=\"n\">Here<th class=\"n\">Proved"
	"<th class=\"n\">At least<th>Remark\n";

static void plots(FILE *to)
{
	const struct cmd_figure *f;

	(void)fputs(
		"</table>\n<h2>Figures</h2>\n<p>Solid: proved. Dashed: a paper's value or an approximation, "
		"no guarantee. Dotted: a loss that occurs.</p>\n<div class=\"plots\">\n",
		to);
	for (size_t i = 0; (f = cmd_figure_row(i)); i++) {
		(void)fprintf(to, "<figure><a href=\"%s.svg\"><img src=\"%s.svg\" loading=\"lazy\" alt=\"",
			f->name, f->name);
		html_text(to, f->title);
		(void)fprintf(to, "\"></a><figcaption><a href=\"%s.csv\">%s</a> ", f->name, f->name);
		html_text(to, f->title);
		(void)fputs("</figcaption></figure>\n", to);
	}
	(void)fputs("</div>\n</html>\n", to);
}

static enum cm_rc printed(const char *folder)
{
	char csv_path[PATH_ROOM], page_path[PATH_ROOM];
	struct cmd_printed p;
	FILE *csv, *page;
	enum cm_rc code = open_in(folder, "printed.csv", csv_path, &csv);

	if (code)
		return code;
	code = open_in(folder, "index.html", page_path, &page);
	if (code)
		return close_of(csv, csv_path, code);
	(void)fputs("paper,item,quantity,printed,here,proved,at_least,remark\n", csv);
	(void)fputs(head, page);
	for (size_t i = 0; cmd_printed_row(i, NULL, &p); i++) {
		csv_row(csv, &p);
		html_row(page, &p);
	}
	plots(page);
	return close_of(page, page_path, close_of(csv, csv_path, 0));
}

enum cm_rc cmd_paper_folder(const char *folder)
{
	char path[PATH_ROOM];
	FILE *to;
	enum cm_rc code = open_in(folder, "settings.csv", path, &to);

	if (code)
		return code;
	code = close_of(to, path, cmd_paper_settings(to));
	if (!code)
		code = printed(folder);
	return code ? code : cmd_figure_all(folder);
}
