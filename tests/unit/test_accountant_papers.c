/* test_accountant_papers.c - the verbs `paper` and `figure`: every number that a paper prints and that can be
 * had from its formulas, and values of the truth that were computed elsewhere. */
#include "accountant_run.h"

#include <dirent.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

/* Computed once: the answer of `paper all --json`, and the folder of `paper all -o`. */
static json_t *all;
static char folder[] = "/tmp/acct-papers-XXXXXX";

static int compute(void **state)
{
	char args[200];

	(void)state;
	all = answers("paper all --json");
	assert_non_null(mkdtemp(folder));
	(void)snprintf(args, sizeof args, "paper all -o %s", folder);
	succeeds(args);
	return 0;
}

static int forget(void **state)
{
	char command[200];

	(void)state;
	json_decref(all);
	(void)snprintf(command, sizeof command, "rm -r '%s'", folder);
	return system(command);
}

/* A figure of the folder, to `printed`. */
static void read_figure(const char *figure)
{
	char path[200];
	FILE *f;

	(void)snprintf(path, sizeof path, "%s/%s.csv", folder, figure);
	f = fopen(path, "r");
	assert_non_null(f);
	slurp(f, printed, sizeof printed);
	(void)fclose(f);
}

/* Values that the papers print, or their authors' code gives; and true values by other programs. */
static void printed_numbers_are_met(void **state)
{
	static const struct {
		const char *paper, *item, *part;
		double here, proved, least, within;
	} known[] = {
		{ "000", "theorem 1", "s=2", .0874, NAN, .0655, 2e-3 },
		{ "000", "theorem 1", "s=3", .1878, NAN, .1051, 2e-3 },
		{ "000", "theorem 1", "s=4", .3271, NAN, .1598, 2e-3 },
		{ "001", "lemma 4", "eps0=3", .72562, .72833, .72803, 2e-4 },
		{ "002", "figure 4a", "T=1e5", 5.03, 8.12, NAN, 3e-3 },
		{ "002", "figure 4d", "T=10", .2007 / .36114, NAN, NAN, 2e-3 },
		{ "002", "figure 5a", "T=1e5", 7.47, NAN, NAN, 2e-3 },
		{ "003", "SS-Simple", "d=7850", .9102, .0904, NAN, 1e-3 },
		{ "003", "SS-Double", "k=157", .2380, .1573, .1436, 2e-3 },
		{ "003", "SS-Topk", "k=157", .2380, NAN, 1.198, 2e-3 },
		{ "003", "no sampling", "k=157", 20.54, NAN, NAN, 1e-3 },
		{ "003", "figure 7", "k=785", 2.3487, .623, .563, 2e-3 },
		{ "003", "theorem 5", "nu, n/n_p", 3.125, NAN, NAN, 1e-9 },
		{ "003", "theorem 5", "reports l", 16, NAN, NAN, 1e-9 },
		{ "004", "table 2", "n=1e3", .19296, .0343, NAN, 1e-3 },
		{ "004", "table 2", "n=1e4", .05179, NAN, NAN, 1e-3 },
		{ "004", "theorem 2", "eps0=6", 2.24, 5.98576, 5.98576, 1e-3 },
		{ "004", "theorem 3", "Laplace", .0441, NAN, NAN, 1e-3 },
	};
	json_t *rows = json_object_get(all, "printed");
	size_t found = 0, i;
	json_t *row;

	(void)state;
	json_array_foreach(rows, i, row) for (size_t k = 0; k < sizeof known / sizeof *known; k++)
	{
		const double want[] = { known[k].here, known[k].proved, known[k].least };
		static const char *const name[] = { "here", "proved", "least" };

		if (strcmp(text(row, "paper"), known[k].paper) != 0 ||
			strcmp(text(row, "item"), known[k].item) != 0 ||
			!strstr(text(row, "what"), known[k].part))
			continue;
		found++;
		for (size_t v = 0; v < 3; v++)
			if (!isnan(want[v]) && !(fabs(number(row, name[v]) / want[v] - 1) <= known[k].within))
				fail_msg("%s %s %s: %s %.9g, not %.9g", known[k].paper, known[k].item,
					known[k].part, name[v], number(row, name[v]), want[v]);
	}
	assert_int_equal(found, sizeof known / sizeof *known);
}

