/*
 * fuse_api.h
 *	  The one place that includes libfuse, with the version of its API.
 */
#ifndef FUSE_API_H
#define FUSE_API_H

#define FUSE_USE_VERSION 34
#include <fuse_lowlevel.h>

#endif							/* FUSE_API_H */
