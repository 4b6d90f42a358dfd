/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "bench.h"

enum { PLAN_MAX = 1 << 20, EVERY_MAX = 1000000 };

static int read_contender(
	struct bench *bench, struct contender *contender, char *line, struct err *err)
{
	char *rest = line;
	contender->name = strsep(&rest, "\t");
	const char *every = strsep(&rest, "\t");
	const char *socket = strsep(&rest, "\t");
	const char *kind = strsep(&rest, "\t");
	while (rest && contender->word_count + 1 < WORDS_MAX)
		contender->words[contender->word_count++] = strsep(&rest, "\t");
	contender->every = every ? strtol(every, NULL, 10) : 0;
	contender->kind = kind_find(kind ? kind : "");
	if (rest || !contender->kind || contender->every < 1 || contender->every > EVERY_MAX ||
		contender->word_count < kind_least_words(contender->kind))
		return err_set(err, ERR_INVALID, "plan: bad line for '%s'", contender->name);
	/* whoever lends not is a finding, as everything is that fails from here on */
	if (strcmp(socket, "-") != 0)
		(void)lender_find(bench, socket, &contender->lender, &contender->failure);
	return 0;
}

int plan_read(struct bench *bench, const char *path, struct err *err)
{
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	buf_init(&bench->plan, PLAN_MAX);
	int r = fd < 0 ? -errno : buf_read(&bench->plan, fd);
	if (r < 0)
		return err_sys(err, -r, "read '%s'", path);
	char *rest = bench->plan.data;
	for (char *line = strsep(&rest, "\n"); line && *line; line = strsep(&rest, "\n")) {
		if (bench->count == CONTENDERS_MAX)
			return err_set(err, ERR_LIMIT, "plan: over %d lines", CONTENDERS_MAX);
		TRY(read_contender(bench, &bench->contenders[bench->count++], line, err));
	}
	if (bench->count == 0)
		return err_set(err, ERR_INVALID, "plan: nobody takes part");
	for (size_t i = 0; i < bench->count; i++)
		contender_open(bench, &bench->contenders[i]);
	return 0;
}

void plan_done(struct bench *bench)
{
	for (size_t i = 0; i < bench->count; i++)
		contender_close(&bench->contenders[i]);
	for (size_t i = 0; i < bench->lender_count; i++)
		lender_close(&bench->lenders[i]);
	buf_done(&bench->plan);
}
