#!/bin/bash
# make demo-clean: take away what make demo left: its data, the installed library
# and extension, the Python parts, and the account that its server ran as.
# Packages stay; apt removes those that you do not want.
#
# Takes the same variables as demo.sh.

. "$(dirname "$0")/../ci/lib.sh"

if [ -e "$ANAGO_DEMO_DIR/cluster/data/postmaster.pid" ]; then
	die "a server runs on $ANAGO_DEMO_DIR/cluster: stop it first"
fi
say "removing $ANAGO_DEMO_DIR and the Python parts"
rm -rf "$ANAGO_DEMO_DIR" "$anago_root/bench/.venv"

PG_CONFIG=${PG_CONFIG:-$("$anago_root/ci/pg.sh" config 15)}
if [ -x "$PG_CONFIG" ]; then
	need_server
	say "removing anago from $("$PG_CONFIG" --version)"
	build=$(mktemp -d /tmp/anago-build.XXXXXX)
	trap 'rm -rf "$build"' EXIT
	copy_sources "$build"
	logged "$ANAGO_CACHE/log/demo-clean.log" \
		make -s -C "$build" PG_CONFIG="$PG_CONFIG" uninstall || die "cannot uninstall anago"
fi

if [ "$(id -u)" = 0 ] && id "$ANAGO_USER" >/dev/null 2>&1; then
	say "removing the account $ANAGO_USER"
	userdel "$ANAGO_USER" || die "cannot remove the account $ANAGO_USER"
fi
