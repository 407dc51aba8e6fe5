#!/bin/bash
# Build anago and run its regression and isolation tests on one server.
#
#   ci/installcheck.sh PG_CONFIG [MAKE-VARIABLE...]
#
# Works on a copy of the checkout, in a cluster of its own that listens on a
# socket only, as a non-root account; all of it is gone at the end.  Prints one
# line "ok NAME" or "not ok NAME" for the build and for each test.  As root it
# installs anago into that server's directories.  ANAGO_VARIANT is added to the
# names.

. "$(dirname "$0")/lib.sh"

[ $# -ge 1 ] || die "usage: ci/installcheck.sh PG_CONFIG"
PG_CONFIG=$1
shift
need_server
version=$("$PG_CONFIG" --version | grep -o '[0-9]\+[^ ]*' | head -n 1)${ANAGO_VARIANT:+ $ANAGO_VARIANT}
bindir=$("$PG_CONFIG" --bindir)
work=$(mktemp -d /tmp/anago.XXXXXX)
port=5632

finish()
{
	local rc=$?
	if [ -e "$work/data/postmaster.pid" ]; then
		(cd / && as_user "$bindir/pg_ctl" -D "$work/data" -m immediate -w stop) \
			>/dev/null 2>&1 || true
	fi
	rm -rf "$work"
	exit $rc
}
trap finish EXIT
trap 'exit 130' INT TERM

# Print results of pg_regress: "ok 1 - scan" since 16, "test scan ... ok" before.
results()
{
	sed -nE -e 's/^(ok|not ok) +[0-9]+ +[-+] +([^ ]+).*/\1 '"$version"' \2/p' \
		-e 's/^(test)? +([^ ]+) +\.\.\. ok .*/ok '"$version"' \2/p' \
		-e 's/^(test)? *([^ ]+) +\.\.\. FAILED.*/not ok '"$version"' \2/p' "$1"
}

# Without autovacuum: expected plans must not depend on when it comes.
start_server()
{
	cd /
	as_user "$bindir/initdb" -D "$work/data" -U postgres -A trust -E UTF8 \
		--locale=C --no-sync &&
		cat >>"$work/data/postgresql.conf" <<-CONF &&
			listen_addresses = ''
			port = $port
			unix_socket_directories = '$work'
			fsync = off
			autovacuum = off
			max_prepared_transactions = 4
		CONF
		as_user "$bindir/pg_ctl" -D "$work/data" -l "$work/server.log" -w start
}

need_account
if install_anago "$work/src" "$work/build.log" COPT=-Werror "$@"; then
	echo "ok $version build"
else
	echo "not ok $version build"
	exit 1
fi
if grep -q 'not found: building without' "$work/build.log"; then
	grep 'not found: building without' "$work/build.log" | sort -u >&2
	echo "not ok $version libraries"
fi
own "$work"

logged "$work/start.log" start_server || {
	echo "not ok $version start"
	exit 1
}

rc=0
(cd / && PGHOST=$work PGPORT=$port PGUSER=postgres as_user \
	make -C "$work/src" PG_CONFIG="$PG_CONFIG" "$@" installcheck) \
	>"$work/check.log" 2>&1 || rc=$?
results "$work/check.log"
if [ -n "${ANAGO_RESULTS:-}" ]; then
	[ ! -d "$work/src/results" ] || cp -r "$work/src/results" "$ANAGO_RESULTS/regress"
	[ ! -d "$work/src/output_iso/results" ] ||
		cp -r "$work/src/output_iso/results" "$ANAGO_RESULTS/isolation"
fi
if [ $rc != 0 ]; then
	grep -q '^not ok\|FAILED' "$work/check.log" || {
		echo "not ok $version installcheck"
		tail -n 25 "$work/check.log" >&2
	}
	for diffs in "$work"/src/regression.diffs "$work"/src/output_iso/regression.diffs; do
		[ ! -e "$diffs" ] || head -n 150 "$diffs" >&2
	done
fi

# What a test does not see: a crash, or a leak that the server complains about.
clean_log "$work/server.log" "$version server-log" || rc=1
exit $rc
