/* cl_program_conf.c - checks the programs that a client is configured to run. */
#include "cl_program_conf.h"

#include <pwd.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "cl_cell.h"
#include "cm_buf.h"
#include "cm_fault.h"

#define AT(field) offsetof(struct cl_program_conf, field)

static const struct cf_row allow_rows[] = {
	CF_REQUIRED("file", CF_PATH, offsetof(struct cl_program_allowed, file),
		"an ELF program, or a script whose first line names its interpreter"),
	CF_REQUIRED("sha256", CF_STRING, offsetof(struct cl_program_allowed, sha256),
		"its SHA-256, 64 hexadecimal digits, as sha256sum prints it"),
	CF_END,
};

const struct cf_row cl_program_rows[] = {
	CF_OPTIONAL("allow", CF_LIST(0, CL_PROGRAMS_MAX, allow_rows, struct cl_program_allowed), AT(allow),
		"the programs; a round with any other is refused"),
	CF_DEFAULT("isolate", CF_BOOL, AT(isolate), "true",
		"true: a process of its own for each device; false accepts one process for many, which "
		"could tell one device's reading in another's answer"),
	CF_OPTIONAL("accept_without", CF_STRINGS(0, 16), AT(accept_without),
		"what may be lacking between one device's program and another's reading, by name: machine, always; "
		"process, with isolate = false; what this host lacks of namespaces, user, landlock, "
		"one-program, access-times, root"),
	CF_DEFAULT("at_once", CF_INT(1, CL_AT_ONCE_MAX), AT(at_once), "1",
		"devices that are computed at the same time; of more than there are processors each has a "
		"part of a processor's time"),
	CF_DEFAULT("memory_mib", CF_INT(8, 1048576), AT(memory_mib), "512", "address space of one process"),
	CF_DEFAULT("user", CF_STRING, AT(user), "nobody", "who they run as, where the client runs as root"),
	CF_END,
};

static void check_one(struct cl_program_allowed *a, const char *at, const struct cf_file *file, FILE *faults,
	struct cm_err *first)
{
	struct cm_err why;
	bool unused;
	int fd;

	if (cm_unhex(a->sha256, a->hash, sizeof a->hash) != CM_OK) {
		(void)cm_fail(&why, CM_ECONFIG, "programs.allow.sha256 is not 64 hexadecimal digits");
		cf_fault_at(file, at, &why, faults, first);
	} else if (cl_program_file_open(a->file, a->hash, &fd, &unused, &why) != CM_OK) {
		cf_fault_at(file, at, &why, faults, first);
	} else {
		(void)close(fd);
	}
}

uint32_t cl_program_conf_lacks(const struct cl_program_conf *c)
{
	return CL_CELL_MACHINE | (c->isolate ? 0 : CL_CELL_PROCESS);
}

enum cm_rc cl_program_conf_accepts(const struct cl_program_conf *c, uint32_t lacks, struct cm_err *err)
{
	char text[CL_CELL_TEXT];

	if ((lacks & ~c->accepts) == 0 || !CM_CHECKED("client.program.isolation"))
		return CM_OK;
	cl_cell_text(lacks & ~c->accepts, text);
	return cm_fail(err, CM_ECONFIG,
		"programs.accept_without does not name %s: without it one device's program may learn of "
		"another's reading (tombola.conf(5) says how)",
		text);
}

static void check_accepted(
	struct cl_program_conf *c, const struct cf_file *file, FILE *faults, struct cm_err *first)
{
	static const char key[] = "programs.accept_without";
	struct cm_err why;

	for (size_t i = 0; i < c->accept_without.n; i++) {
		uint32_t bit = cl_cell_lack(c->accept_without.item[i]);

		c->accepts |= bit;
		if (bit != 0)
			continue;
		(void)cm_fail(&why, CM_ECONFIG, "%s: nothing that may be lacking is called '%.60s'", key,
			c->accept_without.item[i]);
		cf_fault_at(file, key, &why, faults, first);
	}
	if (c->allow.n > 0 && cl_program_conf_accepts(c, cl_program_conf_lacks(c), &why) != CM_OK)
		cf_fault_at(file, cf_line(file, key) > 0 ? key : "programs", &why, faults, first);
}

void cl_program_conf_check(
	struct cl_program_conf *c, const struct cf_file *file, FILE *faults, struct cm_err *first)
{
	struct cl_program_allowed *allow = c->allow.item;
	const struct passwd *user;
	struct cm_err why;
	char at[48];

	for (size_t i = 0; i < c->allow.n; i++) {
		(void)snprintf(at, sizeof at, "programs.allow.[%zu]", i);
		check_one(&allow[i], at, file, faults, first);
	}
	check_accepted(c, file, faults, first);
	if (c->allow.n == 0 || geteuid() != 0)
		return;
	user = getpwnam(c->user);
	if (!user || user->pw_uid == 0) {
		(void)cm_fail(&why, CM_ECONFIG, "programs.user: no user other than root is called '%.60s'",
			c->user);
		cf_fault_at(file, "programs.user", &why, faults, first);
		return;
	}
	c->uid = user->pw_uid;
	c->gid = user->pw_gid;
}

int cl_program_conf_find(const struct cl_program_conf *c, const uint8_t hash[CL_PROGRAM_HASH])
{
	const struct cl_program_allowed *allow = c->allow.item;

	for (size_t i = 0; i < c->allow.n; i++)
		if (memcmp(allow[i].hash, hash, CL_PROGRAM_HASH) == 0)
			return (int)i;
	return -1;
}
