/*-------------------------------------------------------------------------
 *
 * fault.c
 *	  Errors that looks meet.  See fault.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"

#include "node/fault.h"

bool
anago_fault_is_of_query(void)
{
	int			code = geterrcode();
	int			category = ERRCODE_TO_CATEGORY(code);

	return code == ERRCODE_OUT_OF_MEMORY ||
		category == ERRCODE_OPERATOR_INTERVENTION ||
		category == ERRCODE_TRANSACTION_ROLLBACK;
}

AnagoIdentity
anago_identity(void)
{
	AnagoIdentity now;

	GetUserIdAndSecContext(&now.user, &now.context);
	now.nest_level = GetCurrentTransactionNestLevel();
	return now;
}

bool
anago_identity_is(AnagoIdentity before)
{
	AnagoIdentity now = anago_identity();

	return now.user == before.user && now.context == before.context &&
		now.nest_level == before.nest_level;
}
