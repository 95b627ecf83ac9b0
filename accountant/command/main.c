/* main.c - tombola-accountant: one question, one answer. */
#include <stdlib.h>

#include "cmd.h"

int main(int argc, char **argv)
{
	struct cmd_question *q = calloc(1, sizeof *q);
	const struct cmd_verb *verb = NULL;
	int code;

	if (!q)
		return cmd_fail(CMD_INTERNAL, "out of memory");
	code = cmd_parse(argc, argv, q, &verb);
	if (code == 0)
		code = verb->run(q);
	free(q);
	if (code < 0)
		code = 0;
	if ((code == 0 || code == CMD_OVER) && (fflush(stdout) || ferror(stdout)))
		code = cmd_fail(CMD_WRITE, "cannot write the answer");
	return code;
}
