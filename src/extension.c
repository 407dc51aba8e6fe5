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
#include "commands/extension.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"

#include "extension.h"

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
			(wanted == NULL || wanted(member->objid)))
			result = member->objid;
	}
	systable_endscan(scan);
	table_close(depend, AccessShareLock);
	return result;
}
