/*-------------------------------------------------------------------------
 *
 * order.c
 *	  What may be concluded from the order of an index.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_database.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/syscache.h"

#include "compat.h"
#include "ops/btree/order.h"

/*
 * How the order of a type comes about.  Types that are not named here may
 * compare parts of other types, or text by the database's collation (jsonb).
 */
typedef enum TypeOrder
{
	ORDER_UNSURE,
	ORDER_FIXED,				/* by the value alone */
	ORDER_OF_NUMBERS,			/* the same, across types, too */
	ORDER_OF_CLOCK,				/* the same, but for a timestamptz */
	ORDER_OF_MOMENTS,
	ORDER_OF_TEXT				/* as its collation says */
} TypeOrder;

static TypeOrder
type_order(Oid type)
{
	switch (type)
	{
		case BOOLOID:
		case BYTEAOID:
		case CASHOID:
		case CHAROID:
		case INETOID:
		case INTERVALOID:
		case MACADDROID:
		case MACADDR8OID:
		case NUMERICOID:
		case OIDOID:
		case PG_LSNOID:
		case TIDOID:
		case TIMEOID:
		case TIMETZOID:
		case UUIDOID:
			return ORDER_FIXED;
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case FLOAT4OID:
		case FLOAT8OID:
			return ORDER_OF_NUMBERS;
		case DATEOID:
		case TIMESTAMPOID:
			return ORDER_OF_CLOCK;
		case TIMESTAMPTZOID:
			return ORDER_OF_MOMENTS;
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
		case NAMEOID:
			return ORDER_OF_TEXT;
		default:
			return ORDER_UNSURE;
	}
}

/*
 * Does a locale of a provider compare bytes?  Of libc's, those that are called
 * so; and all that are built in (17 and later).
 */
static bool
locale_is_c(char provider, const char *name)
{
	if (provider == 'b')
		return true;
	return provider == COLLPROVIDER_LIBC && name != NULL &&
		(strcmp(name, "C") == 0 || strcmp(name, "POSIX") == 0);
}

/* A catalog's column of a locale's name, or NULL. */
static char *
locale_name(int cacheid, HeapTuple tuple, AttrNumber attno)
{
	bool		isnull;
	Datum		name = SysCacheGetAttr(cacheid, tuple, attno, &isnull);

	return isnull ? NULL : TextDatumGetCString(name);
}

/* By the catalogs: core's function for it needs the headers of ICU. */
static bool
collation_is_c(Oid collation)
{
	bool		result = false;
	HeapTuple	tuple;

	if (collation == DEFAULT_COLLATION_OID)
	{
		tuple = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(MyDatabaseId));
		if (HeapTupleIsValid(tuple))
			result = locale_is_c(((Form_pg_database) GETSTRUCT(tuple))->datlocprovider,
								 locale_name(DATABASEOID, tuple,
											 Anum_pg_database_datcollate));
	}
	else
	{
		tuple = SearchSysCache1(COLLOID, ObjectIdGetDatum(collation));
		if (HeapTupleIsValid(tuple))
			result = locale_is_c(((Form_pg_collation) GETSTRUCT(tuple))->collprovider,
								 locale_name(COLLOID, tuple,
											 Anum_pg_collation_collcollate));
	}
	if (HeapTupleIsValid(tuple))
		ReleaseSysCache(tuple);
	return result;
}

bool
anago_order_is_sure(Relation indexrel, int col, Oid righttype, Oid procid,
					Oid opfuncid)
{
	Oid			collation = indexrel->rd_indcollation[col];
	TypeOrder	left = type_order(indexrel->rd_opcintype[col]);
	TypeOrder	right = type_order(righttype);

	if (procid >= FirstNormalObjectId || opfuncid >= FirstNormalObjectId ||
		left == ORDER_UNSURE)
		return false;
	if (left == ORDER_OF_TEXT &&
		OidIsValid(collation) && !collation_is_c(collation))
		return false;
	if (left == ORDER_FIXED)
		return righttype == indexrel->rd_opcintype[col];
	return left == right;
}

bool
anago_order_is_transitive(Oid a, Oid b, Oid c)
{
	if (a == b && b == c)
		return true;
	return a != TIMESTAMPTZOID && b != TIMESTAMPTZOID && c != TIMESTAMPTZOID;
}
