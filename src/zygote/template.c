/* SPDX-License-Identifier: Apache-2.0 */
/* What every kind of zygote does first: go into a template. */
#include <sys/mman.h>
#include <sys/stat.h>

#include "zygote/zygote.h"

void *zygote_map_page(int fd, size_t size)
{
	struct stat st;
	if (fstat(fd, &st) < 0 || st.st_size != (off_t)size)
		return NULL;
	/* what is used at once is there without a fault */
	int flags = MAP_SHARED | MAP_POPULATE;
	void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, fd, 0);
	return page == MAP_FAILED ? NULL : page;
}

int zygote_raise_template(
	struct template_page *template, enum template_origin origin, struct err *err)
{
	struct raising raising = { .page = &template->base,
		.template = template,
		.is_born = origin == ORIGIN_BORN,
		.has_user_namespace = origin == ORIGIN_JOINED,
		.listener_fd = -1,
		.io_fd = -1,
		.life_fd = -1 };
	TRY(jail_check_template(template, err));
	return jail_walk(&raising, STAGE_TEMPLATE, err);
}
