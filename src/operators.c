/*-------------------------------------------------------------------------
 *
 * operators.c
 *	  Which implementations there are of what a pipeline is made of.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "lib/stringinfo.h"
#include "parser/scansup.h"

#include "guc.h"
#include "operators.h"

static const struct
{
	const char *name;
	const char *own;			/* our implementation */
}			roles[ANAGO_ROLES] = {
	[ANAGO_ROLE_UNIT_SOURCE] = {"unit_source", "unit"},
	[ANAGO_ROLE_CHILD_SOURCE] = {"child_source", "child"},
	[ANAGO_ROLE_STEP] = {"step", "btree"},
	[ANAGO_ROLE_APPEND_STEP] = {"append_step", "btree"},
	[ANAGO_ROLE_SINK] = {"sink", "executor"},
	[ANAGO_ROLE_ORDERED_SINK] = {"ordered_sink", "executor"},
	[ANAGO_ROLE_RANGE] = {"range", "parent"},
	[ANAGO_ROLE_HEAP_VISIT] = {"heap_visit", "by_block"},
	[ANAGO_ROLE_HELD_SOURCE] = {"held_source", "held"},
	[ANAGO_ROLE_HELD_SINK] = {"held_sink", "held"},
	[ANAGO_ROLE_OLD_ROW] = {"old_row", "heap"},
	[ANAGO_ROLE_ROUTED_STEP] = {"routed_step", "btree"},
	[ANAGO_ROLE_MERGED] = {"merged", "btree"},
};

static const AnagoOperatorModule *own;
static AnagoOperators own_operators;

/* Roles for which a warning has been given, of the setting's value now. */
static uint32 warned = 0;

void
anago_operators_assigned(void)
{
	warned = 0;
}

/* --- what there is --- */

static bool
is_of_this_version(const AnagoOperatorModule *module)
{
	return module->version == ANAGO_OPERATORS_VERSION &&
		module->size == sizeof(AnagoOperatorModule) &&
		memcmp(module->sizes, own->sizes, sizeof(module->sizes)) == 0;
}

static const void *
look_in(const AnagoOperatorModule *module, AnagoRole role, const char *name)
{
	for (int i = 0; i < module->n; i++)
	{
		const AnagoImplementation *one = &module->implementations[i];

		if (strcmp(one->role, roles[role].name) == 0 && strcmp(one->name, name) == 0)
			return one->methods;
	}
	return NULL;
}

void
anago_operators_init(const AnagoOperatorModule *own_module)
{
	own = own_module;
	for (int role = 0; role < ANAGO_ROLES; role++)
		own_operators.methods[role] = look_in(own, role, roles[role].own);
}

static const AnagoOperatorModule *
first_module(void)
{
	return *(AnagoOperatorModule **) find_rendezvous_variable(ANAGO_OPERATORS_VARIABLE);
}

/* The methods of an implementation; NULL: it is not there. */
static const void *
look_up(AnagoRole role, const char *name)
{
	const void *methods = look_in(own, role, name);

	for (const AnagoOperatorModule *m = first_module(); m != NULL && methods == NULL;
		 m = m->next)
		if (is_of_this_version(m))
			methods = look_in(m, role, name);
	return methods;
}

static void
list_names(StringInfo to, const AnagoOperatorModule *module, AnagoRole role)
{
	for (int i = 0; i < module->n; i++)
		if (strcmp(module->implementations[i].role, roles[role].name) == 0)
			appendStringInfo(to, "%s\"%s\"", to->len > 0 ? ", " : "",
							 module->implementations[i].name);
}

/* Why there is none of that name, and what there is. */
static char *
missing_detail(AnagoRole role)
{
	StringInfoData names;
	StringInfoData detail;

	initStringInfo(&names);
	initStringInfo(&detail);
	list_names(&names, own, role);
	for (const AnagoOperatorModule *m = first_module(); m != NULL; m = m->next)
	{
		if (is_of_this_version(m))
			list_names(&names, m, role);
		else
			appendStringInfo(&detail, " Library \"%s\" was built for another version of anago.",
							 m->library);
	}
	return psprintf("There are: %s.%s", names.data, detail.data);
}

/* --- what is wanted --- */

typedef struct Wanted
{
	const char *name[ANAGO_ROLES];	/* NULL: our own */
} Wanted;

