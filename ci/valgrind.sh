#!/bin/bash
# make check-valgrind: the regression tests with the server under Valgrind.
#
#   ci/valgrind.sh [TEST...]        default: all tests of the Makefile
#
# Builds PostgreSQL 18 once more, from the source that ci/pg.sh has, for
# Valgrind: with USE_VALGRIND the server tells it about its memory contexts, and
# that a buffer must not be looked at without a pin.  Then runs the tests, and
# some queries with many reads by each of uring and pgaio, with every process of
# a private cluster under Valgrind.  Prints "ok NAME" or "not ok NAME" for each,
# for memory errors, and for the server's log.  Each kind of memory error is
# printed with its stack and with the query that it was in.
#
# An error counts whether or not our code is in its stack: the row that we hand
# on is read by others.  What is known of PostgreSQL itself is in its own list,
# src/tools/valgrind.supp.
#
# Takes 10 to 15 minutes on two busy cores, mostly in scan and join, and as much
# again to build the server the first time.
#
# What goes wrong is kept in $ANAGO_CACHE/log/valgrind.  Valgrind takes more
# options from VALGRIND_OPTS, for instance --track-origins=yes.

. "$(dirname "$0")/lib.sh"

time_limit=3000					# of the tests, in seconds
name=18-valgrind
prefix=$ANAGO_CACHE/pg$name
kept=$ANAGO_CACHE/log/valgrind

"$anago_root/ci/pg.sh" install 18
read -r source_dir _ <<<"$("$anago_root/ci/pg.sh" source 18)"
# configure and debug information want the true path
source_dir=$(readlink -f "$source_dir")
need_packages valgrind libc6-dbg

# ---------------------------------------------------------------------------
# The server

build_server()
{
	local build=$ANAGO_CACHE/build/$name

	[ ! -e "$prefix/.complete" ] || return 0
	say "building PostgreSQL $name (some minutes)"
	mkdir -p "$build"
	(
		cd "$build"
		export CCACHE_DIR=$ANAGO_CACHE/ccache
		[ -e config.status ] || logged "$ANAGO_CACHE/log/$name-configure.log" \
			"$source_dir/configure" --prefix="$prefix" --enable-debug \
			--enable-cassert --with-liburing --with-lz4 --with-zstd \
			CC="ccache gcc" \
			CFLAGS="-Og -g -fno-omit-frame-pointer -DUSE_VALGRIND" || exit 1
		logged "$ANAGO_CACHE/log/$name-build.log" \
			make -s -j"$ANAGO_JOBS" || exit 1
		logged "$ANAGO_CACHE/log/$name-install.log" make -s install || exit 1
	) || die "cannot build PostgreSQL $name"
	touch "$prefix/.complete"
}

build_server
PG_CONFIG=$prefix/bin/pg_config
work=$(mktemp -d /tmp/anago.XXXXXX)
port=5690

finish()
{
	local rc=$?
	if [ -e "$work/data/postmaster.pid" ]; then
		(cd / && as_user "$prefix/bin/pg_ctl" -D "$work/data" -m immediate -w stop) \
			>/dev/null 2>&1 || true
	fi
	rm -rf "$work"
	exit $rc
}
trap finish EXIT
trap 'exit 130' INT TERM

# What pg_ctl starts in place of postgres.  Paths in stacks are cut down to
# src/backend/... and anago/src/...
#
# No --error-exitcode: a backend that ends with one looks like a crash to the
# postmaster, which then takes everybody's session away.  We read the logs.
write_wrapper()
{
	cat >"$work/postgres" <<-END
		#!/bin/sh
		exec valgrind --quiet --leak-check=no --track-origins=no \\
			--trace-children=yes --num-callers=25 --time-stamp=no \\
			--error-limit=no --error-markers=BEGIN-ERROR,END-ERROR \\
			--fullpath-after='$work/' --fullpath-after='$source_dir/' \\
			--suppressions='$source_dir/src/tools/valgrind.supp' \\
			--log-file='$work/valgrind/%p.log' \\
			'$prefix/bin/postgres' "\$@"
	END
	chmod 755 "$work/postgres"
	mkdir "$work/valgrind"
}

# Few buffers, so that blocks have to be read again and again.
make_cluster()
{
	cd /
	as_user "$prefix/bin/initdb" -D "$work/data" -U postgres -A trust -E UTF8 \
		--locale=C --no-sync &&
		cat >>"$work/data/postgresql.conf" <<-CONF
			listen_addresses = ''
			port = $port
			unix_socket_directories = '$work'
			fsync = off
			shared_buffers = 4MB
			max_connections = 10
			max_wal_senders = 0
			autovacuum = off
			max_prepared_transactions = 4
		CONF
}

# start_server [OPTION...]: options of postgres
start_server()
{
	cd /
	as_user "$prefix/bin/pg_ctl" -D "$work/data" -l "$work/server.log" \
		-p "$work/postgres" -o "$*" -w -t 300 start
}

stop_server()
{
	cd /
	as_user "$prefix/bin/pg_ctl" -D "$work/data" -m fast -w -t 300 stop
}

# ---------------------------------------------------------------------------
# The run

run_tests()
{
	cd /
	PGHOST=$work PGPORT=$port PGUSER=postgres as_user timeout "$time_limit" \
		make -C "$work/anago" PG_CONFIG="$PG_CONFIG" ISOLATION= \
		${tests:+REGRESS="$tests"} installcheck
}