/* A loss that occurs is never above the proved bound; where a printed value is said to be wrong, the loss is
 * above it. */
static void rows_agree_with_their_remarks(void **state)
{
	json_t *row;
	size_t wrong = 0, i;

	(void)state;
	json_array_foreach(json_object_get(all, "printed"), i, row)
	{
		const json_t *least = json_object_get(row, "least"), *proved = json_object_get(row, "proved");

		if (json_is_number(least) && json_is_number(proved))
			assert_true(json_number_value(least) <= json_number_value(proved));
		if (strncmp(text(row, "remark"), "print is wrong", 14) == 0) {
			assert_true(number(row, "least") > number(row, "here"));
			wrong++;
		}
	}
	assert_int_equal(wrong, 5);
}

/* The value of a line at a point of the figure in `printed`. */
static double value_of(const char *line, const char *x)
{
	char copy[200];
	double upper = NAN;

	for (char *at = printed; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL) {
		(void)snprintf(copy, sizeof copy, "%.*s", (int)strcspn(at, "\n"), at);
		if (strncmp(copy, line, strlen(line)) == 0 && copy[strlen(line)] == ',' && strstr(copy, x))
			upper = strtod(strrchr(copy, ',') + 1, NULL);
	}
	return upper;
}

static void figures_have_known_values(void **state)
{
	static const struct {
		const char *figure, *line, *x;
		double value, within;
	} known[] = {
		/* Table 2's budgets drawn at random elsewhere; here the middles of equal parts. */
		{ "004-2-unif1", "gspa", ",1000,", .19284, 2e-3 },
		{ "004-2-unif2", "gspa", ",1000,", .22799, 3e-3 },
		{ "004-2-mixed", "gspa", ",1000,", .17755, 1e-4 },
		{ "004-2-constant", "gspa", ",1000,", .19296, 1e-4 },
		{ "004-2-unif1", "gspa-exact", ",1000,", .08006, 2e-3 },
		{ "004-2-unif2", "gspa-exact", ",10000,", .04478, 2e-3 },
		{ "004-2-mixed", "gspa-exact", ",10000,", .00882, 1e-3 },
		{ "004-2-constant", "gspa-exact", ",1000,", .03846, 1e-3 },
		/* The exact mean, by the transform of the sum's characteristic function (mpmath). */
		{ "004-3a", "algorithm-1", ",0.115,", 2.601762352, 2e-4 },
		{ "004-3b", "algorithm-1", ",0.05,", 9.986099899, 2e-4 },
		{ "004-3c", "algorithm-2", ",0.115,", .01598039621, 2e-4 },
		{ "004-3d", "algorithm-2", ",0.05,", .02704218202, 2e-4 },
		/* Normal noise, by another implementation (tombola_learn's papers_gspa.py). */
		{ "004-4-constant", "sgd-printed", ",50,", 6.90302975600427, 1e-9 },
		{ "004-4-constant", "sgd-client", ",50,", 97485.72474475775, 2e-9 },
		{ "004-4-constant", "sgd-record-if-clipped", ",50,", 2.6271646572016008, 2e-9 },
		{ "004-4-unif2", "sgd-client", ",50,", 1524990.7764787092, 2e-9 },
		/* The normal limit of the test of all ones against all zeroes. */
		{ "003-3", "ss-simple-most", ",1,", 70092.86094923824, 1e-5 },
		{ "003-3", "ss-simple-most", ",0.1,", 75884.6146730758, 1e-5 },
		{ "003-3", "ss-double-most", ",1,", 51569.68039722371, 1e-5 },
		{ "003-3", "ss-double-most", ",0.1,", 58827.743168646375, 1e-5 },
		/* By the published formulas, forty digits. */
		{ "002-2b", "rdp-erlingsson", ",10000,", .00033001913263045998, 1e-9 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		read_figure(known[i].figure);
		double got = value_of(known[i].line, known[i].x);
		if (!(fabs(got / known[i].value - 1) < known[i].within))
			fail_msg(
				"%s %s: %.9g, not %.9g", known[i].figure, known[i].line, got, known[i].value);
	}
}

static void a_figure_is_printed_as_the_folder_has_it(void **state)
{
	static const char *const figure[] = { "002-2a", "003-3", "004-2-mixed", "004-3a" };

	(void)state;
	for (size_t i = 0; i < sizeof figure / sizeof *figure; i++) {
		char args[60], *alone;

		(void)snprintf(args, sizeof args, "figure %s", figure[i]);
		succeeds(args);
		alone = strdup(printed);
		assert_non_null(alone);
		read_figure(figure[i]);
		assert_string_equal(alone, printed);
		free(alone);
	}
}

/* A theorem that does not apply gives no point: eps0 = 1/2 is not below 1/2, and flips cannot reach
 * everything. */
static void a_line_is_drawn_where_its_theorem_applies(void **state)
{
	(void)state;
	succeeds("figure 004-2-constant");
	assert_null(strstr(printed, "gspa-erlingsson"));
	succeeds("figure 002-3a");
	assert_non_null(strstr(printed, "erlingsson,proved,10000,"));
	succeeds("figure 002-3c --format svg");
	assert_non_null(strstr(printed, "erlingsson: proved upper bound, does not apply here"));
	assert_null(strstr(printed, "nan"));
	succeeds("figure 002-2a");
	assert_non_null(strstr(printed, "order,value_lower,value_upper"));
}

static void a_folder_has_everything(void **state)
{
	char path[400], name[100];
	struct stat st;
	size_t figures = 0, files = 0, found = 0;

	(void)state;
	succeeds("figure list");
	for (const char *at = printed; sscanf(at, "%99s", name) == 1; at = strchr(at, '\n') + 1) {
		static const char *const ends[] = { "svg", "csv" };

		for (size_t i = 0; i < 2; i++) {
			(void)snprintf(path, sizeof path, "%s/%s.%s", folder, name, ends[i]);
			assert_int_equal(stat(path, &st), 0);
			assert_true(st.st_size > 100);
			files++;
		}
		figures++;
		if (!strchr(at, '\n'))
			break;
	}
	assert_true(figures >= 44);
	static const char *const others[] = { "index.html", "printed.csv", "settings.csv" };
	for (size_t i = 0; i < 3; i++) {
		(void)snprintf(path, sizeof path, "%s/%s", folder, others[i]);
		assert_int_equal(stat(path, &st), 0);
		assert_true(st.st_size > 1000);
		files++;
	}
	/* And nothing else. */
	DIR *d = opendir(folder);
	assert_non_null(d);
	for (const struct dirent *e; (e = readdir(d));)
		found += e->d_name[0] != '.';
	(void)closedir(d);
	assert_int_equal(found, files);
}

static void faults_are_one_line(void **state)
{
	(void)state;
	refuses("paper 005", 64, "no such paper");
	refuses("paper 003 -o x", 64, "needs all");
	refuses("paper -o x", 64, "needs all");
	refuses("paper all -o nowhere/x", 73, "nowhere/x");
	refuses("paper all 003", 64, "'003' is one argument too many");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(printed_numbers_are_met),
		cmocka_unit_test(rows_agree_with_their_remarks),
		cmocka_unit_test(figures_have_known_values),
		cmocka_unit_test(a_figure_is_printed_as_the_folder_has_it),
		cmocka_unit_test(a_line_is_drawn_where_its_theorem_applies),
		cmocka_unit_test(a_folder_has_everything),
		cmocka_unit_test(faults_are_one_line),
	};

	return cmocka_run_group_tests(tests, compute, forget);
}
