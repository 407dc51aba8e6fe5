/*
 * memory.h
 *	  The image's contents, held in memory as far as there is room for them.
 */
#ifndef MEMORY_H
#define MEMORY_H

#include <stdint.h>
#include <sys/types.h>

extern void memory_hold_image(int image_fd, uint64_t image_size);
extern void memory_hold(off_t offset, size_t size);

#endif							/* MEMORY_H */
