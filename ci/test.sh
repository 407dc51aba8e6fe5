#!/bin/bash
# make test: everything that a change must pass, on a fresh Debian 12.
#
#   ci/test.sh [PART...]      parts: 15 18 17 19 tiny style selftest device tap
#                             tap15 tap17 tap19 sim concurrent
#
# Without arguments all of them.  Installs what is missing (ci/pg.sh), prints
# one line for each test: "ok NAME", "not ok NAME", or "skipped NAME: why" for
# what this machine cannot run.  Ends with a line "N passed, N failed", where
# ", N skipped" follows if something was.  The exit code is 0 if none failed.

. "$(dirname "$0")/lib.sh"

parts=${*:-15 18 17 19 tiny style selftest device tap tap15 tap17 tap19 sim concurrent}
short_seconds=60			# of the run against change
short_seeds=100				# of the simulator
results=$(mktemp /tmp/anago-results.XXXXXX)
trap 'rm -f "$results"' EXIT

# part NAME COMMAND...: collect "ok" and "not ok" lines.  A command that fails
# without naming a test that failed is a failure of its own.
part()
{
	local name=$1 rc=0 start=$SECONDS before
	shift
	say "=== $name"
	before=$(failed)
	"$@" | tee -a "$results" || rc=$?
	if [ $rc != 0 ] && [ "$(failed)" = "$before" ]; then
		echo "not ok $name (exit code $rc)" | tee -a "$results"
	fi
	say "=== $name: $((SECONDS - start)) s"
}

failed()
{
	grep -c '^not ok' "$results" || true
}

# at_version VERSION SCRIPT [ARGUMENT...]: a script of ci/ where that version
# is, here or in its chroot.
at_version()
{
	local version=$1 script=$2 root dir rc=0
	shift 2
	root=$("$anago_root/ci/pg.sh" place "$version")
	if [ -n "$root" ] && [ -n "$(no_chroot)" ]; then
		echo "skipped $version ${script%.sh}: $(no_chroot)"
		return
	fi
	if ! "$anago_root/ci/pg.sh" install "$version"; then
		echo "not ok PostgreSQL $version cannot be had on this machine"
		return 1
	fi
	if [ -z "$root" ]; then
		"$anago_root/ci/$script" "$@"
		return
	fi
	dir=$(mktemp -d "$root/tmp/anago-src.XXXXXX")
	copy_sources "$dir"
	chmod 755 "$dir"
	"$anago_root/ci/pg.sh" run "$version" "${dir#"$root"}/ci/$script" "$@" || rc=$?
	rm -rf "$dir"
	return $rc
}

# Build and installcheck on one version.
version()
{
	at_version "$1" installcheck.sh "$("$anago_root/ci/pg.sh" config "$1")"
}

# On versions that 18's TAP tests do not stand for: what depends on the server,
# faults and snapshots in several processes.
tap_of()
{
	PG_CONFIG=$("$anago_root/ci/pg.sh" config "$1") ANAGO_VARIANT=$1 \
		at_version "$1" tap.sh 010_parallel.pl 011_parallel_visibility.pl
}

# On 18 with queues and slots between processes as small as they can be.
tiny()
{
	"$anago_root/ci/pg.sh" install 18 &&
		ANAGO_VARIANT=tiny "$anago_root/ci/installcheck.sh" \
			"$("$anago_root/ci/pg.sh" config 18)" \
			"COPT=-Werror -DANAGO_TINY_BOUNDS"
}

for part in $parts; do
	case $part in
	15 | 17 | 18 | 19) part "PostgreSQL $part" version "$part" ;;
	tiny) part tiny tiny ;;
	style | selftest) part "$part" "$anago_root/ci/$part.sh" ;;
	device) part device "$anago_root/ci/device.sh" ;;
	tap) part tap env -u PG_CONFIG "$anago_root/ci/tap.sh" ;;
	tap15 | tap17 | tap19) part "$part" tap_of "${part#tap}" ;;
	concurrent) part concurrent "$anago_root/ci/long.sh" concurrent $short_seconds ;;
	sim) part sim "$anago_root/ci/long.sh" sim $short_seeds ;;
	*) die "no such part: $part" ;;
	esac
done

passed=$(grep -c '^ok' "$results" || true)
failed=$(failed)
skipped=$(grep -c '^skipped' "$results" || true)
[ "$failed$skipped" = 00 ] || {
	echo
	grep -E '^(not ok|skipped)' "$results"
}
summary="$passed passed, $failed failed"
[ "$skipped" = 0 ] || summary+=", $skipped skipped"
echo "$summary"
[ "$failed" = 0 ] && [ $((passed + skipped)) != 0 ]
