/* SPDX-License-Identifier: Apache-2.0 */
/* What a clone that libc does not know of must put right in the new process. */
#include <errno.h>
#include <sys/prctl.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "interpreter/parts.h"

int thread_note_take(struct thread_note *ret_note, struct err *err)
{
	if (prctl(PR_GET_TID_ADDRESS, &ret_note->tid_at, 0, 0, 0) < 0 ||
		syscall(SYS_get_robust_list, 0, &ret_note->robust_list, &ret_note->robust_size) < 0)
		return err_sys(err, errno, "ask what the kernel knows of this thread");
	return 0;
}

void thread_note_restore(const struct thread_note *note)
{
	enum { RSEQ_SIZE = 32 }; /* of the first version: every later one accepts it */
	if (note->robust_list)
		(void)syscall(SYS_set_robust_list, note->robust_list, note->robust_size);
	/* a child with memory of its own has it already, and is told so */
	if (__rseq_size > 0)
		(void)syscall(SYS_rseq, (char *)__builtin_thread_pointer() + __rseq_offset,
			RSEQ_SIZE, 0, RSEQ_SIG);
}
