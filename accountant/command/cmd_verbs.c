/* cmd_verbs.c - the table of verbs: what each takes, needs and prints as its help (cmd.h). */
#include "cmd.h"

/* Options that several verbs take.  Their help is in each verb's own text. */
#define EPSILON CM_OPTION("epsilon", "E", NULL)
#define DELTA   CM_OPTION("delta", "D", NULL)
#define ROUND   CM_REPEATED("round", "SPEC", NULL)
#define METHOD  CM_OPTION("method", cmd_methods, NULL)
#define METHODS CM_REPEATED("method", cmd_methods, NULL)
#define BOUND   CM_OPTION("bound", "proved|published", NULL)
#define FORMAT  CM_OPTION("format", CMD_FORMATS, NULL)
#define OUTPUT                                                   \
	{                                                        \
		.name = "output", .value = "FILE", .letter = 'o' \
	}
#define DELTA_MIN CM_OPTION("delta-min", "D", NULL)
#define DELTA_MAX CM_OPTION("delta-max", "D", NULL)
#define OVER      CM_OPTION("over", "KEY", NULL)
#define FROM      CM_OPTION("from", "A", NULL)
#define TO        CM_OPTION("to", "B", NULL)
#define POINTS    CM_OPTION("points", "N", NULL)
#define GROUP     CM_OPTION("group", "G", NULL)
#define WEIGHT    CM_OPTION("weight", "A/B/..", NULL)
#define ERROR     CM_OPTION("error", "A/B/..", NULL)
#define ANSWER    ROUND, METHOD, BOUND
#define NO_OPTION \
	{         \
		0 \
	}

#define HELP_LAST "  -h, --help; -V, --version\n"
#define HELP_ROUND                                                                                     \
	"  --round SPEC      a round; repeat it for a composition of different rounds (`names` lists " \
	"them)\n"
#define HELP_GROUP  "  --group G         neighbours replace up to G records (default 1)\n"
#define HELP_METHOD "  --method NAME     the analysis (default pld; `names` lists them)\n"
#define HELP_BOUND \
	"  --bound published the literature's two-count reduction: for comparison, NOT an upper bound\n"
#define HELP_JSON "  --json            one JSON object\n" HELP_LAST

/* Define the function that runs a verb. */
#define ASKED(verb_, ...)                                                                           \
	static enum cm_rc ask_##verb_(const struct cm_cli *cli, int *exit_code, struct cm_err *err) \
	{                                                                                           \
		static const char *const needs[] = { __VA_ARGS__ };                                 \
                                                                                                    \
		(void)exit_code;                                                                    \
		return cmd_ask(cli, needs, cmd_run_##verb_, err);                                   \
	}
ASKED(epsilon, "delta", "round", NULL)
ASKED(delta, "epsilon", "round", NULL)
ASKED(rounds, "epsilon", "delta", "round", NULL)
ASKED(calibrate, "epsilon", "delta", "round", NULL)
ASKED(optimise, "epsilon", "delta", "round", NULL)
ASKED(compare, "round", NULL)
ASKED(curve, "round", NULL)
ASKED(audit, NULL)
ASKED(describe, "round", NULL)
ASKED(export, "round", NULL)
ASKED(names, NULL)

#define VERB(verb_, args_, min_, max_, manual_, ...)                                                 \
	{                                                                                            \
		.name = #verb_, .args = (args_), .help = "", .min_args = (min_), .max_args = (max_), \
		.run = ask_##verb_, .manual = (manual_), .option = {                                 \
			__VA_ARGS__                                                                  \
		}                                                                                    \
	}
