# What the scripts of ci/, demo/ and t/ share.  Source it, do not run it.
#
#   $anago_root    the checkout
#   $ANAGO_CACHE   servers that were built, chroots, packages, logs
#   $ANAGO_USER    the account that servers run as when we are root
#   $ANAGO_DEMO_DIR   the cluster of the demo

set -euo pipefail

anago_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

if [ "$(id -u)" = 0 ]; then
	ANAGO_CACHE=${ANAGO_CACHE:-/var/cache/anago}
	ANAGO_USER=${ANAGO_USER:-anago-dev}
else
	ANAGO_CACHE=${ANAGO_CACHE:-$HOME/.cache/anago}
	ANAGO_USER=$(id -un)
fi
ANAGO_JOBS=${ANAGO_JOBS:-$(nproc)}
# Where the server's account can come, wherever the checkout is.
ANAGO_DEMO_DIR=${ANAGO_DEMO_DIR:-/var/tmp/anago-demo}
export ANAGO_CACHE ANAGO_USER ANAGO_JOBS

# Messages of servers, make and apt in plain English; our logs are read.
export LC_ALL=C DEBIAN_FRONTEND=noninteractive

# We may have been started by make; what we make is not part of that.
# (PostgreSQL's makefiles generate headers only where MAKELEVEL is 0.)
unset MAKELEVEL MAKEFLAGS MFLAGS MAKEOVERRIDES

# A container may run us with less than Debian's path.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

say()
{
	printf '%s\n' "$*" >&2
}

die()
{
	say "$(basename "$0"): $*"
	exit 1
}

# logged LOG COMMAND...: run quietly; on failure show the end of what it said.
logged()
{
	local log=$1 rc=0
	shift
	mkdir -p "$(dirname "$log")"
	"$@" >"$log" 2>&1 </dev/null || rc=$?
	if [ $rc != 0 ]; then
		say "failed ($rc): $*"
		say "--- the end of $log:"
		tail -n 25 "$log" >&2
		say "---"
	fi
	return $rc
}

# ---------------------------------------------------------------------------
# Packages

# have_packages NAME...: are all of them installed?
have_packages()
{
	local status
	status=$(dpkg-query -W -f '${db:Status-Status}\n' "$@" 2>/dev/null) || return 1
	! grep -qv '^installed$' <<<"$status"
}

# need_packages NAME...: install what is missing.
need_packages()
{
	have_packages "$@" && return 0
	[ "$(id -u)" = 0 ] || die "missing packages, install them as root: $*"
	say "installing packages: $*"
	logged "$ANAGO_CACHE/log/apt-update.log" \
		apt-get -q -o DPkg::Lock::Timeout=600 -o Acquire::Retries=3 update ||
		say "apt-get update failed; trying with the lists that are there"
	logged "$ANAGO_CACHE/log/apt-install.log" \
		apt-get -q -y -o DPkg::Lock::Timeout=600 -o Acquire::Retries=3 \
		install --no-install-recommends "$@" ||
		die "cannot install packages: $*"
}

# wish_packages NAME...: the same, where that is possible; tests do without.
wish_packages()
{
	have_packages "$@" || [ "$(id -u)" != 0 ] ||
		(need_packages "$@") || say "going on without: $*"
}

# The Debian mirror that this machine uses.
debian_mirror()
{
	local uri
	uri=$(first_mirror) || {
		apt-get -q update >/dev/null 2>&1 || true
		uri=$(first_mirror)
	} || die "no Debian mirror in this machine's apt configuration"
	printf '%s\n' "$uri"
}

first_mirror()
{
	apt-get indextargets --format '$(REPO_URI)' \
		'Created-By: Packages' 'Origin: Debian' 2>/dev/null |
		grep -v security | head -n 1 | grep .
}

