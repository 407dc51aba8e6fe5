/*-------------------------------------------------------------------------
 *
 * guclist.c
 *	  Settings that are lists.  See guclist.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/pg_list.h"
#include "utils/guc.h"
#include "utils/varlena.h"

#include "guclist.h"

bool
anago_guclist_read(const char *setting, bool (*add) (void *to, const char *item), void *to)
{
	char	   *copy = pstrdup(setting);
	List	   *items;
	ListCell   *lc;
	bool		is_right = SplitGUCList(copy, ',', &items);

	if (!is_right)
		GUC_check_errdetail("List syntax is invalid.");
	else
		foreach(lc, items)
		{
			is_right = add(to, lfirst(lc));
			if (!is_right)
				break;
		}
	list_free(items);
	pfree(copy);
	return is_right;
}
