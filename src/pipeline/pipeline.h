/*-------------------------------------------------------------------------
 *
 * pipeline.h
 *	  A pipeline while it runs, as the plan nodes see it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_PIPELINE_H
#define ANAGO_PIPELINE_H

#include "postgres.h"

#include "pipeline/state.h"

/*
 * anago_pipeline_begin opens indexes and compiles expressions (not with
 * EXEC_FLAG_EXPLAIN_ONLY); it reads no page.  anago_pipeline_next leaves a row in
 * pipeline->wide, valid until the next call, or returns false at the end.
 */
extern AnagoPipeline *anago_pipeline_begin(PlanState *ps, const AnagoPipelineDesc *desc,
										   PlanState *child, TupleTableSlot *wide,
										   int eflags);

/*
 * Before the first row of a scan: may it be that not all rows will be wanted, and
 * how many are at most (0: not known)?  Where there is a segment, that says so.
 */
extern void anago_pipeline_expect(AnagoPipeline *pipeline, bool may_stop,
								  int64 wanted);

static inline bool
anago_pipeline_is_new(const AnagoPipeline *pipeline)
{
	return !pipeline->started;
}

extern bool anago_pipeline_next(AnagoPipeline *pipeline);
extern void anago_pipeline_rescan(AnagoPipeline *pipeline);
extern void anago_pipeline_end(AnagoPipeline *pipeline);

/*
 * Of looks: read ahead for the rows that are held, and pull more while there is
 * room for them.  True: what the first one leads to has been read.  With `wait`
 * only where there is none left is that false; else it may be that what is
 * ready has been done.
 */
extern bool anago_pipeline_look(AnagoPipeline *pipeline, bool wait);

/*
 * Where some looks are late (ops/btree/late.h), these are put off by that.  Here all
 * that the rows which are held lead to is read, and no lock of a table is left.
 * No row may be pulled meanwhile: a child's code may wait for locks.
 */
extern void anago_pipeline_look_late(AnagoPipeline *pipeline);

/*
 * An error was raised by that, which the query is not to see: all but the rows
 * that are held is forgotten, and looks are over.  Pins are the caller's affair.
 */
extern void anago_pipeline_abandon(AnagoPipeline *pipeline);

/*
 * Run as a participant of a parallel query from the next start on.  A worker
 * publishes its counters, and goes on from those it finds there.
 */
extern void anago_pipeline_set_segment(AnagoPipeline *pipeline, AnagoSegment *segment,
									   AnagoPool *pool, int participant,
									   bool patient,
									   AnagoCounters *published);

/*
 * Be no participant any more: no more rows come until a rescan.
 * Shutdown: the segment goes, too.
 */
extern void anago_pipeline_leave(AnagoPipeline *pipeline);
extern void anago_pipeline_shutdown(AnagoPipeline *pipeline);

#endif							/* ANAGO_PIPELINE_H */
