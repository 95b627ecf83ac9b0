/* cmd_names.c - prints the names that a SPEC and --method accept, from the tables that parse them. */
#include "acct_named.h"
#include "cmd.h"

static void print_json(void)
{
	struct cmd_json j = cmd_json_begin(stdout);

	cmd_json_open(&j, "randomizers", '[');
	for (size_t i = 0; acct_named_row(i); i++) {
		cmd_json_open(&j, NULL, '{');
		cmd_json_text(&j, "name", acct_named_row(i)->name);
		cmd_json_text(&j, "keys", acct_named_row(i)->keys);
		cmd_json_text(&j, "summary", acct_named_row(i)->summary);
		cmd_json_close(&j, '}');
	}
	cmd_json_close(&j, ']');
	cmd_json_open(&j, "methods", '[');
	for (size_t i = 0; acct_method_row(i); i++) {
		cmd_json_open(&j, NULL, '{');
		cmd_json_text(&j, "name", acct_method_row(i)->name);
		cmd_json_text(&j, "summary", acct_method_row(i)->summary);
		cmd_json_text(&j, "worth", acct_worth_text(acct_method_row(i)->worth));
		cmd_json_close(&j, '}');
	}
	cmd_json_close(&j, ']');
	cmd_json_close(&j, '}');
	putchar('\n');
}

enum cm_rc cmd_run_names(const struct cmd_question *q)
{
	if (q->format == CMD_OBJECT) {
		print_json();
		return CM_OK;
	}
	puts("Rounds, --round name:key=value,...\n"
	     "Every round takes n= (participants), [count=1] (repetitions), [sampling=], [poisson=], [defect=0].\n"
	     "[keys] may be left out: then the value that stands there is assumed (any: it does not matter; best:\n"
	     "chosen by eps0), and of chance=, sampling=, poisson=, others_..= none.  eps0= is the local guarantee in nats,\n"
	     "dummies= of the whole round; both of each slot where a round has several.\n");
	for (size_t i = 0; acct_named_row(i); i++)
		printf("  %s:%s\n      %s\n", acct_named_row(i)->name, acct_named_row(i)->keys,
			acct_named_row(i)->summary);
	puts("\nFrom files, beside n= and the like (tombola-accountant(1))\n\n"
	     "  import:FILE\n      a privacy curve\n"
	     "  matrix:FILE,n=\n      a randomizer by its probabilities, a line for each input\n"
	     "  personal:FILE,k=\n      response on k symbols, a guarantee a line for each participant");
	puts("\nMethods, --method name\n");
	for (size_t i = 0; acct_method_row(i); i++) {
		const struct acct_method *m = acct_method_row(i);

		printf("  %-14s %s\n  %-14s %s\n", m->name, m->summary, "", acct_worth_text(m->worth));
	}
	return CM_OK;
}
