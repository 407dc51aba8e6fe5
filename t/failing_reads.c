/*-------------------------------------------------------------------------
 *
 * failing_reads.c
 *	  Reads by read-only descriptors fail, while there is a file "fail_reads" in
 *	  the data directory; built and preloaded into a server by
 *	  042_calibration_faults.pl.
 *
 * PostgreSQL itself opens files of relations for reading and writing, so that
 * read-only ones are those of a calibration.
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

typedef ssize_t (*Pread) (int fd, void *buf, size_t bytes, off_t offset);

ssize_t
pread(int fd, void *buf, size_t bytes, off_t offset)
{
	Pread		real = (Pread) dlsym(RTLD_NEXT, "pread");
	int			flags = fcntl(fd, F_GETFL);

	if (flags >= 0 && (flags & O_ACCMODE) == O_RDONLY &&
		access("fail_reads", F_OK) == 0)
	{
		errno = EIO;
		return -1;
	}
	return real(fd, buf, bytes, offset);
}