# Reads that really happen, in numbers, and are given up half way: by an error,
# by a time-out, by a LIMIT.  Prints t, then a plan.
read_much()
{
	cd /
	PGHOST=$work PGPORT=$port PGUSER=postgres as_user timeout 600 \
		"$prefix/bin/psql" -X -A -t -q postgres <<-'END'
			load 'anago';
			set client_min_messages = error;
			drop table if exists far;
			create extension if not exists anago;
			create table far as
				select i as a, repeat(md5(i::text), 40) as b, (i * 7919) % 12000 as c
				from generate_series(1, 12000) i;
			create index on far (a);
			create index on far (c);
			analyze far;
			set enable_seqscan = off;
			set enable_bitmapscan = off;
			set enable_hashjoin = off;
			set enable_mergejoin = off;
			select sum(x.a * y.c) as sum from far x join far y on x.c = y.a
				where x.c between 1000 and 3000 \gset
			set anago.enable = on;
			set anago.debug_force = on;
			select a / (a - 17) from far where c between 0 and 11000 and a / (a - 17) > 5;
			set statement_timeout = 200;
			select sum(x.a * y.c) from far x join far y on x.c = y.a;
			reset statement_timeout;
			select left(b, 0) from far where c between 100 and 9000 limit 1 offset 3;
			select sum(x.a * y.c) = :sum from far x join far y on x.c = y.a
				where x.c between 1000 and 3000;
			explain (analyze, costs off)
				select sum(a), max(b) from far where c between 5000 and 8000;
		END
}

# check_reads METHOD: were the rows right, and was that the method?
check_reads()
{
	local out=$work/reads-$1 ok=ok

	(read_much) >"$out" 2>&1 || ok="not ok"
	grep -q '^t$' "$out" && grep -q "method=$1 issued=[1-9]" "$out" || ok="not ok"
	echo "$ok valgrind reads-$1"
	[ "$ok" = ok ] || {
		cat "$out" >&2
		rc=1
	}
}

# Each kind of error once: those with the same stack are the same.  The server
# names the query behind the errors that it made.
print_errors()
{
	awk '
		FNR == 1 { unnamed = "" }
		{ sub(/^[=*]+[0-9]+[=*]+ ?/, "") }
		/BEGIN-ERROR/ { text = key = ""; inside = 1; next }
		/END-ERROR/ {
			inside = 0
			if (!(key in full)) {
				order[++kinds] = key
				full[key] = text
				unnamed = unnamed SUBSEP key
			}
			next
		}
		inside {
			text = text $0 "\n"
			# without addresses, of code and of data
			gsub(/0x[0-9A-Fa-f]+/, "")
			key = key $0
			next
		}
		/Valgrind detected/ {
			n = split(unnamed, keys, SUBSEP)
			for (i = 2; i <= n; i++)
				query[keys[i]] = $0
			unnamed = ""
			naming = n > 1
			next
		}
		# a query of several lines
		naming { for (i = 2; i <= n; i++) query[keys[i]] = query[keys[i]] "\n" $0 }
		END {
			for (i = 1; i <= kinds; i++) {
				key = order[i]
				printf "---\n%s%s\n\n", full[key], query[key]
			}
		}' "$work"/valgrind/*.log
}

tests=$*
need_account
write_wrapper
# Warnings are for installcheck.sh to find: with -Og, gcc has some of its own.
if ! install_anago "$work/anago" "$work/build.log"; then
	echo "not ok valgrind build"
	exit 1
fi
own "$work"
(logged "$work/initdb.log" make_cluster && logged "$work/start.log" start_server) || {
	tail -n 10 "$work/server.log" >&2 || true
	echo "not ok valgrind start"
	exit 1
}

rc=0
(run_tests) >"$work/check.log" 2>&1 || rc=$?
sed -nE 's/^(ok|not ok) +[0-9]+ +[-+] +([^ ]+).*/\1 valgrind \2/p' "$work/check.log"
if [ $rc != 0 ]; then
	grep -q '^not ok' "$work/check.log" || {
		echo "not ok valgrind installcheck"
		tail -n 25 "$work/check.log" >&2
	}
	[ ! -e "$work/anago/regression.diffs" ] || head -n 150 "$work/anago/regression.diffs" >&2
fi

check_reads uring
if grep -q 'anago cannot use I/O method "uring"' "$work/server.log"; then
	say "no io_uring on this machine"
	method=worker
else
	method=io_uring
fi
if (logged "$work/stop.log" stop_server) &&
	(logged "$work/start.log" start_server -c io_method=$method -c debug_io_direct=data); then
	check_reads pgaio
else
	echo "not ok valgrind reads-pgaio"
	rc=1
fi
(logged "$work/stop.log" stop_server) || {
	echo "not ok valgrind stop"
	rc=1
}

print_errors >"$work/errors"
if [ -s "$work/errors" ]; then
	cat "$work/errors" >&2
	echo "not ok valgrind memory-errors"
	rc=1
else
	echo "ok valgrind memory-errors"
fi

clean_log "$work/server.log" "valgrind server-log" || rc=1

if [ $rc != 0 ]; then
	rm -rf "$kept"
	mkdir -p "$kept"
	cp -r "$work/valgrind" "$work/errors" "$work/server.log" "$work/check.log" "$kept/"
	[ ! -e "$work/anago/regression.diffs" ] || cp "$work/anago/regression.diffs" "$kept/"
	say "kept in $kept"
fi
exit $rc
