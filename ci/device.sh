#!/bin/bash
# The emulated device: does it keep data, hold reads back, and go away?
#
#   ci/device.sh
#
# Needs root, FUSE and loop devices; says so and passes where they are missing.

. "$(dirname "$0")/lib.sh"

if [ "$(id -u)" != 0 ] || [ ! -e /dev/fuse ] || [ ! -e /dev/loop-control ]; then
	echo "ok device: skipped: no root, no FUSE, or no loop devices"
	exit 0
fi
need_packages python3 python3-venv gcc make fio "${device_packages[@]}"
export PYTHON=${PYTHON:-/usr/bin/python3}
logged "$ANAGO_CACHE/log/device-python.log" "$anago_root/bench/python" -c pass ||
	die "cannot install the Python parts"
exec "$anago_root/bench/python" "$anago_root/bench/device/selftest.py"
