/* test_accountant_curves.c - central events, groups, and curves that leave and enter, asked as users ask. */
#include "accountant_run.h"

#include <math.h>
#include <unistd.h>

#define SHUFFLED "--round grr:k=4,eps0=2,n=500,count=3 "

static char folder[] = "/tmp/acct-curves-XXXXXX";

static int enter(void **state)
{
	(void)state;
	return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave(void **state)
{
	static const char *const names[] = { "a.json", "a.csv", "a.trade", "file" };

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		(void)remove(names[i]);
	return chdir("/") == 0 && rmdir(folder) == 0 ? 0 : -1;
}

static void put_bytes(const char *bytes, size_t n)
{
	FILE *f = fopen("file", "w");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

static void put(const char *text)
{
	put_bytes(text, strlen(text));
}

/* A curve that was exported is imported at least as large and nearly the same, alone, repeated and beside
 * others. */
static void what_leaves_comes_back(void **state)
{
	static const char *const file[] = { "a.json", "a.csv", "a.trade" };
	static const char *const format[] = { "json", "csv", "trade-off" };
	char args[300];
	double lower = asked("epsilon --delta 1e-6 --json " SHUFFLED, "epsilon_lower");
	double more = asked(
		"epsilon --delta 1e-6 --json --round gaussian:sigma=4 " SHUFFLED SHUFFLED, "epsilon_lower");

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		(void)snprintf(args, sizeof args, "export %s --format %s --points 300 -o %s", SHUFFLED,
			format[i], file[i]);
		assert_int_equal(run(args), 0);
		(void)snprintf(args, sizeof args, "epsilon --delta 1e-6 --json --round import:%s", file[i]);
		double back = asked(args, "epsilon_upper");
		assert_true(back >= lower && back < 1.01 * lower);
		(void)snprintf(args, sizeof args,
			"epsilon --delta 1e-6 --json --round gaussian:sigma=4 --round import:%s,count=2",
			file[i]);
		back = asked(args, "epsilon_upper");
		assert_true(back >= more && back < 1.01 * more);
	}
}

static void a_maker_has_to_say_that_a_curve_dominates(void **state)
{
	(void)state;
	put("epsilon,delta\n0,0.5\n1,0.1\n");
	refuses("delta --epsilon 1 --round import:file", 65, "# dominating");
	put("# dominating\n# neighbours: replace one record\nepsilon,delta\n0,0.5\n1,0.1\n");
	assert_true(fabs(asked("delta --epsilon 1 --json --round import:file", "delta_upper") - 0.1) < 1e-9);
	put("{\"discretization\":1,\"pmf_remove\":{\"lower_loss\":0,\"probs\":[1],\"infinity_mass\":0}}");
	refuses("delta --epsilon 1 --round import:file", 65, "pessimistic_estimate");
}

/* Replacing a record is removing one and adding another: twice epsilon, and delta (1 + e^epsilon). */
static void a_maker_has_to_say_for_which_neighbours(void **state)
{
	static const char *const json =
		"{\"discretization\":1,\"pessimistic_estimate\":true,%s\"pmf_remove\":"
		"{\"lower_loss\":0,\"probs\":[0.5,0.5],\"infinity_mass\":0}}";
	char text[300];

	(void)state;
	put("# dominating\nepsilon,delta\n0,0.5\n1,0.1\n");
	refuses("delta --epsilon 1 --round import:file", 65, "# neighbours: ");
	put("# dominating\n# neighbours: any\nepsilon,delta\n0,0.5\n1,0.1\n");
	refuses("delta --epsilon 1 --round import:file", 65, "add or remove one record");
	put("# dominating\n# neighbours: add or remove one record\nepsilon,delta\n0,0.25\n0.5,0.1\n1,0.01\n");
	double twice = asked("delta --epsilon 1 --json --round import:file", "delta_upper");
	assert_true(fabs(twice - 0.1 * (1 + exp(0.5))) < 1e-9);
	assert_true(fabs(asked("delta --epsilon 2 --json --round import:file", "delta_upper") -
			    0.01 * (1 + exp(1))) < 1e-9);
	(void)snprintf(text, sizeof text, json, "");
	put(text);
	refuses("delta --epsilon 1 --round import:file", 65, "\"neighbours\"");
	(void)snprintf(text, sizeof text, json, "\"neighbours\":\"replace one record\",");
	put(text);
	double one = asked("delta --epsilon 0.5 --json --round import:file", "delta_upper");
	(void)snprintf(text, sizeof text, json, "\"neighbours\":\"add or remove one record\",");
	put(text);
	assert_true(asked("delta --epsilon 1 --json --round import:file", "delta_upper") >= one);
}

static void a_damaged_file_is_one_line(void **state)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{ "", "header" },
		{ "# dominating\n# neighbours: replace one record\nfpr,fnr\n", "no numbers" },
		{ "# dominating\n# neighbours: replace one record\nfpr,fnr\n0.1;0.2\n", "line 4" },
		{ "# dominating\n# neighbours: replace one record\nfpr,fnr\n0.1,0.2,3\n", "line 4" },
		{ "# dominating\n# neighbours: replace one record\nfpr,fnr\n0.1,1.2\n", "out of range" },
		{ "# dominating\n# neighbours: replace one record\nalpha,rdp\n1,1\n", "out of range" },
		{ "# dominating\n# neighbours: replace one record\nepsilon,delta\n1,0.1\n0.5,0.05\n",
			"increase" },
		{ "# dominating\n# neighbours: replace one record\nepsilon,delta\nnan,0.1\n",
			"from 0 to 690" },
		{ "{", "line 1" },
		{ "{\"discretization\":0}", "discretization" },
		{ "{\"discretization\":1,\"pessimistic_estimate\":true}", "pmf_remove" },
		{ "{\"discretization\":1,\"pessimistic_estimate\":true,\"neighbours\":\"replace one record\","
		  "\"pmf_remove\":{\"lower_loss\":0,\"probs\":[2],\"infinity_mass\":0}}",
			"out of range" },
		{ "{\"discretization\":1,\"pessimistic_estimate\":true,\"pmf_add\":3,\"pmf_remove\":"
		  "{\"lower_loss\":0,\"probs\":[1],\"infinity_mass\":0}}",
			"pmf_add" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		put(bad[i].text);
		refuses("epsilon --delta 1e-6 --round import:file", 65, bad[i].says);
	}
	refuses("epsilon --delta 1e-6 --round import:nowhere", 66, "No such file");
	refuses("epsilon --delta 1e-6 --round import:", 65, "name is missing");
	put("# dominating\n# neighbours: replace one record\nepsilon,delta\n0,0.5\n1,0.1\n");
	refuses("epsilon --delta 1e-6 --round import:file,n=5", 65, "no n=");
	refuses("epsilon --delta 1e-6 --round import:file,cuont=5", 65, "count");
}

