/*-------------------------------------------------------------------------
 *
 * claim.h
 *	  Results of a test without a server, as TAP.  Its main() prints the plan,
 *	  "1..n", from ntests.
 *
 *-------------------------------------------------------------------------
 */
#ifndef CLAIM_H
#define CLAIM_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

static int	ntests = 0;
static int	nfailed = 0;

static void
claim(bool holds, const char *format,...)
{
	va_list		args;

	printf("%s %d - ", holds ? "ok" : "not ok", ++ntests);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	if (!holds)
		nfailed++;
}

#endif							/* CLAIM_H */
