/*-------------------------------------------------------------------------
 *
 * no_descriptors.c
 *	  No descriptor is left for hint reads; built and preloaded into a server
 *	  by 015_descriptors.pl.
 *
 * PostgreSQL itself opens files of relations for reading and writing, so that
 * read-only ones are those for hint reads.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/types.h>

typedef int (*Open) (const char *path, int flags, mode_t mode);

int
open(const char *path, int flags,...)
{
	Open		real = (Open) dlsym(RTLD_NEXT, "open");
	mode_t		mode = 0;
	va_list		args;

	if (strncmp(path, "base/", 5) == 0 && (flags & O_ACCMODE) == O_RDONLY &&
		(flags & O_CLOEXEC))
	{
		errno = EMFILE;
		return -1;
	}
	va_start(args, flags);
	if (flags & O_CREAT)
		mode = va_arg(args, mode_t);
	va_end(args);
	return real(path, flags, mode);
}