# need_server VERSION: export PG_CONFIG; where it is not set, that version's,
# which is installed if it is missing.
need_server()
{
	if [ -z "${PG_CONFIG:-}" ]; then
		"$anago_root/ci/pg.sh" install "$1"
		PG_CONFIG=$("$anago_root/ci/pg.sh" config "$1")
	fi
	export PG_CONFIG
	[ -e "$("$PG_CONFIG" --pgxs 2>/dev/null)" ] ||
		die "'$PG_CONFIG --pgxs' names no makefile: set PG_CONFIG to the" \
			"pg_config of a server with its development package, or to nothing"
}

# What bench/device needs besides a compiler and fio.
device_packages=(pkg-config libfuse3-dev e2fsprogs btrfs-progs)

# ---------------------------------------------------------------------------
# The account that runs servers

need_account()
{
	[ "$(id -u)" = 0 ] || return 0
	id "$ANAGO_USER" >/dev/null 2>&1 ||
		useradd --system --user-group --home-dir /nonexistent --no-create-home \
			--shell /usr/sbin/nologin "$ANAGO_USER"
}

# as_user COMMAND...: run as the account of servers.
as_user()
{
	if [ "$(id -u)" = 0 ]; then
		HOME=/nonexistent USER=$ANAGO_USER LOGNAME=$ANAGO_USER \
			runuser -u "$ANAGO_USER" -- "$@"
	else
		"$@"
	fi
}

# own DIRECTORY...: give them to that account.
own()
{
	[ "$(id -u)" != 0 ] || chown -R "$ANAGO_USER:" "$@"
}

# Why there can be no chroot with a /proc of its own here, or nothing.
no_chroot()
{
	if [ "$(id -u)" != 0 ]; then
		echo "a chroot needs root"
	elif ! unshare --mount --pid --fork --kill-child \
		mount -t proc proc /proc 2>/dev/null; then
		echo "this machine does not let root mount (a container without privileges?)"
	elif ! chroot / true 2>/dev/null; then
		echo "this machine does not let root chroot"
	fi
}

# ---------------------------------------------------------------------------
# The checkout, and what it makes of a server

# copy_sources DIRECTORY: the checkout as it is now, without what was built.
# pg_regress goes no further where there is nothing to compare with: a test
# without expected output gets an empty one.
copy_sources()
{
	mkdir -p "$1"
	(
		cd "$anago_root"
		tar -cf - --exclude='*.o' --exclude='*.so' --exclude='*.d' \
			Makefile anago.control anago--*.sql src sql expected specs t ci README.md
	) | tar -C "$1" -xf -
	local sql out
	for sql in "$1"/sql/*.sql; do
		out=$1/expected/$(basename "$sql" .sql).out
		[ -e "$out" ] || : >"$out"
	done
}

# install_anago DIRECTORY LOG [MAKE-VARIABLE...]: copy the checkout there, build
# it for the server that PG_CONFIG names, and install it into that server.
install_anago()
{
	local directory=$1 log=$2
	shift 2
	copy_sources "$directory"
	# (a server built with ccache wants it for its extensions, too)
	CCACHE_DIR=$ANAGO_CACHE/ccache logged "$log" \
		make -s -C "$directory" -j"$ANAGO_JOBS" PG_CONFIG="$PG_CONFIG" "$@" install
}

# bad_log_lines LOG: what of a server's log must not be there.
bad_log_lines()
{
	local rule=$anago_root/ci/bad-log.txt
	grep -aE -f <(sed -n 's/^never //p' "$rule") "$1" |
		grep -avE -f <(sed -n 's/^fine //p' "$rule")
}

# clean_log LOG NAME: print "ok NAME" or "not ok NAME", and why.
clean_log()
{
	local bad
	if [ ! -e "$1" ]; then
		say "there is no $1"
	elif bad=$(bad_log_lines "$1"); then
		head -n 20 <<<"$bad" >&2
	else
		echo "ok $2"
		return 0
	fi
	echo "not ok $2"
	return 1
}
