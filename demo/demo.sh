#!/bin/bash
# make demo: see anago run, on a fresh Debian 12, as root.
#
# Installs PostgreSQL 15 and what else is missing, builds and installs anago,
# makes a private cluster that runs as a non-root account, loads TPC-H at scale 1,
# and runs queries A-D with stock and with anago.  Nothing is left running.  The
# second time it finds its data; `make demo-clean` takes away what it left.
#
#   PG_CONFIG        another server than Debian's 15
#   ANAGO_DEMO_DIR   where the data are (see ci/lib.sh)
#   ANAGO_CACHE      where logs go

. "$(dirname "$0")/../ci/lib.sh"

begin=$SECONDS

need_server 15
if [ "$(id -u)" = 0 ]; then
	need_packages python3 python3-venv
	PYTHON=${PYTHON:-/usr/bin/python3}
	export PYTHON
fi
need_account

say "building anago for $("$PG_CONFIG" --version)"
build=$(mktemp -d /tmp/anago-build.XXXXXX)
trap 'rm -rf "$build"' EXIT
trap 'exit 130' INT TERM
install_anago "$build" "$ANAGO_CACHE/log/demo-build.log" || die "cannot build anago"
rm -rf "$build"

say "installing the Python parts (tpchgen-cli, psycopg, ...)"
logged "$ANAGO_CACHE/log/demo-python.log" "$anago_root/bench/python" -c pass ||
	die "cannot install the Python parts"

mkdir -p "$ANAGO_DEMO_DIR"
exec "$anago_root/bench/python" "$anago_root/demo/demo.py" \
	--begin $((SECONDS - begin)) --dir "$ANAGO_DEMO_DIR"
