/* cm_cli.h - the command line that every program shares: verbs, options, --help, --version, exit codes
 * (glibc argp).
 *
 * `prog [GLOBAL] VERB [OPTIONS] [ARGS]`.  Global options, accepted before or after the verb: -c/--config
 * FILE (TOMBOLA_CONFIG), -v/-q (TOMBOLA_LOG_LEVEL), --log-format text|json|auto (TOMBOLA_LOG_FORMAT),
 * --color auto|always|never (TOMBOLA_COLOR; NO_COLOR counts when it is not empty), --json, -h/--help,
 * -V/--version. */
#pragma once

#include <stdbool.h>

#include "cm_log.h"
#include "cm_rc.h"

struct cm_cli_program;
struct cm_cli {
	const struct cm_cli_program *program; /* the program that is running */
	const struct cm_cli_verb *verb;       /* the verb that is running */
	const char *config; /* path of the configuration: from the option, or the program's default */
	enum cm_level level;
	enum cm_log_format log_format;
	bool json, color;
	/* number of arguments of the verb, from which options have been removed; argv[0] is the verb */
	int argc;
	char **argv; /* positional arguments follow argv[0] */
	/* value of the verb's option i; NULL: it is absent; "": it is a flag, and given */
	const char *option[16];
	/* all values of an option marked repeatable, NULL after the last */
	const char *const *repeated[16];
};

struct cm_cli_option {
	const char *name;  /* the option's name, such as "delta" for --delta */
	const char *value; /* what --help calls its value, such as "D"; NULL for a flag */
	const char *help;
	bool repeatable;
	char letter; /* its letter, such as 'o' for -o, which no global option has; 0: it has no letter */
};

struct cm_cli_verb {
	const char *name; /* one word, such as "run", or two, such as "round show" */
	const char *args; /* the arguments as --help shows them: "FILE", "[N]" or "" */
	const char *help;
	int min_args, max_args;
	struct cm_cli_option option[16]; /* the verb's options; the first with name NULL ends them */
	/* all of --help, in place of the text made from the rows; NULL: made from the rows */
	const char *manual;
	/* Runs the verb.  The exit code is cm_exit_code() of the result, unless the verb returns CM_OK and
	 * sets *exit_code. */
	enum cm_rc (*run)(const struct cm_cli *cli, int *exit_code, struct cm_err *err);
};

/* Verbs and options are written by position; each verb has arguments from `min_` to `max_`.  A table ends
 * with { 0 }. */
#define CM_VERB(name_, args_, min_, max_, run_, help_)                                                     \
	{                                                                                                  \
		.name = (name_), .args = (args_), .help = (help_), .min_args = (min_), .max_args = (max_), \
		.run = (run_)                                                                              \
	}
/* The options follow the help. */
#define CM_VERB_WITH(name_, args_, min_, max_, run_, help_, ...)                                           \
	{                                                                                                  \
		.name = (name_), .args = (args_), .help = (help_), .min_args = (min_), .max_args = (max_), \
		.run = (run_), .option = {                                                                 \
			__VA_ARGS__                                                                        \
		}                                                                                          \
	}
#define CM_OPTION(name_, value_, help_)                             \
	{                                                           \
		.name = (name_), .value = (value_), .help = (help_) \
	}
#define CM_REPEATED(name_, value_, help_)                                               \
	{                                                                               \
		.name = (name_), .value = (value_), .help = (help_), .repeatable = true \
	}
#define CM_FLAG(name_, help_)                    \
	{                                        \
		.name = (name_), .help = (help_) \
	}

struct cm_cli_program {
	const char *name, *summary;
	/* role in log lines; also names the default configuration /etc/tombola/ROLE.conf.  NULL: the program
	 * has no configuration and no --config. */
	const char *role;
	const struct cm_cli_verb *verb; /* the verbs; the first with name NULL ends them */
	const char *manual;             /* all of --help, as for a verb; or NULL */
	bool silent; /* logs and colours nothing: has no --config, -v, -q, --log-format and --color */
	/* The verb whose JSON lists the existing queries, each as a member `query`: a shell runs it to
	 * complete arguments named QUERY.  NULL: there is no such verb. */
	const char *lists_queries;
	/* Make the choices that depend on the machine, once, before any verb runs.  *line describes them;
	 * `--version --verbose` prints it, and the log has it at level debug.  CM_EUSAGE for a bad
	 * environment variable.  NULL: nothing depends on the machine. */
	enum cm_rc (*machine)(const char **line, struct cm_err *err);
};

/* Parse, run the verb, print "name: message" for an error on stderr, return the exit code. */
int cm_cli_main(const struct cm_cli_program *program, int argc, char **argv);

/* The verb `completion bash|zsh`, for the table of every program: prints a script that completes its verbs,
 * options and files. */
enum cm_rc cm_cli_completion(const struct cm_cli *cli, int *exit_code, struct cm_err *err);
#define CM_CLI_COMPLETION                                          \
	CM_VERB("completion", "bash|zsh", 1, 1, cm_cli_completion, \
		"print what completes this command in that shell")

/* Read a finite double, or an unsigned integer: the whole text must be the number, and it must be in range.
 * CM_EUSAGE with a line that names `what`. */
CM_CHECK enum cm_rc cm_cli_double(
	const char *text, const char *what, double min, double max, double *out, struct cm_err *err);
CM_CHECK enum cm_rc cm_cli_u64(
	const char *text, const char *what, uint64_t min, uint64_t max, uint64_t *out, struct cm_err *err);

/* CM_OK if `said`, the value of --confirm or NULL, equals the name of what the verb destroys; otherwise
 * CM_EUSAGE with the consequence, in words, and the name to give. */
CM_CHECK enum cm_rc cm_cli_confirmed(
	const char *said, const char *name, const char *consequence, struct cm_err *err);
