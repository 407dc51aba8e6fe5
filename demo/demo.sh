#!/bin/bash
# make demo: see anago run, on a fresh Debian 12, as root.
#
# Installs PostgreSQL 15 and what else is missing, builds and installs anago,
# makes a private cluster in demo/work that runs as a non-root account, loads
# TPC-H at scale 1, and runs queries A-D with stock and with anago.  Nothing is
# left running.  The second time it finds its data in demo/work; delete that
# folder when you are done.
#
#   PG_CONFIG     another server than Debian's 15
#   ANAGO_CACHE   where logs go (see ci/lib.sh)

. "$(dirname "$0")/../ci/lib.sh"

begin=$SECONDS
work=$anago_root/demo/work

need_server 15
if [ "$(id -u)" = 0 ]; then
	need_packages python3 python3-venv
	PYTHON=${PYTHON:-/usr/bin/python3}
	export PYTHON
fi
need_account

say "building anago for $("$PG_CONFIG" --version)"
build=$(mktemp -d /tmp/anago-build.XXXXXX)
mount_point=
finish()
{
	rm -rf "$build"
	[ -z "$mount_point" ] || rmdir "$mount_point" 2>/dev/null || true
}
trap finish EXIT
copy_sources "$build"
logged "$ANAGO_CACHE/log/demo-build.log" \
	make -s -C "$build" -j"$ANAGO_JOBS" PG_CONFIG="$PG_CONFIG" || die "cannot build"
logged "$ANAGO_CACHE/log/demo-install.log" \
	make -s -C "$build" PG_CONFIG="$PG_CONFIG" install || die "cannot install"

say "installing the Python parts (tpchgen-cli, psycopg, ...)"
logged "$ANAGO_CACHE/log/demo-python.log" "$anago_root/bench/python" -c pass ||
	die "cannot install the Python parts"

# The server's account may not be able to come here (a checkout in /root), and
# a socket's path is at most 107 characters long.  Then the folder gets another
# name, in a mount name space that ends with us.
mkdir -p "$work"
demo=("$anago_root/bench/python" "$anago_root/demo/demo.py" --begin $((SECONDS - begin)))
if as_user test -x "$work" && [ ${#work} -lt 70 ]; then
	"${demo[@]}" --dir "$work"
else
	unshare --mount true 2>/dev/null || die "the account $ANAGO_USER cannot reach" \
		"$work, and this machine does not let me mount it elsewhere:" \
		"put the checkout into a folder that everybody may enter, like /srv"
	mount_point=$(mktemp -d /tmp/anago-demo.XXXXXX)
	chmod 755 "$mount_point"
	unshare --mount --propagation private /bin/bash -c \
		'mount --bind "$0" "$1" && shift && exec "$@"' \
		"$work" "$mount_point" "${demo[@]}" --dir "$mount_point"
fi
