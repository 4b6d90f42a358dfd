/* SPDX-License-Identifier: Apache-2.0 */
#include "keeper/kit.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/own.h"
#include "keeper/zygote.h"

static int make(struct kit *kit, struct err *err)
{
	void *page = NULL;
	TRY(page_make(sizeof(*kit->page), &page, &kit->page_fd, err));
	kit->page = page;
	memset(page, 0, sizeof(*kit->page)); /* who touches it first waits for the kernel */
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, kit->gate_fds) < 0)
		return err_sys(err, errno, "make a socket pair");
	return 0;
}

int kit_make(struct kit *kit, struct err *err)
{
	int r = make(kit, err);
	if (r < 0)
		kit_done(kit);
	return r;
}

void kit_done(struct kit *kit)
{
	page_free(kit->page, sizeof(*kit->page));
	own_close(&kit->page_fd);
	own_close(&kit->gate_fds[0]);
	own_close(&kit->gate_fds[1]);
	*kit = KIT_NONE;
}
