/* nt_confine.c - installs the filter of system calls of a running daemon. */
#include "nt_confine.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdnoreturn.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAKE_S 5 /* the process that makes the filter has this many seconds; it takes milliseconds */

/* Calls that are denied whatever their arguments.  A name that this architecture does not have is skipped. */
static const char *const never[] = {
	/* starting and reading other programs and processes */
	"execve", "execveat", "fork", "vfork", "ptrace", "process_vm_readv", "process_vm_writev",
	"process_madvise", "pidfd_getfd", "kcmp", "personality", "uselib",
	/* becoming other users */
	"setuid", "setgid", "setreuid", "setregid", "setresuid", "setresgid", "setfsuid", "setfsgid",
	"setgroups", "setuid32", "setgid32", "setreuid32", "setregid32", "setresuid32", "setresgid32",
	"setfsuid32", "setfsgid32", "setgroups32", "capset",
	/* changing mounts, roots and namespaces, and opening files without a path */
	"mount", "umount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "fsopen", "fsconfig",
	"fsmount", "fspick", "mount_setattr", "setns", "unshare", "open_by_handle_at", "name_to_handle_at",
	/* changing the kernel itself */
	"kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "create_module",
	"bpf", "perf_event_open", "userfaultfd", "lookup_dcookie", "nfsservctl", "syslog", "add_key",
	"request_key", "keyctl", "io_uring_setup", "io_uring_enter", "io_uring_register",
	/* changing the machine */
	"swapon", "swapoff", "reboot", "acct", "quotactl", "quotactl_fd", "sethostname", "setdomainname",
	"vhangup", "iopl", "ioperm", "pciconfig_read", "pciconfig_write", "pciconfig_iobase", "modify_ldt",
	"vm86", "vm86old",
	/* setting its clock */
	"settimeofday", "stime", "clock_settime", "clock_settime64", "clock_adjtime", "clock_adjtime64",
	"adjtimex"
};

static const int families[] = { AF_UNIX, AF_INET, AF_INET6, AF_NETLINK };

struct filter {
	scmp_filter_ctx ctx;
	unsigned denied; /* number of rules that were added on this architecture */
	int failed;      /* the first error of libseccomp, a negative number */
};

static void deny(struct filter *f, const char *name, uint32_t action, const struct scmp_arg_cmp *when)
{
	int nr = seccomp_syscall_resolve_name(name), rc;

	if (nr < 0 && nr != __NR_SCMP_ERROR)
		return;
	rc = nr == __NR_SCMP_ERROR ? -EDOM : seccomp_rule_add_array(f->ctx, action, nr, when ? 1 : 0, when);
	if (rc < 0 && f->failed == 0)
		f->failed = rc;
	f->denied++;
}

static void deny_if(struct filter *f, const char *name, struct scmp_arg_cmp when)
{
	deny(f, name, SCMP_ACT_ERRNO(EPERM), &when);
}

static bool allowed_family(int family)
{
	for (size_t i = 0; i < sizeof families / sizeof families[0]; i++)
		if (families[i] == family)
			return true;
	return false;
}

/* A rule can test an argument only once, so the values between the allowed ones are denied one by one.  The
 * kernel reads only the lower half of the register; a value with bits in the upper half is "greater", and
 * so denied, too. */
static void deny_sockets(struct filter *f)
{
	for (int family = 0; family < AF_NETLINK; family++)
		if (!allowed_family(family)) {
			deny_if(f, "socket", SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)family, 0));
			deny_if(f, "socketpair", SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)family, 0));
		}
	deny_if(f, "socket", SCMP_A0(SCMP_CMP_GT, AF_NETLINK, 0));
	deny_if(f, "socketpair", SCMP_A0(SCMP_CMP_GT, AF_NETLINK, 0));
}

static void deny_code(struct filter *f)
{
	const scmp_datum_t both = PROT_WRITE | PROT_EXEC;

	deny_if(f, "mmap", SCMP_A2(SCMP_CMP_MASKED_EQ, both, both));
	deny_if(f, "mmap2", SCMP_A2(SCMP_CMP_MASKED_EQ, both, both));
	deny_if(f, "mprotect", SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, PROT_EXEC));
	deny_if(f, "pkey_mprotect", SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, PROT_EXEC));
	deny_if(f, "shmat", SCMP_A2(SCMP_CMP_MASKED_EQ, SHM_EXEC, SHM_EXEC));
}