static void a_matrix_is_a_randomizer(void **state)
{
	(void)state;
	put("# binary response\n0.75,0.25\n0.25,0.75\n");
	double own = asked("epsilon --delta 1e-6 --json --round matrix:file,n=500,count=3", "epsilon_upper"),
	       named = asked("epsilon --delta 1e-6 --json --round rr:eps0=1.0986122886681098,n=500,count=3",
		       "epsilon_upper");
	assert_true(fabs(own - named) < 1e-6 * named);
	assert_int_equal(run("describe --round matrix:file,n=500"), 0);
	assert_non_null(strstr(printed, "pair: p 3, beta 0.5, q 3"));
	put("0.7,0.2,0.1\n0.2,0.6,0.2\n0.1,0.3,0.6\n");
	assert_int_equal(run("describe --round matrix:file,n=500"), 0);
	assert_non_null(strstr(printed, "largest of all pairs of inputs: p 7, beta 0.6, q 7"));
	refuses("epsilon --delta 1e-6 --round matrix:file", 65, "n= is missing");
	refuses("epsilon --delta 1e-6 --round matrix:file,n=5,k=3", 65, "matrix: no such key");
	put("0.7,0.2,0.1\n0.2,0.6\n");
	refuses("epsilon --delta 1e-6 --round matrix:file,n=5", 65, "line 2");
	put("0.7,0.2\n0.2,0.8\n");
	refuses("epsilon --delta 1e-6 --round matrix:file,n=5", 65, "input 1: the chances must sum to 1");
	put("0.5,0.5,0\n0.5,0.25,0.25\n");
	refuses("epsilon --delta 1e-6 --round matrix:file,n=5", 65, "input 2, output 3: another input never");
	put("0.5,0.5\n1,1e-320\n");
	refuses("epsilon --delta 1e-6 --round matrix:file,n=5", 65,
		"input 2, output 2: a chance must be 0 or at");
	put("0.5,0.5\n");
	refuses("epsilon --delta 1e-6 --round matrix:file,n=5", 65, "2 to 64 inputs");
	put("1.5,-0.5\n1,0\n");
	refuses("epsilon --delta 1e-6 --round matrix:file,n=5", 65,
		"input 1, output 1: a chance must be a number");
}

