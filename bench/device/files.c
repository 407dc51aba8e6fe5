/*
 * files.c
 *	  The file system's tree: /disk, the device; /stats, what it did.
 *
 * Reading /stats gives a line of JSON; writing anything to it resets the
 * counts.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "delayfs.h"

#define ROOT			FUSE_ROOT_ID
#define DISK			2
#define STATS			3

/* Reads under way at once, as far as the kernel is concerned. */
#define IN_FLIGHT_MAX	8192

/* Nothing of the tree ever changes. */
#define VALID_S			86400.0

static void
ops_init(void *unused, struct fuse_conn_info *connection)
{
	(void) unused;
	connection->want |= connection->capable & FUSE_CAP_ASYNC_DIO;
	connection->want &= ~(FUSE_CAP_SPLICE_READ | FUSE_CAP_SPLICE_WRITE |
						  FUSE_CAP_SPLICE_MOVE);
	connection->max_background = IN_FLIGHT_MAX;
	connection->congestion_threshold = IN_FLIGHT_MAX;
}

/* Returns false if there is no such file. */
static bool
attributes(fuse_ino_t inode, struct stat *status)
{
	*status = (struct stat) {
		.st_ino = inode, .st_nlink = 1, .st_blksize = 4096
	};
	switch (inode)
	{
		case ROOT:
			status->st_mode = S_IFDIR | 0755;
			status->st_nlink = 2;
			return true;
		case DISK:
			status->st_mode = S_IFREG | 0600;
			status->st_size = disk_size();
			return true;
		case STATS:
			status->st_mode = S_IFREG | 0644;
			return true;
	}
	return false;
}

static void
ops_lookup(fuse_req_t request, fuse_ino_t parent, const char *name)
{
	struct fuse_entry_param entry = {
		.attr_timeout = VALID_S, .entry_timeout = VALID_S
	};

	if (parent == ROOT && strcmp(name, "disk") == 0)
		entry.ino = DISK;
	else if (parent == ROOT && strcmp(name, "stats") == 0)
		entry.ino = STATS;
	if (attributes(entry.ino, &entry.attr))
		fuse_reply_entry(request, &entry);
	else
		fuse_reply_err(request, ENOENT);
}

static void
ops_getattr(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *file)
{
	struct stat status;

	(void) file;
	if (attributes(inode, &status))
		fuse_reply_attr(request, &status, VALID_S);
	else
		fuse_reply_err(request, ENOENT);
}

/* Sizes and times don't change; O_TRUNC on /stats must not fail. */
static void
ops_setattr(fuse_req_t request, fuse_ino_t inode, struct stat *status,
			int which, struct fuse_file_info *file)
{
	(void) status;
	(void) which;
	ops_getattr(request, inode, file);
}

static size_t
add_entry(fuse_req_t request, char *list, size_t used, size_t room,
		  const char *name, fuse_ino_t inode)
{
	struct stat status;

	attributes(inode, &status);
	return used + fuse_add_direntry(request, list + used, room - used, name,
									&status, inode);
}

/* All of the directory at once. */
static void
ops_readdir(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset,
			struct fuse_file_info *file)
{
	char		list[256];
	size_t		used = 0;

	(void) inode;
	(void) file;
	if (offset == 0 && size >= sizeof(list))
	{
		used = add_entry(request, list, used, sizeof(list), "disk", DISK);
		used = add_entry(request, list, used, sizeof(list), "stats", STATS);
	}
	fuse_reply_buf(request, list, used);
}

/* Nothing is cached by the kernel at this level: ext4 above does that. */
static void
ops_open(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *file)
{
	(void) inode;
	file->direct_io = 1;
	fuse_reply_open(request, file);
}

static void
ops_read(fuse_req_t request, fuse_ino_t inode, size_t size, off_t offset,
		 struct fuse_file_info *file)
{
	char		text[STATS_TEXT_MAX];
	size_t		length;

	(void) file;
	if (inode == DISK)
	{
		disk_read(request, size, offset);
		return;
	}
	length = stats_text(disk_stats(), text);
	if ((size_t) offset >= length)
		fuse_reply_buf(request, NULL, 0);
	else
		fuse_reply_buf(request, text + offset,
					   size < length - offset ? size : length - offset);
}

static void
ops_write(fuse_req_t request, fuse_ino_t inode, const char *data, size_t size,
		  off_t offset, struct fuse_file_info *file)
{
	(void) file;
	if (inode == DISK)
	{
		disk_write(request, data, size, offset);
		return;
	}
	*disk_stats() = (Stats) {.lost = disk_stats()->lost};
	fuse_reply_write(request, size);
}

static void
ops_fallocate(fuse_req_t request, fuse_ino_t inode, int mode, off_t offset,
			  off_t length, struct fuse_file_info *file)
{
	(void) file;
	if (inode == DISK)
		disk_fallocate(request, mode, offset, length);
	else
		fuse_reply_err(request, EOPNOTSUPP);
}

/* See delayfs.c: the contents need not outlive a crash of the machine. */
static void
ops_fsync(fuse_req_t request, fuse_ino_t inode, int datasync,
		  struct fuse_file_info *file)
{
	(void) inode;
	(void) datasync;
	(void) file;
	fuse_reply_err(request, 0);
}

static void
ops_flush(fuse_req_t request, fuse_ino_t inode, struct fuse_file_info *file)
{
	ops_fsync(request, inode, 0, file);
}

const struct fuse_lowlevel_ops file_operations = {
	.init = ops_init,
	.lookup = ops_lookup,
	.getattr = ops_getattr,
	.setattr = ops_setattr,
	.readdir = ops_readdir,
	.open = ops_open,
	.read = ops_read,
	.write = ops_write,
	.fallocate = ops_fallocate,
	.fsync = ops_fsync,
	.flush = ops_flush,
};
