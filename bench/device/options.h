/*
 * options.h
 *	  What the command line says.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdint.h>

#include "model.h"

typedef struct Options
{
	const char *image;			/* file that holds the device's contents */
	const char *mountpoint;
	uint64_t	path;			/* ns of each read spent outside this program */
	uint64_t	tolerance;		/* ns that any reply may be late */
} Options;

extern int	options_parse(int argc, char **argv, Options *options,
						  Model *model);

#endif							/* OPTIONS_H */