/* `n` lines from `low` to `high`, the highest first. */
static void put_people(int n, double low, double high)
{
	FILE *f = fopen("file", "w");

	assert_non_null(f);
	assert_true(fputs("# who chose what\n\n", f) >= 0);
	for (int i = n; i-- > 0;)
		assert_true(fprintf(f, " %.9g\r\n", low + (high - low) * i / (n > 1 ? n - 1 : 1)) > 0);
	assert_int_equal(fclose(f), 0);
}

#define OF_FILE "epsilon --delta 1e-6 --json --round personal:file,k=4"

/* 62 guarantees are joined into classes; typed in, they are as many as a round takes. */
static void a_merged_class_is_not_below(double few)
{
	char args[4000];
	int at = snprintf(
		args, sizeof args, "epsilon --delta 1e-6 --json --round grr:k=4,eps0=2,n=62,others_eps=");

	put_people(62, 0.5, 2);
	for (int i = 0; i < 61; i++)
		at += snprintf(
			args + at, sizeof args - (size_t)at, "%s%.9g", i > 0 ? "/" : "", 0.5 + 1.5 * i / 61);
	at += snprintf(args + at, sizeof args - (size_t)at, ",others_n=");
	for (int i = 0; i < 61; i++)
		at += snprintf(args + at, sizeof args - (size_t)at, "%s1", i > 0 ? "/" : "");
	double merged = asked(OF_FILE, "epsilon_lower"), typed = asked(args, "epsilon_lower");

	assert_true(merged >= typed * (1 - 1e-9) && merged < 1.02 * typed && merged < few);
}

/* By enumeration: somebody at 3 among four at 0.2 loses 0.20242464 at epsilon 0.5, and nobody else more. */
static void two_symbols_of_five_people(void)
{
	put("0.2\n0.2\n3\n0.2\n0.2\n");
	double charged = asked("delta --epsilon 0.5 --json --round personal:file,k=2", "delta_upper"),
	       lower = asked(
		       "delta --epsilon 0.5 --json --method lower --round personal:file,k=2", "delta_lower");

	assert_true(fabs(charged - 0.20242463694965457) < 1e-7 && fabs(lower - 0.20242463694965457) < 1e-7);
}

/* No participant is left out: a largest guarantee that is overlooked would make the loss too small.  And none
 * is added: more participants make it smaller. */
static void nobody_is_passed_over(void)
{
	char comment[400];
	double two;

	put("1\r3\r");
	refuses("epsilon --delta 1e-6 --round personal:file,k=4", 65, "file:1: '1?3' is not a number");
	put("1\n\r3\n");
	assert_true(asked(OF_FILE, "epsilon_upper") > 2);
	put_bytes("1\n\0 3\n", 6);
	refuses("epsilon --delta 1e-6 --round personal:file,k=4", 65,
		"file:2: '' is too long, or has a NUL byte");
	(void)snprintf(comment, sizeof comment, "2\n%*s\n", 300, "3");
	put(comment);
	refuses("epsilon --delta 1e-6 --round personal:file,k=4", 65, "file:2: '' is too long");
	refuses("epsilon --delta 1e-6 --round personal:/dev/zero,k=4", 65, "/dev/zero:1: '' is too long");
	put("2\r\n 1 \r\n");
	two = asked(OF_FILE, "epsilon_upper");
	for (int length = 240; length < 275; length++) {
		(void)snprintf(comment, sizeof comment, "2\n1\n #%*s\n", length, "0.01");
		put(comment);
		assert_true(asked(OF_FILE, "epsilon_upper") == two);
	}
	put("0.5,0.5\n0.6,0.4\r0.9,0.1\n");
	refuses("epsilon --delta 1e-6 --round matrix:file,n=9", 65, "line 2: not as many numbers");
	put("# dominating\n# neighbours: replace one record\nfpr,fnr\n0.5,0.5\r0,0.1\n");
	refuses("epsilon --delta 1e-6 --round import:file", 65, "line 4: not the numbers of fpr,fnr");
}