static char *
trim(char *text)
{
	char	   *end = text + strlen(text);

	while (end > text && scanner_isspace(end[-1]))
		*--end = '\0';
	while (scanner_isspace(*text))
		text++;
	return text;
}

static int
role_of(const char *name)
{
	int			role = 0;

	while (role < ANAGO_ROLES && strcmp(roles[role].name, name) != 0)
		role++;
	return role;
}

/* "role=name, ...", which is written into.  False: *problem says why not. */
static bool
read_wanted(char *text, Wanted *wanted, char **problem)
{
	char	   *rest = text;
	char	   *entry;

	memset(wanted, 0, sizeof(*wanted));
	if (*trim(text) == '\0')
		return true;
	while ((entry = strsep(&rest, ",")) != NULL)
	{
		char	   *name = entry;
		int			role;

		strsep(&name, "=");
		if (name == NULL)
		{
			*problem = psprintf("\"%s\" is not of the form \"role=implementation\".",
								trim(entry));
			return false;
		}
		role = role_of(trim(entry));
		if (role == ANAGO_ROLES)
		{
			*problem = psprintf("There is no role \"%s\".", trim(entry));
			return false;
		}
		wanted->name[role] = trim(name);
	}
	return true;
}

/* --- the setting --- */

/*
 * A file, or what is set for a role, may name what a library brings that is yet
 * to be loaded; who sets it in a session is told at once.
 */
static bool
must_be_there(GucSource source)
{
	return source >= PGC_S_INTERACTIVE && source != PGC_S_TEST &&
		!InitializingParallelWorker;
}

bool
anago_operators_check(char **newval, void **extra, GucSource source)
{
	Wanted		wanted;
	char	   *problem;

	if (!read_wanted(pstrdup(*newval), &wanted, &problem))
	{
		GUC_check_errdetail("%s", problem);
		return false;
	}
	for (int role = 0; role < ANAGO_ROLES && must_be_there(source); role++)
	{
		if (wanted.name[role] == NULL || look_up(role, wanted.name[role]) != NULL)
			continue;
		GUC_check_errdetail("There is no implementation \"%s\" of \"%s\". %s",
							wanted.name[role], roles[role].name, missing_detail(role));
		GUC_check_errhint("What a library brings is there once that is loaded, for example by \"session_preload_libraries\".");
		return false;
	}
	return true;
}

static void
warn_missing(AnagoRole role, const char *name)
{
	if ((warned & (1U << role)) == 0)
		ereport(WARNING,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("there is no implementation \"%s\" of \"%s\"; anago takes its own",
						name, roles[role].name),
				 errdetail("%s", missing_detail(role)),
				 errhint("What a library brings is there once that is loaded, for example by \"session_preload_libraries\".")));
	warned |= 1U << role;
}

char *
anago_operators_choose(void)
{
	StringInfoData chosen;
	Wanted		wanted;
	char	   *problem;

	if (anago_operators[0] == '\0' ||
		!read_wanted(pstrdup(anago_operators), &wanted, &problem))
		return NULL;
	initStringInfo(&chosen);
	for (int role = 0; role < ANAGO_ROLES; role++)
	{
		const char *name = wanted.name[role];

		if (name == NULL || strcmp(name, roles[role].own) == 0)
			continue;
		if (look_up(role, name) == NULL)
			warn_missing(role, name);
		else
			appendStringInfo(&chosen, "%s%s=%s", chosen.len > 0 ? ", " : "",
							 roles[role].name, name);
	}
	return chosen.len > 0 ? chosen.data : NULL;
}

void
anago_operators_find(const char *chosen, AnagoOperators *operators)
{
	Wanted		wanted = {0};
	char	   *problem;

	*operators = own_operators;
	if (chosen != NULL && !read_wanted(pstrdup(chosen), &wanted, &problem))
		elog(ERROR, "invalid choice of operators \"%s\": %s", chosen, problem);
	for (int role = 0; role < ANAGO_ROLES; role++)
	{
		const char *name = wanted.name[role];

		if (name == NULL)
			continue;
		operators->methods[role] = look_up(role, name);
		if (operators->methods[role] == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_OBJECT),
					 errmsg("there is no implementation \"%s\" of \"%s\" in this process",
							name, roles[role].name),
					 errdetail("%s", missing_detail(role))));
	}
}
