/* cm_rc.h - result codes and the caller's error message.  libc only. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#define CM_CHECK        __attribute__((warn_unused_result))
#define CM_PRINTF(f, a) __attribute__((format(printf, f, a)))

/* Faults a caller may want to tell apart.  cm_exit_code() maps each to an exit code; doc/operations.md says
 * what an operator does about it. */
enum cm_rc {
	CM_OK = 0,
	CM_EMORE,     /* not a fault: the input ends inside an item, feed more */
	CM_EOTHER,    /* exit 1 */
	CM_EBUDGET,   /* exit 3: the privacy budget does not allow it */
	CM_EUSAGE,    /* exit 64: command line */
	CM_EDATA,     /* exit 65: a row, reading or record has invalid contents */
	CM_ENOINPUT,  /* exit 66: the input does not exist */
	CM_EUNAVAIL,  /* exit 69: a peer cannot be reached */
	CM_EINTERNAL, /* exit 70: a bug of this program, or out of memory */
	CM_ECREATE,   /* exit 73: cannot create a file */
	CM_EIO,       /* exit 74: reading or writing failed; after this nothing more is acknowledged */
	CM_ELATER,    /* exit 75: not now (too few reports, busy), or no longer (the deadline) */
	CM_EPROTO,    /* exit 76: a peer broke the protocol, or has the wrong role */
	CM_EPERM,     /* exit 77: certificate, signature, permission or policy */
	CM_ECONFIG,   /* exit 78: configuration or plan */
};

/* Owned by the caller; never NULL where a function takes one.  The function that finds the fault writes the
 * message, its callers may put context before it, and one place logs it.  Messages never hold a payload, a
 * key or a device. */
struct cm_err {
	enum cm_rc code;
	char msg[320];
	bool said; /* the message has been printed: no caller prints it again */
	/* Name of the setting that refuses, as its file has it ("min_batch"); a literal.  NULL: none does.
	 * Set by cm_fail and cm_fail_key. */
	const char *key;
};

/* Set *err and return code, so that the function that finds a fault can `return cm_fail(...)`. */
enum cm_rc cm_fail(struct cm_err *err, enum cm_rc code, const char *fmt, ...) CM_PRINTF(3, 4);
/* clang's analyzer does not see that cm_fail returns its second argument, and would treat failures as
 * successes. */
#ifdef __clang_analyzer__
#define cm_fail(err, code, ...) ((void)(cm_fail)((err), (code), __VA_ARGS__), (code))
#endif

/* The same for a refusal by a setting. */
enum cm_rc cm_fail_key(struct cm_err *err, enum cm_rc code, const char *key, const char *fmt, ...)
	CM_PRINTF(4, 5);
#ifdef __clang_analyzer__
#define cm_fail_key(err, code, key, ...) ((void)(cm_fail_key)((err), (code), (key), __VA_ARGS__), (code))
#endif

/* Put "fmt: " before the message; returns err->code. */
enum cm_rc cm_context(struct cm_err *err, const char *fmt, ...) CM_PRINTF(2, 3);

/* The exit code (sysexits and 3) of a result. */
int cm_exit_code(enum cm_rc rc);