const struct cm_cli_verb cmd_verbs[] = {
	VERB(epsilon, "", 0, 0,
		"Usage: tombola-accountant epsilon --delta D --round SPEC [--round SPEC ...]\n"
		"\n"
		"The epsilon for which all rounds together are (epsilon, D)-differentially private: an interval\n"
		"that holds the exact value of their dominating pairs. Rely on its upper end. The other way round:\n"
		"tombola-accountant delta --epsilon E.\n"
		"\n"
		"  --delta D         above 0 and below 1\n" HELP_ROUND HELP_GROUP HELP_METHOD HELP_BOUND
			HELP_JSON "\n"
		"  tombola-accountant epsilon --delta 1e-6 --round vrr:s=2,eps0=2,n=10000,count=256\n",
		DELTA, ANSWER, GROUP),
	VERB(delta, "", 0, 0,
		"Usage: tombola-accountant delta --epsilon E --round SPEC [--round SPEC ...]\n"
		"\n"
		"The delta for which all rounds together are (E, delta)-differentially private. The other way\n"
		"round: tombola-accountant epsilon --delta D.\n"
		"\n"
		"  --epsilon E       in nats, not negative\n" HELP_ROUND HELP_GROUP HELP_METHOD HELP_BOUND
			HELP_JSON "\n"
		"  tombola-accountant delta --epsilon 0.5 --round grr:k=16,eps0=3,n=10000\n",
		EPSILON, ANSWER, GROUP),
	VERB(rounds, "", 0, 0,
		"Usage: tombola-accountant rounds --epsilon E --delta D --round SPEC [--round SPEC ...]\n"
		"\n"
		"How many times over the listed rounds may be run within (E, D).\n"
		"\n"
		"  --epsilon E, --delta D  the budget\n" HELP_ROUND HELP_METHOD HELP_BOUND HELP_JSON "\n"
		"  tombola-accountant rounds --epsilon 1 --delta 1e-6 --round rr:eps0=1,n=10000\n",
		EPSILON, DELTA, ANSWER),
	VERB(calibrate, "", 0, 0,
		"Usage: tombola-accountant calibrate --epsilon E --delta D --round SPEC-WITH-? [--round SPEC ...]\n"
		"\n"
		"The value of the key written as `?` that spends the budget best, and still fits:\n"
		"  eps0=?, p=?         the largest, rounded down to six digits\n"
		"  count=?             the largest number of repetitions\n"
		"  n=?, dummies=?      the smallest number\n"
		"  sigma=?, scale=?    the smallest, rounded up to six digits\n"
		"The answer itself was checked against the budget. Exit 3: no value fits.\n"
		"\n"
		"  --epsilon E, --delta D  the budget\n" HELP_ROUND HELP_METHOD HELP_BOUND HELP_JSON "\n"
		"  tombola-accountant calibrate --epsilon 1 --delta 1e-6 --round grr:k=16,eps0=?,n=10000\n",
		EPSILON, DELTA, ANSWER),
	VERB(optimise, "", 0, 0,
		"Usage: tombola-accountant optimise --epsilon E --delta D --round SPEC-WITH-? [--round SPEC ...]\n"
		"\n"
		"Allocates the budget (E, D): eps0=? (or sigma=?, scale=?) of every round that says so, for the\n"
		"least sum of weight times squared error; or for the least multiple of the errors aimed at.\n"
		"The error is the one that `describe` prints. What comes out was composed: it fits.\n"
		"Exit 3: nothing does.\n"
		"\n"
		"  --epsilon E, --delta D  the budget\n" HELP_ROUND
		"  --weight A/B/..   of the rounds with ?, in their order (default 1 each)\n"
		"  --error A/B/..    the errors aimed at, instead\n" HELP_JSON "\n"
		"  tombola-accountant optimise --epsilon 1 --delta 1e-6 --weight 4/1 \\\n"
		"      --round grr:k=16,eps0=?,n=10000 --round levels:b=8,eps0=?,n=10000\n",
		EPSILON, DELTA, ROUND, WEIGHT, ERROR),
	VERB(compare, "", 0, 0,
		"Usage: tombola-accountant compare --delta D | --epsilon E --round SPEC [--round SPEC ...]\n"
		"\n"
		"The same question to every method: its answer, whether that is a guarantee, and the ratio to pld.\n"
		"\n"
		"  --delta D         compare epsilons at this delta\n"
		"  --epsilon E       compare deltas at this epsilon\n" HELP_ROUND HELP_JSON "\n"
		"  tombola-accountant compare --delta 1e-6 --round rr:eps0=1,n=10000,count=100\n",
		EPSILON, DELTA, ROUND),
	VERB(curve, "", 0, 0,
		"Usage: tombola-accountant curve --round SPEC [--delta-min D] [--delta-max D]\n"
		"       tombola-accountant curve --over KEY --from A --to B --delta D --round SPEC\n"
		"\n"
		"epsilon over delta, upper and lower; or epsilon at one delta over a parameter of the rounds.\n"
		"`python3 -m tombola_accountant.plot a.csv` draws it.\n"
		"\n"
		"  --over KEY        n, eps0, count or another key of a SPEC; set in every round that has it\n"
		"                    (where none has it, in all of them)\n"
		"  --from A, --to B  its range; whole numbers stay whole\n"
		"  --points N        number of points (default 41)\n"
		"  --delta-min D, --delta-max D  range of delta (default 1e-12 to 1e-2)\n"
		"  --format F        csv (default), table, json\n"
		"  -o, --output FILE write to FILE instead of standard output\n" HELP_ROUND
		"  --method NAME     may be repeated: one curve each\n" HELP_BOUND HELP_JSON "\n"
		"  tombola-accountant curve --round vrr:s=2,eps0=2,n=10000,count=256 -o a.csv\n",
		DELTA, ROUND, METHODS, BOUND, FORMAT, OUTPUT, DELTA_MIN, DELTA_MAX, OVER, FROM, TO, POINTS),
	VERB(audit, "FILE", 1, 1,
		"Usage: tombola-accountant audit LEDGER.jsonl [--json]\n"
		"\n"
		"Recomputes every charge of a ledger, as `tombola-analyzer ledger export` prints it, from the\n"
		"charged rounds' cells, and their composed total. LEDGER - is standard input.\n"
		"Exit: 0 everything recorded is as large as it must be and within the limit; 3 over the limit;\n"
		"65 the file is damaged, or records less loss than there is (file:line: what).\n"
		"\n" HELP_JSON "\n"
		"  tombola-analyzer ledger export | tombola-accountant audit -\n",
		NO_OPTION),
	VERB(describe, "", 0, 0,
		"Usage: tombola-accountant describe --round SPEC [--round SPEC ...] [--json]\n"
		"\n"
		"What the answers are computed from: eps0, the pair (p, beta, q), the chance that a k-ary report\n"
		"is the participant's own symbol, and the cells of the blanket. Each slot of a round apart.\n"
		"\n" HELP_ROUND HELP_JSON "\n"
		"  tombola-accountant describe --round grr:k=16,eps0=3,n=10000\n",
		ROUND),
	VERB(export, "", 0, 0,
		"Usage: tombola-accountant export --round SPEC [--round SPEC ...] [--format "
		"json|csv|trade-off]\n"
		"\n"
		"The composed privacy loss for other tools: a distribution that dominates it, rounded upwards.\n"
		"--round import:FILE reads every format back.\n"
		"\n"
		"  --format F        json (default): discretization, lower_loss, probs and infinity_mass, as the\n"
		"                    PMF of dp_accounting has them; csv: epsilon,delta_lower,delta_upper;\n"
		"                    trade-off: fpr,fnr, from below\n"
		"  --points N        losses above 0 (default 400)\n"
		"  --to E            the largest finite loss (default: where delta is --delta-min)\n"
		"  --delta-min D     default 1e-12\n"
		"  -o, --output FILE write to FILE instead of standard output\n" HELP_ROUND HELP_JSON "\n"
		"  tombola-accountant export --round grr:k=16,eps0=3,n=10000,count=8 -o loss.json\n",
		ROUND, FORMAT, OUTPUT, DELTA_MIN, TO, POINTS),
	VERB(names, "", 0, 0,
		"Usage: tombola-accountant names [--json]\n"
		"\n"
		"The randomizers a SPEC may name, with their keys, and the methods with what they are worth.\n"
		"\n" HELP_JSON,
		NO_OPTION),
	{ .name = "completion",
		.args = "bash|zsh",
		.help = "",
		.min_args = 1,
		.max_args = 1,
		.run = cm_cli_completion,
		.manual =
			"Usage: tombola-accountant completion bash|zsh\n"
			"\n"
			"Prints a completion of this command for that shell: eval \"$(tombola-accountant completion bash)\"\n"
			"\n" HELP_LAST },
	{ 0 },
};
