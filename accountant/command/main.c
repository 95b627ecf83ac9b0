/* main.c - the program tombola-accountant: one question, one answer. */
#include <jansson.h>
#include <stdlib.h>

#include "cm_oom.h"
#include "cmd.h"

static const char manual[] =
	"Usage: tombola-accountant VERB [OPTION ...]      tombola-accountant VERB --help\n"
	"\n"
	"Certified differential privacy of shuffled rounds: intervals that hold the exact value.\n"
	"\n"
	"  epsilon     epsilon at a delta            delta       delta at an epsilon\n"
	"  compare     by every method               curve       over delta or a parameter, as CSV\n"
	"  describe    a round: p, beta, q, error    names       the randomizers and methods there are\n"
	"  calibrate   the best eps0, n or dummies   rounds      how many rounds fit a budget\n"
	"  optimise    a budget over rounds\n"
	"  audit       recompute a ledger's charges  export      the loss distribution, for other tools\n"
	"  completion  bash or zsh: completes this command in that shell\n"
	"\n"
	"  --round SPEC     name:key=value,...  n= participants, count= repetitions; repeatable\n"
	"  --epsilon E, --delta D               the guarantee; epsilon in nats\n"
	"  --method NAME    pld (default: proved and tight); others are listed by `names`\n"
	"  --bound proved|published             published: the literature's reduction, NOT an upper bound\n"
	"  --json           one JSON object, 17 digits; an infinite bound is null\n"
	"  -h, --help; -V, --version\n"
	"\n"
	"  tombola-accountant epsilon --delta 1e-6 --round grr:k=16,eps0=3,n=10000,count=100\n"
	"\n"
	"Exit: 0; 3 over budget; 64 usage; 65 bad round or ledger; 66 no such file; 70 internal; 73, 74 "
	"I/O\n";

int main(int argc, char **argv)
{
	static const struct cm_cli_program program = { .name = "tombola-accountant",
		.summary = "Certified differential privacy of shuffled rounds.",
		.verb = cmd_verbs,
		.manual = manual,
		.silent = true };

	json_set_alloc_funcs(cm_oom_malloc, free);
	cmd_list_methods();
	return cm_cli_main(&program, argc, argv);
}
