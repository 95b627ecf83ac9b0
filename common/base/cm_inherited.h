/* cm_inherited.h - repairs what a program inherits from the process that started it.  libc only. */
#pragma once

/* Call it first.
 *
 * It opens something under the number of each closed standard stream, so that no file of the state gets
 * that number: output meant for the log would be written into it.  Reading and writing these streams fails
 * as before.  Ends the process if there is no /dev/null.
 *
 * It unblocks all signals, so that an orderly stop is possible.  It stops ignoring SIGCHLD: otherwise
 * nobody could wait for a child, and system calls would not be confined. */
void cm_inherited_mend(void);
