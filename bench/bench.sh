#!/bin/bash
# make bench: a short form of all experiments, on a fresh Debian 12, as root.
#
# Builds PostgreSQL 18 (once; it is kept) unless PG_CONFIG names a server,
# installs anago into it and what else is missing, loads TPC-H at scale 1, runs
# all experiments, and writes bench/page/index.html.  Nothing is left running;
# the data stay in ANAGO_BENCH_DIR (default /var/tmp/anago-bench): delete that
# folder when you are done.
#
#   bench/bench.sh [OPTION...]     options of bench/all.py

. "$(dirname "$0")/../ci/lib.sh"

need_server 18-release
need_packages fio "${device_packages[@]}"
if [ "$(id -u)" = 0 ]; then
	need_packages python3 python3-venv gcc make
	PYTHON=${PYTHON:-/usr/bin/python3}
	export PYTHON
fi
need_account

say "building anago for $("$PG_CONFIG" --version)"
build=$(mktemp -d /tmp/anago-build.XXXXXX)
trap 'rm -rf "$build"' EXIT
install_anago "$build" "$ANAGO_CACHE/log/bench-build.log" || die "cannot build anago"
rm -rf "$build"

say "installing the Python parts (tpchgen-cli, psycopg, matplotlib, ...)"
logged "$ANAGO_CACHE/log/bench-python.log" "$anago_root/bench/python" -c pass ||
	die "cannot install the Python parts"

exec "$anago_root/bench/python" "$anago_root/bench/all.py" "$@"
