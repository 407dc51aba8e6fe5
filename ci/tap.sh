#!/bin/bash
# TAP tests: t/*.pl, with PostgreSQL's own test modules.
#
#   ci/tap.sh [FILE...]         default: all of t/[0-9]*.pl
#
#   PG_CONFIG       the server (default: the assert build of 18)
#   ANAGO_VARIANT   is added to the names of tests
#
# Each file makes its own clusters, as a non-root account.  Prints "ok", "not ok"
# and "skipped" lines; on failure logs are kept in $ANAGO_CACHE/tap.

. "$(dirname "$0")/lib.sh"

need_server 18
need_packages libipc-run-perl perl
wish_packages pgbouncer
need_account
tap=tap${ANAGO_VARIANT:+ $ANAGO_VARIANT}
modules=$(dirname "$("$PG_CONFIG" --pgxs)")/../../src/test/perl
regress=$(dirname "$("$PG_CONFIG" --pgxs)")/../../src/test/regress/pg_regress
[ -e "$modules/PostgreSQL/Test/Cluster.pm" ] ||
	die "$("$PG_CONFIG" --version) has no TAP test modules in $modules"

work=$(mktemp -d /tmp/anago-tap.XXXXXX)
kept=$ANAGO_CACHE/tap
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
install_anago "$work/src" "$ANAGO_CACHE/log/tap-build.log" COPT=-Werror ||
	die "cannot build anago"
mkdir "$work/run" "$work/tmp"
own "$work"

files=()
for file in "${@:-}"; do
	[ -z "$file" ] || files+=("t/$(basename "$file")")
done
[ ${#files[@]} -gt 0 ] || files=(t/[0-9]*.pl)

rc=0
for file in "${files[@]}"; do
	name=$(basename "$file" .pl)
	status=0
	(cd "$work/src" && PATH=$("$PG_CONFIG" --bindir):$PATH PG_REGRESS=$regress \
		TMPDIR=$work/tmp TESTDATADIR=$work/run TESTLOGDIR=$work/run/log PGPORT=5640 \
		as_user env -u INITDB_TEMPLATE perl -I "$modules" "$file") \
		>"$work/out" 2>"$work/err" </dev/null || status=$?
	sed -nE "s/^(ok|not ok) [0-9]+ - /\1 $tap $name: /p" "$work/out"
	if grep -q '^1\.\.0 # SKIP' "$work/out"; then
		echo "skipped $tap $name: $(sed -n 's/^1\.\.0 # SKIP //p' "$work/out")"
	elif [ $status != 0 ]; then
		rc=1
		grep -q '^not ok' "$work/out" || echo "not ok $tap $name: ended with $status"
		head -n 60 "$work/err" >&2
		tail -n 5 "$work/run/log/regress_log_$name" >&2 || true
		mkdir -p "$kept"
		rm -rf "${kept:?}/$name"
		cp -r "$work/run/log" "$kept/$name" 2>/dev/null || true
		say "logs: $kept/$name"
	fi
	rm -rf "$work/run"/*
done
exit $rc