static void everybody_has_a_guarantee_of_their_own(void **state)
{
	double few, many, victim;

	(void)state;
	/* Named classes: the victim is one of the largest. */
	put("1\n0.5\n2\n0.5\n2\n1\n1\n2\n2\n2\n");
	few = asked(OF_FILE ",count=3", "epsilon_upper");
	assert_true(few == asked("epsilon --delta 1e-6 --json --round "
				 "grr:k=4,eps0=2,n=10,count=3,others_eps=0.5/1,others_n=2/3",
				   "epsilon_upper"));
	put("1.5\n");
	assert_true(asked(OF_FILE, "epsilon_upper") ==
		    asked("epsilon --delta 1e-6 --json --round grr:k=4,eps0=1.5,n=1", "epsilon_upper"));
	/* 60 classes are kept; the 3000 guarantees differ little from their classes, and are never above them
	 * in loss. */
	put_people(60, 0.5, 2);
	few = asked(OF_FILE, "epsilon_upper");
	assert_true(few > 0 && few < 2);
	put_people(3000, 0.5, 2);
	many = asked(OF_FILE, "epsilon_upper");
	victim = asked(
		"epsilon --delta 1e-6 --json --round grr:k=4,eps0=2,n=3000,others_eps=1.25,others_n=2999",
		"epsilon_upper");
	assert_true(many > 0.9 * victim && many < 1.1 * victim);
	assert_true(
		many < asked("epsilon --delta 1e-6 --json --round grr:k=4,eps0=2,n=3000", "epsilon_upper"));
	a_merged_class_is_not_below(few);
	two_symbols_of_five_people();
	refuses("epsilon --delta 1e-6 --round personal:file", 65, "k= is missing");
	refuses("epsilon --delta 1e-6 --round personal:file,k=4,n=5", 65, "personal: n= is given twice");
	refuses("epsilon --delta 1e-6 --round personal:file,k=4,sampling=.1", 65,
		"personal: others_eps with");
	refuses("epsilon --delta 1e-6 --round personal:none,k=4", 66, "none: No such file");
	refuses("epsilon --delta 1e-6 --round import:none", 66, "none: No such file");
	refuses("calibrate --delta 1e-6 --epsilon 1 --round matrix:none,n=? --round grr:k=4,eps0=1,n=9", 66,
		"none: No such file");
	put("1\n\n# 2\n1,5\n");
	refuses("epsilon --delta 1e-6 --round personal:file,k=4", 65, "file:4: '1,5' is not a number");
	put("1\n701\n");
	refuses("epsilon --delta 1e-6 --round personal:file,k=4", 65, "file:2: '701' is not above 0");
	put("nan\n");
	refuses("epsilon --delta 1e-6 --round personal:file,k=4", 65, "file:1: 'nan' is not above 0");
	nobody_is_passed_over();
	put("# nobody\n");
	refuses("epsilon --delta 1e-6 --round personal:file,k=4", 65, "file: there are no participants");
}

static void a_group_loses_more(void **state)
{
	double one = asked("epsilon --delta 1e-6 --json " SHUFFLED, "epsilon_upper");

	(void)state;
	assert_true(asked("epsilon --delta 1e-6 --group 1 --json " SHUFFLED, "epsilon_upper") == one);
	assert_true(asked("epsilon --delta 1e-6 --group 2 --json " SHUFFLED, "epsilon_upper") > 2 * one);
	refuses("epsilon --delta 1e-6 --group 0 " SHUFFLED, 64, "--group");
	refuses("epsilon --delta 1e-6 --group 2 --method rdp " SHUFFLED, 64, "--group");
	refuses("rounds --epsilon 1 --delta 1e-6 --group 2 " SHUFFLED, 64, "--group");
	refuses("export --format table " SHUFFLED, 64, "trade-off");
	refuses("curve --format trade-off " SHUFFLED, 64, "export");
	refuses("export --to 601 " SHUFFLED, 64, "--to");
}

static void central_events_are_rounds(void **state)
{
	(void)state;
	/* Many normal answers are one: of deviation 10 k times as many fit as of deviation sqrt(k) 10. */
	double sigma = asked("calibrate --epsilon 1 --delta 1e-6 --json --round gaussian:sigma=?", "value"),
	       ten = asked("calibrate --epsilon 1 --delta 1e-6 --json --round gaussian:sigma=?,count=10",
		       "value"),
	       fit = asked("rounds --epsilon 1 --delta 1e-6 --json --round gaussian:sigma=30", "fit");
	assert_true(fabs(ten - sqrt(10) * sigma) < 1e-3 * ten && fabs(fit - 900 / (sigma * sigma)) <= 1);
	assert_int_equal(run("describe --round gaussian:sigma=2 --round sampled-gaussian:sigma=2,rate=0.1 "
			     "--round laplace:scale=3"),
		0);
	assert_non_null(strstr(printed, "central"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_leaves_comes_back),
		cmocka_unit_test(a_maker_has_to_say_that_a_curve_dominates),
		cmocka_unit_test(a_maker_has_to_say_for_which_neighbours),
		cmocka_unit_test(a_damaged_file_is_one_line),
		cmocka_unit_test(a_matrix_is_a_randomizer),
		cmocka_unit_test(everybody_has_a_guarantee_of_their_own),
		cmocka_unit_test(a_group_loses_more),
		cmocka_unit_test(central_events_are_rounds),
	};

	return cmocka_run_group_tests(tests, enter, leave);
}
