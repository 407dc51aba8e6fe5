/*-------------------------------------------------------------------------
 *
 * order.c
 *	  What may be concluded from the order of an index.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_type.h"

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
		OidIsValid(collation) && !anago_collation_is_c(collation))
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
