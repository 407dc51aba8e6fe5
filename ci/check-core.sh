#!/bin/bash
# make check-core: PostgreSQL 18's own regression and isolation suites on the
# assert build, anago forced on in every session.
#
#   ci/check-core.sh [MODE...]
#
# MODE is anago, sim (the same with simulated reads that complete in random
# order), parallel (anago with workers wherever they are allowed; these three
# are the default), or stock (without anago: what fails in this environment
# anyway).  With workers stock itself gives other plans and orders than its
# suites expect, so that parallel is also compared with what stock gives under
# the same settings (mode stock-parallel, run before it).  Differences are
# judged by ci/core_diff.py; each accepted one is in ci/core-accepted.txt with
# its reason.  Output of the suites is kept in
# $ANAGO_CACHE/core/MODE.  Prints "ok" and "not ok" lines and a summary.

. "$(dirname "$0")/lib.sh"

modes=${*:-anago sim parallel}
pg=$anago_root/ci/pg.sh
"$pg" install 18
need_packages python3
need_account
read -r source build <<<"$("$pg" source 18)"
PG_CONFIG=$("$pg" config 18)
bindir=$("$PG_CONFIG" --bindir)
port=5634

# One at a time: results have one place.
mkdir -p "$ANAGO_CACHE/core"
exec 9>"$ANAGO_CACHE/core/lock"
flock -n 9 || die "another check-core is at work in $ANAGO_CACHE/core"

# The library from the checkout as it is now.
sources=$(mktemp -d /tmp/anago-core.XXXXXX)
trap 'rm -rf "$sources"' EXIT
trap 'exit 130' INT TERM
install_anago "$sources" "$ANAGO_CACHE/log/core-build.log" || die "cannot build anago"

settings()
{
	cat <<-CONF
		max_prepared_transactions = 2
		fsync = off
	CONF
	[[ "$1" != *parallel ]] || cat <<-CONF
		max_worker_processes = 72
		max_parallel_workers = 64
		max_parallel_workers_per_gather = 2
		parallel_setup_cost = 0
		parallel_tuple_cost = 0
		min_parallel_table_scan_size = 0
		min_parallel_index_scan_size = 0
		debug_parallel_query = regress
	CONF
	[[ "$1" != stock* ]] || return 0
	cat <<-CONF
		shared_preload_libraries = 'anago'
		anago.enable = on
		anago.debug_force = on
	CONF
	[ "$1" != sim ] || cat <<-CONF
		anago.io_method = sim
		anago.sim_seed = 1
		anago.sim_hit_rate = 0.5
		anago.sim_delay = 8
	CONF
}

# regress_schedule MODE: core's, in the modes with workers with test vacuum in
# a line of its own.  Its VACUUM FULL pg_class holds that table exclusively and
# waits for each transaction that has put a row into it, as it checks that
# entries are unique; that such a transaction then wants pg_class again is a
# deadlock that core lives with.  A process that starts reads pg_class (its
# cache file has just been removed), and it waits in its leader's place: where
# every CREATE TABLE starts workers, stock meets that deadlock as well.
regress_schedule()
{
	local schedule=$source/src/test/regress/parallel_schedule

	if [[ "$1" = *parallel ]]; then
		sed '/^test: .* vacuum /{
			s/ vacuum / /
			a test: vacuum
		}' "$schedule"
	else
		cat "$schedule"
	fi
}

# suite MODE regress|isolation
suite()
{
	local mode=$1 suite=$2 out=$ANAGO_CACHE/core/$1/$2
	local input=$source/src/test/$suite program schedule options=()

	rm -rf "$out"
	mkdir -p "$out"
	settings "$mode" >"$out/settings.conf"
	own "$out"
	case $suite in
	regress)
		program=$build/src/test/regress/pg_regress
		schedule=$out/schedule
		regress_schedule "$mode" >"$schedule"
		options+=(--dlpath="$build/src/test/regress" --max-concurrent-tests=20)
		;;
	isolation)
		program=$build/src/test/isolation/pg_isolation_regress
		schedule=$input/isolation_schedule
		;;
	esac
	[[ "$mode" = stock* ]] || options+=(--load-extension=anago)
	say "=== $suite, $mode"
	# pg_isolation_regress looks for isolationtester beside itself
	(cd "$out" && PATH=$bindir:$PATH as_user "$program" --temp-instance="$out/instance" \
		--temp-config="$out/settings.conf" --bindir="$bindir" --port=$port \
		--inputdir="$input" --outputdir="$out" --schedule="$schedule" \
		--no-locale --encoding=UTF8 "${options[@]}") \
		>"$out/output.log" 2>&1 </dev/null 9>&- || true
	rm -rf "$out/instance"
}

# judge MODE regress|isolation
judge()
{
	local also=()

	[ "$1" != parallel ] || also=(--also "$ANAGO_CACHE/core/stock-parallel/$2/results")
	python3 "$anago_root/ci/core_diff.py" --suite "$2" --mode "$1" \
		--input "$source/src/test/$2" --output "$ANAGO_CACHE/core/$1/$2" \
		--accepted "$anago_root/ci/core-accepted.txt" "${also[@]}" || rc=1
	clean_log "$ANAGO_CACHE/core/$1/$2/log/postmaster.log" "$2 $1 server-log" || rc=1
}

rc=0
for mode in $modes; do
	case $mode in
	anago | sim | parallel | stock) ;;
	*) die "no such mode: $mode" ;;
	esac
	for suite in regress isolation; do
		[ "$mode" != parallel ] || suite stock-parallel "$suite"
		suite "$mode" "$suite"
		judge "$mode" "$suite"
	done
done
exit $rc
