/* cm_inherited.h - what a program has from whoever started it, put in order.  libc only. */
#pragma once

/* Call it first.
 *
 * Standard streams that are closed get their numbers taken, so that no file of the state gets one: what is
 * meant for the log would be written into it.  Reading and writing them fails as before.  Ends the process
 * where there is no /dev/null.
 *
 * No signal is blocked: an orderly stop is possible.  The end of a child is told: where it is ignored, nobody
 * can wait for one, and system calls are not confined. */
void cm_inherited_mend(void);
