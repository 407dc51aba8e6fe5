/*-------------------------------------------------------------------------
 *
 * create.h
 *	  Parts of making a plan node out of an AnagoPath.
 *
 *-------------------------------------------------------------------------
 */
#ifndef ANAGO_CREATE_H
#define ANAGO_CREATE_H

#include "postgres.h"

#include "pipeline/desc.h"
#include "plan/paths.h"

/*
 * steps.c: describe a step.  `plans` are what core made of the step's index
 * paths.  One-time conditions that are the whole pipeline's are added to *gate.
 */
extern void anago_describe_step(PlannerInfo *root, AnagoStepDesc *desc,
								const AnagoPathStep *step, List *plans,
								List **gate);

/* The keys of a finished index condition, or one in the making. */
extern void anago_describe_keys(AnagoStepDesc *desc, List *indexqual);

/*
 * turn.c: what a hash join would take in place of a described step's probes.
 */
extern void anago_describe_turn(PlannerInfo *root, AnagoStepDesc *desc,
								const AnagoPathStep *step);

/*
 * prune.c: describe which of an Append's tables, for which there are `members`,
 * a row can have matches in.
 */
extern void anago_describe_pruning(PlannerInfo *root, AnagoPruneDesc *desc,
								   const Path *several, List *members);

/*
 * The same of a finished plan's Append, as it stands there.  `positions`: of each of its
 * plans the first member, or -1.
 */
extern void anago_describe_plan_pruning(AnagoPruneDesc *desc,
										const PartitionPruneInfo *info,
										const List *positions);

/*
 * wide.c: lay out the wide row of a pipeline whose steps are described, in
 * desc->columns, and make the expressions of the steps agree with it.
 * `output` are the expressions that the plan node must be able to compute,
 * `required` the relations whose columns core will replace by parameters,
 * `child` the plan of the source or NULL.  Returns custom_scan_tlist.
 */
extern List *anago_lay_out_wide_row(PlannerInfo *root, AnagoPipelineDesc *desc,
									List *path_steps, List *output,
									Relids required, const Plan *child);

#endif							/* ANAGO_CREATE_H */
