/*-------------------------------------------------------------------------
 *
 * ops.c
 *	  The operators that there are, and parts of them.
 *
 *	  unit.c	source: one row without columns
 *	  child.c	source: a core plan
 *	  btree/	step: probes of a B-tree index (btree/step.c)
 *	  btree/	step: the same of several tables (btree/append.c)
 *	  btree/	step of looks: the same of the partition that a new row goes to (btree/routed.c)
 *	  held.c	source and sink of looks: rows that are held back
 *	  old_row.c	step of looks: the row that an UPDATE is about to replace, and
 *	  old_tables.c	the tables that such rows are in
 *	  new_pages.c	the pages that new ones go to
 *	  emit.c	sink: the executor, rows in no order
 *	  retire.c	sink: the executor, rows in order
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "ops/module.h"
#include "ops/ops.h"

static const AnagoImplementation implementations[] = {
	{"unit_source", "unit", &anago_unit_kind},
	{"child_source", "child", &anago_child_kind},
	{"step", "btree", &anago_step_kind},
	{"append_step", "btree", &anago_append_kind},
	{"sink", "executor", &anago_emit_kind},
	{"ordered_sink", "executor", &anago_retire_kind},
	{"held_source", "held", &anago_held_source_kind},
	{"held_sink", "held", &anago_held_sink_kind},
	{"old_row", "heap", &anago_old_row_kind},
	{"routed_step", "btree", &anago_routed_kind},
	{"merged", "btree", &anago_merged_kind},
	{"range", "parent", &anago_range_parent},
	{"range", "right_links", &anago_range_right_links},
	{"heap_visit", "by_block", &anago_visit_by_block},
	{"heap_visit", "by_row", &anago_visit_by_row},
};

const AnagoOperatorModule anago_own_operators = {
	ANAGO_OPERATOR_MODULE("anago", implementations)
};
