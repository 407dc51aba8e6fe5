/*-------------------------------------------------------------------------
 *
 * extension.c
 *	  What belongs to the extension in this process's database.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_language_d.h"
#include "catalog/pg_proc.h"
#include "commands/extension.h"
#include "utils/catcache.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "extension.h"

/* The function that it is known by: every version has it, with these arguments. */
#define MARK_NAME		"anago_stats_reset"
#define MARK_NARGS		0

Oid
anago_extension_mark(void)
{
	CatCList   *list = SearchSysCacheList1(PROCNAMEARGSNSP, CStringGetDatum(MARK_NAME));
	Oid			result = InvalidOid;

	for (int i = 0; i < list->n_members && !OidIsValid(result); i++)
	{
		Form_pg_proc proc = (Form_pg_proc) GETSTRUCT(&list->members[i]->tuple);

		if (proc->prolang == ClanguageId && proc->pronargs == MARK_NARGS)
			result = proc->oid;
	}
	ReleaseSysCacheList(list);
	return result;
}

Oid
anago_extension_member(Oid classid, bool (*wanted) (Oid objid))
{
	Oid			extension = get_extension_oid("anago", true);
	Relation	depend;
	ScanKeyData key[2];
	SysScanDesc scan;
	HeapTuple	tuple;
	Oid			result = InvalidOid;

	if (!OidIsValid(extension))
		return InvalidOid;
	depend = table_open(DependRelationId, AccessShareLock);
	ScanKeyInit(&key[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(ExtensionRelationId));
	ScanKeyInit(&key[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(extension));
	scan = systable_beginscan(depend, DependReferenceIndexId, true, NULL, 2, key);
	while (!OidIsValid(result) && HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_depend member = (Form_pg_depend) GETSTRUCT(tuple);

		if (member->classid == classid &&
			member->deptype == DEPENDENCY_EXTENSION &&
			wanted(member->objid))
			result = member->objid;
	}
	systable_endscan(scan);
	table_close(depend, AccessShareLock);
	return result;
}
