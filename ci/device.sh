#!/bin/bash
# The emulated device: does it keep data, hold reads back, and go away?
#
#   ci/device.sh
#
# Needs root that may mount, FUSE and loop devices; is skipped where they are missing.

. "$(dirname "$0")/lib.sh"

if [ ! -e /dev/fuse ] || [ ! -e /dev/loop-control ] || [ -n "$(no_chroot)" ]; then
	echo "skipped device: needs root that may mount, FUSE and loop devices"
	exit 0
fi
need_packages python3 python3-venv gcc make fio "${device_packages[@]}"
export PYTHON=${PYTHON:-/usr/bin/python3}
logged "$ANAGO_CACHE/log/device-python.log" "$anago_root/bench/python" -c pass ||
	die "cannot install the Python parts"
exec "$anago_root/bench/python" "$anago_root/bench/device/selftest.py"
