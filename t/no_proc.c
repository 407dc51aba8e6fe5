/*-------------------------------------------------------------------------
 *
 * no_proc.c
 *	  Nothing is in /proc; built and preloaded into a server by
 *	  074_balancer_places.pl.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

typedef FILE *(*Open) (const char *path, const char *mode);

FILE *
fopen(const char *path, const char *mode)
{
	Open		real = (Open) dlsym(RTLD_NEXT, "fopen");

	if (strncmp(path, "/proc/", 6) == 0)
	{
		errno = ENOENT;
		return NULL;
	}
	return real(path, mode);
}
