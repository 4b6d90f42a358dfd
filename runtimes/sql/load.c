/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SQLite can load extensions from shared libraries; this runner cannot. The linker gives it this
 * function where it would call dlopen() (--wrap).
 */
void *__wrap_dlopen(const char *file, int mode);

void *__wrap_dlopen(const char *file, int mode)
{
	(void)file;
	(void)mode;
	return 0;
}
