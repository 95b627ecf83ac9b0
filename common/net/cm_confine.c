/* cm_confine.c - the filter of system calls of a running daemon. */
#include "cm_confine.h"

#include <errno.h>
#include <linux/sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/socket.h>

/* Whatever their arguments.  Names that an architecture has not are passed over. */
static const char *const never[] = {
	/* other programs and processes */
	"execve", "execveat", "fork", "vfork", "ptrace", "process_vm_readv", "process_vm_writev",
	"process_madvise", "pidfd_getfd", "kcmp", "personality", "uselib",
	/* other users */
	"setuid", "setgid", "setreuid", "setregid", "setresuid", "setresgid", "setfsuid", "setfsgid",
	"setgroups", "setuid32", "setgid32", "setreuid32", "setregid32", "setresuid32", "setresgid32",
	"setfsuid32", "setfsgid32", "setgroups32", "capset",
	/* mounts, roots, namespaces, and files without a path */
	"mount", "umount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "fsopen", "fsconfig",
	"fsmount", "fspick", "mount_setattr", "setns", "unshare", "open_by_handle_at", "name_to_handle_at",
	/* the kernel itself */
	"kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "create_module",
	"bpf", "perf_event_open", "userfaultfd", "lookup_dcookie", "nfsservctl", "syslog", "add_key",
	"request_key", "keyctl", "io_uring_setup", "io_uring_enter", "io_uring_register",
	/* the machine */
	"swapon", "swapoff", "reboot", "acct", "quotactl", "quotactl_fd", "sethostname", "setdomainname",
	"vhangup", "iopl", "ioperm", "pciconfig_read", "pciconfig_write", "pciconfig_iobase", "modify_ldt",
	"vm86", "vm86old",
	/* its clock */
	"settimeofday", "stime", "clock_settime", "clock_settime64", "clock_adjtime", "clock_adjtime64",
	"adjtimex"
};

static const int families[] = { AF_UNIX, AF_INET, AF_INET6, AF_NETLINK };

struct filter {
	scmp_filter_ctx ctx;
	unsigned denied; /* rules that this architecture has */
	int failed;      /* the first error, negative */
};

static void deny(struct filter *f, const char *name, uint32_t action, const struct scmp_arg_cmp *when)
{
	int nr = seccomp_syscall_resolve_name(name), rc;

	if (nr < 0 && nr != __NR_SCMP_ERROR)
		return;
	rc = nr == __NR_SCMP_ERROR ? -EDOM
				   : seccomp_rule_add_array(f->ctx, action, nr, when != NULL ? 1 : 0, when);
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

/* One rule can look at an argument once: what lies between the allowed ones is denied one by one.  The kernel
 * reads the lower half of the register alone: bits of the upper one are "greater", and denied too. */
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
	/* Typing for the operator.  The kernel reads the lower half alone. */
	deny_if(f, "ioctl", SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, TIOCSTI));
	deny_sockets(f);
	deny_code(f);
}

/* Threads that are there already, and the search by halves instead of one by one. */
static void set_attributes(struct filter *f)
{
	if (f->failed == 0)
		f->failed = seccomp_attr_set(f->ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(EPERM));
	if (f->failed == 0)
		f->failed = seccomp_attr_set(f->ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (f->failed == 0)
		f->failed = seccomp_attr_set(f->ctx, SCMP_FLTATR_CTL_TSYNC, 1);
}

enum cm_rc cm_confine_now(unsigned *denied, struct cm_err *err)
{
	struct filter f = { .ctx = NULL };

	*denied = 0;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return cm_fail(err, CM_EUNAVAIL, "no_new_privs: %s", strerror(errno));
	f.ctx = seccomp_init(SCMP_ACT_ALLOW);
	if (f.ctx == NULL)
		return cm_fail(err, CM_EINTERNAL, "out of memory");
	deny_all(&f);
	if (f.failed < 0) {
		seccomp_release(f.ctx);
		return cm_fail(err, CM_EINTERNAL, "the filter cannot be made: %s", strerror(-f.failed));
	}
	set_attributes(&f);
	if (f.failed == 0)
		f.failed = seccomp_load(f.ctx);
	seccomp_release(f.ctx);
	if (f.failed < 0)
		return cm_fail(err, CM_EUNAVAIL, "the kernel refuses the filter: %s", strerror(-f.failed));
	*denied = f.denied;
	return CM_OK;
}

void cm_confine(enum cm_level level)
{
#ifdef TOMBOLA_SANITIZED
	cm_log(level, "system calls are not confined", CM_S("reason", "a build with a sanitizer"));
#else
	unsigned denied;
	struct cm_err err;

	if (cm_confine_now(&denied, &err) == CM_OK)
		cm_log(level, "system calls confined", CM_I("rules", denied));
	else
		cm_log(CM_LOG_WARN, "system calls are not confined", CM_S("reason", err.msg));
#endif
}
