/* cr_libcrypto.h - ends the process when libcrypto or libssl runs out of memory.
 *
 * The libraries do not report that memory ran out.  They call a key "unsupported" or a certificate's CA
 * "unknown", and treat an algorithm or public key that they could not load as missing until the process
 * ends.  A peer or a file would then be blamed, and a daemon would keep running that accepts no peer.  A
 * process that is restarted loses nothing. */
#pragma once

/* From now on a failed allocation of these libraries ends the process.  Call it first in main(): it has no
 * effect once the libraries have allocated memory. */
void cr_libcrypto_begin(void);
/* Mix the kernel's entropy into libcrypto's own generator, which libssl uses.  Call it before every
 * handshake, since a virtual machine may have been cloned or restored since the last one.  Takes some 5
 * microseconds. */
void cr_libcrypto_fresh(void);
/* Print one line on standard error and exit with code 70 at once; for a failure that cannot be returned to a
 * caller. */
_Noreturn void cr_libcrypto_die(const char *why);