static void deny_all(struct filter *f)
{
	for (size_t i = 0; i < sizeof never / sizeof never[0]; i++)
		deny(f, never[i], SCMP_ACT_ERRNO(EPERM), NULL);
	deny(f, "clone3", SCMP_ACT_ERRNO(ENOSYS), NULL);
	deny_if(f, "clone", SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
	/* TIOCSTI types into the operator's terminal.  The kernel reads only the lower half. */
	deny_if(f, "ioctl", SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, TIOCSTI));
	deny_sockets(f);
	deny_code(f);
}

/* Make the filter a binary tree of rules, not a list. */
static void set_attributes(struct filter *f)
{
	if (f->failed == 0)
		f->failed = seccomp_attr_set(f->ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(EPERM));
	if (f->failed == 0)
		f->failed = seccomp_attr_set(f->ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
}

/* ---- made in a process of its own: without memory, libseccomp frees twice or loops for ever ---- */

struct made {
	unsigned denied;
	struct sock_filter program[BPF_MAXINSNS];
};

/* Write the number of rules and the kernel's program, and exit with 0 or an errno. */
static noreturn void make(int fd)
{
	struct filter f = { .ctx = seccomp_init(SCMP_ACT_ALLOW) };

	(void)alarm(MAKE_S);
	if (!f.ctx)
		_exit(ENOMEM);
	errno = 0;
	deny_all(&f);
	set_attributes(&f);
	if (f.failed == 0 && write(fd, &f.denied, sizeof f.denied) != (ssize_t)sizeof f.denied)
		f.failed = -errno;
	if (f.failed == 0)
		f.failed = seccomp_export_bpf(f.ctx, fd);
	/* libseccomp may have left out a rule, or made a wrong jump, for lack of memory; errno from malloc
	 * shows it. */
	if (f.failed == 0 && errno == ENOMEM)
		f.failed = -ENOMEM;
	_exit(-f.failed);
}

static size_t read_all(int fd, void *to, size_t room)
{
	size_t len = 0;
	ssize_t n;

	while (len < room && ((n = read(fd, (char *)to + len, room - len)) > 0 || (n < 0 && errno == EINTR)))
		len += n > 0 ? (size_t)n : 0;
	return len;
}

static enum cm_rc end_of(pid_t child, struct cm_err *err)
{
	int status = 0;

	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return cm_fail(err, CM_EUNAVAIL, "the process that makes the filter failed: %s",
				strerror(errno));
	if (status == 0)
		return CM_OK;
	return cm_fail(err, CM_EINTERNAL, "the filter cannot be made: %s",
		WIFEXITED(status) ? strerror(WEXITSTATUS(status)) : "libseccomp failed (out of memory?)");
}

static enum cm_rc made_by_another(struct made *out, size_t *len, struct cm_err *err)
{
	enum cm_rc rc;
	pid_t child;
	int fd[2];

	if (pipe(fd) != 0)
		return cm_fail(err, CM_EUNAVAIL, "no pipe to make the filter with: %s", strerror(errno));
	child = fork();
	if (child == 0)
		make(fd[1]);
	rc = child > 0 ? CM_OK
		       : cm_fail(err, CM_EUNAVAIL, "no process to make the filter in: %s", strerror(errno));
	(void)close(fd[1]);
	if (rc == CM_OK) {
		*len = read_all(fd[0], out, sizeof *out);
		rc = end_of(child, err);
	}
	(void)close(fd[0]);
	return rc;
}

/* Install the filter for all present threads. */
static enum cm_rc install(struct made *made, size_t len, struct cm_err *err)
{
	size_t bytes = len > offsetof(struct made, program) ? len - offsetof(struct made, program) : 0;
	const struct sock_fprog all = { (unsigned short)(bytes / sizeof made->program[0]), made->program };

	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &all) != 0)
		return cm_fail(err, CM_EUNAVAIL, "the kernel refuses the filter: %s", strerror(errno));
	return CM_OK;
}

enum cm_rc nt_confine_now(unsigned *denied, struct cm_err *err)
{
	struct made made;
	enum cm_rc rc;
	size_t len = 0;

	*denied = 0;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return cm_fail(err, CM_EUNAVAIL, "no_new_privs: %s", strerror(errno));
	rc = made_by_another(&made, &len, err);
	if (rc == CM_OK)
		rc = install(&made, len, err);
	if (rc == CM_OK)
		*denied = made.denied;
	return rc;
}

void nt_confine(enum cm_level level)
{
#ifdef TOMBOLA_SANITIZED
	cm_log(level, "system calls are not confined", CM_S("reason", "a build with a sanitizer"));
#else
	unsigned denied;
	struct cm_err err;

	if (nt_confine_now(&denied, &err) == CM_OK)
		cm_log(level, "system calls confined", CM_I("rules", denied));
	else
		cm_log(CM_LOG_WARN, "system calls are not confined", CM_S("reason", err.msg));
#endif
}
