/*
 * delayfs.h
 *	  Between files.c, which knows the file system's tree, and delayfs.c, which
 *	  knows the device.  All of it is called by the thread of the main loop.
 */
#ifndef DELAYFS_H
#define DELAYFS_H

#include "fuse_api.h"
#include "model.h"
#include "options.h"
#include "stats.h"

/* delayfs.c: each of the first three replies, now or later */
extern void disk_read(fuse_req_t fuse, size_t size, off_t offset);
extern void disk_write(fuse_req_t fuse, const char *data, size_t size,
					   off_t offset);
extern void disk_fallocate(fuse_req_t fuse, int mode, off_t offset,
						   size_t size);
extern uint64_t disk_size(void);
extern Stats *disk_stats(void);

/* files.c */
extern const struct fuse_lowlevel_ops file_operations;

#endif							/* DELAYFS_H */
