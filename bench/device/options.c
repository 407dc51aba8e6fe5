/*
 * options.c
 *	  What the command line says.
 */
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

static const char usage[] =
"usage: delayfs [OPTION]... IMAGE MOUNTPOINT\n"
"Serves the file IMAGE as MOUNTPOINT/disk, reads held back as by a slow,\n"
"parallel device; MOUNTPOINT/stats says what it did.  Ends when unmounted.\n"
"  --latency-us N    every read takes so long\n"
"  --reads-per-s N   at most so many reads start in a second\n"
"  --mb-per-s N      at most so many million bytes in a second\n"
"  --spindles N      a read occupies one of so many spindles ...\n"
"  --seek-us N       ... for so long\n"
"  --stripe-kib N    spindles are striped by so much (default 64)\n"
"  --path-us N       of a read's time, what is spent outside this program\n"
"  --tolerance-us N  replies are late that come later by more than this (default\n"
"                    50), and by more than a tenth of the read's time\n";

static const struct option names[] = {
	{"latency-us", required_argument, NULL, 'l'},
	{"reads-per-s", required_argument, NULL, 'r'},
	{"mb-per-s", required_argument, NULL, 'b'},
	{"spindles", required_argument, NULL, 's'},
	{"seek-us", required_argument, NULL, 'k'},
	{"stripe-kib", required_argument, NULL, 'u'},
	{"path-us", required_argument, NULL, 'p'},
	{"tolerance-us", required_argument, NULL, 't'},
	{NULL, 0, NULL, 0}
};

/* A number from 0 to a million; -1 for anything else. */
static long
number(const char *text)
{
	char	   *end;
	long		value = strtol(text, &end, 10);

	return *text != '\0' && *end == '\0' && value >= 0 && value <= 1000000
		? value : -1;
}

static void
set(int which, uint64_t value, Options *options, Model *model)
{
	switch (which)
	{
		case 'l':
			model->latency = value * 1000;
			break;
		case 'r':
			model->interval = value > 0 ? 1000000000 / value : 0;
			break;
		case 'b':
			model->per_kib = value > 0 ? 1024000 / value : 0;
			break;
		case 's':
			model->spindles = value;
			break;
		case 'k':
			model->seek = value * 1000;
			break;
		case 'u':
			model->stripe = value * 1024;
			break;
		case 'p':
			options->path = value * 1000;
			break;
		case 't':
			options->tolerance = value * 1000;
			break;
	}
}

/* Returns 0, or -1 after saying what is wrong. */
int
options_parse(int argc, char **argv, Options *options, Model *model)
{
	int			which;

	options->tolerance = 50000;
	model->stripe = 65536;
	while ((which = getopt_long(argc, argv, "", names, NULL)) != -1)
	{
		long		value = which == '?' ? -1 : number(optarg);

		if (value < 0)
		{
			fputs(usage, stderr);
			return -1;
		}
		set(which, value, options, model);
	}
	if (argc - optind != 2 || model->spindles > MAX_SPINDLES ||
		model->stripe == 0)
	{
		fputs(usage, stderr);
		return -1;
	}
	options->image = argv[optind];
	options->mountpoint = argv[optind + 1];
	return 0;
}
