# anago: out-of-order execution of selective queries.
#
# The usual targets of a PostgreSQL extension (all, install, installcheck,
# clean) work on the server that PG_CONFIG names.  The others bring what they
# need by themselves: see CONTRIBUTING.md.

MODULE_big = anago
EXTENSION = anago
DATA = $(wildcard anago--*.sql)
PGFILEDESC = "anago - selective queries run out of order"

OBJS = $(patsubst %.c,%.o,$(sort $(wildcard src/*.c src/*/*.c src/*/*/*.c)))

# Order matters only for the first, which creates what the others use.
REGRESS = setup scan inorder order bounds lists join param partition security explain settings cursor \
	stats dml locking corner ahead looks firsts pruned changes routed moved ownindexes merges cascades toast parallel merged \
	columns onetime placeholder rowcmp memory demand partinner lateral turn skip dive risk operators disjunction arms why rival repeats lefton near device resources
REGRESS_OPTS = --load-extension=anago
ISOLATION = $(patsubst specs/%.spec,%,$(sort $(wildcard specs/*.spec)))
ISOLATION_OPTS = --load-extension=anago

EXTRA_CLEAN = $(OBJS:.o=.d) .built-for

PG_CONFIG ?= pg_config
PGXS := $(wildcard $(shell $(PG_CONFIG) --pgxs 2>/dev/null))

ifneq ($(PGXS),)
# What a header test says about a library: yes or nothing.
have_header = $(shell printf '\043include <$(1)>\n' | \
	$(CC) -E -x c - >/dev/null 2>&1 && echo yes)

# Can it compile and link with this option?  yes or nothing.
have_option = $(shell printf 'int anago;' | \
	$(CC) $(1) -shared -fPIC -x c - -o /dev/null >/dev/null 2>&1 && echo yes)

ifeq ($(call have_header,liburing.h),yes)
PG_CPPFLAGS += -DHAVE_LIBURING
SHLIB_LINK += -luring
else
$(info liburing not found: building without the uring method)
endif

ifeq ($(call have_header,numa.h),yes)
# (its header alone: it is loaded where it is wanted, see src/shared/worker_node.c)
PG_CPPFLAGS += -DHAVE_LIBNUMA
else
$(info libnuma not found: building without placement on memory nodes)
endif

# A row passes through five small functions of four files: inlined across files,
# a cached query takes as many instructions as stock's (docs/benchmarks.md).
ifeq ($(call have_option,-flto=auto),yes)
PG_CFLAGS += -flto=auto
endif

# What operator modules may call is called and inlined here as if they could not.
ifeq ($(call have_option,-fno-semantic-interposition),yes)
PG_CFLAGS += -fno-semantic-interposition
endif

# Planning comes to most of its calls of the server once: without a stub that is one
# line of code less to wait for.
ifeq ($(call have_option,-fno-plt),yes)
PG_CFLAGS += -fno-plt
endif
endif

PG_CPPFLAGS += -I$(srcdir)/src -MMD -MP
# -Wextra, without what PostgreSQL's own headers and callback types trigger.
PG_CFLAGS += -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare \
	-Wno-missing-field-initializers

# No bitcode: the executor is not inlined into expressions.  Headers are
# tracked by -MMD above, whatever the server was configured with.
override with_llvm := no
override autodepend :=

ifneq ($(PGXS),)
include $(PGXS)
else
# Without a server to build for, the usual targets say so.
.PHONY: all install uninstall installcheck check clean distclean
all install uninstall installcheck check clean distclean:
	@echo "anago: no server to build for: '$(PG_CONFIG) --pgxs' names no" \
		"makefile; set PG_CONFIG=/path/to/pg_config of the server, which on" \
		"Debian is in the package postgresql-server-dev-VERSION" >&2; exit 1
endif

ifneq ($(PGXS),)
-include $(wildcard $(OBJS:.o=.d))

# Objects of another server version or with other flags are built anew.
built_for := $(PG_CONFIG) $(shell $(PG_CONFIG) --version) $(PG_CPPFLAGS) $(COPT)
ifneq ($(built_for),$(file <.built-for))
$(file >.built-for,$(built_for))
endif
$(OBJS): .built-for

# Headers for libraries with operators of their own (docs/operators.md), in the
# folders that they name each other by.
module_headers := $(sort $(wildcard src/*.h src/ops/*.h src/ops/btree/*.h \
	src/pipeline/*.h src/sched/*.h src/shared/*.h) src/page/page.h src/page/waiter.h)
headers_to := $(DESTDIR)$(includedir_server)/extension/anago

.PHONY: install-headers uninstall-headers
install: install-headers
install-headers:
	$(MKDIR_P) $(addprefix '$(headers_to)'/,$(sort $(dir $(module_headers:src/%=%))))
	for h in $(module_headers:src/%=%); do \
		$(INSTALL_DATA) $(srcdir)/src/$$h '$(headers_to)'/$$h || exit; done

uninstall: uninstall-headers
uninstall-headers:
	rm -rf '$(headers_to)'
endif

# ---------------------------------------------------------------------------
# Two commands for a fresh Debian 12

.PHONY: demo demo-clean test
demo:
	demo/demo.sh

# What the demo left: its data, the account, the installed library
demo-clean:
	demo/clean.sh

test:
	ci/test.sh

# ---------------------------------------------------------------------------
# Parts of the test, and the long runs

.PHONY: check-style check-tap check-core check-concurrent check-sim \
	check-asan check-valgrind bench
check-style:
	ci/style.sh

# TAP tests against the server that PG_CONFIG names, or the assert build of 18
check-tap:
	ci/tap.sh

# PostgreSQL's own regression and isolation suites, anago forced on
check-core:
	ci/check-core.sh

# What processes of one query these two allow beside the leader
WORKERS ?= 3

# Queries against change, 10 minutes
check-concurrent:
	ci/long.sh concurrent 600 --workers $(WORKERS)

# Simulated reads in random order and with faults, 1,000 seeds
check-sim:
	ci/long.sh sim 1000 --workers $(WORKERS)

# The regression tests under AddressSanitizer
check-asan:
	ci/asan.sh

# The regression tests with the server under Valgrind
check-valgrind:
	ci/valgrind.sh

# A short form of all experiments; bench/page/index.html
bench:
	bench/bench.sh
