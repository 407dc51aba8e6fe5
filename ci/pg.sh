#!/bin/bash
# PostgreSQL servers to build and test against.
#
#   ci/pg.sh install VERSION...     make them ready; what is there is kept
#   ci/pg.sh config VERSION         print the path of pg_config
#   ci/pg.sh run VERSION COMMAND... run where that server is: here, or in its
#                                   chroot (as root; paths are the chroot's)
#   ci/pg.sh place VERSION          print the root directory of that: / or the chroot
#   ci/pg.sh source 18              print the source and the build directory of 18
#
# VERSION is one of
#
#   15           Debian 12's package
#   17           Debian 13's package, in a chroot
#   18           built from Debian's source package: assertions, TAP tests,
#                liburing, injection points
#   18-release   the same source with -O2 and without assertions, for figures
#   18-asan      the same with AddressSanitizer
#   19           the package of Debian's experimental suite, in a chroot
#
# Everything but packages goes below $ANAGO_CACHE (see ci/lib.sh).  The mirror
# is the one that this machine's apt uses.  Needs root for packages and chroots.

. "$(dirname "$0")/lib.sh"

common_packages="gcc make libc6-dev pkg-config liburing-dev libnuma-dev"
build_packages="$common_packages ccache bison flex perl libipc-run-perl dpkg-dev
	bzip2 xz-utils libreadline-dev zlib1g-dev libicu-dev liblz4-dev libzstd-dev"

# A mirror may be a snapshot some weeks old: signed, but past its date.
apt_options="-q -o Acquire::Retries=3 -o Acquire::Check-Valid-Until=false"

source_dir=$ANAGO_CACHE/src/postgresql-18
chroot_base=$ANAGO_CACHE/chroot

# ---------------------------------------------------------------------------
# 15: the package, without the cluster that it makes and starts on install

install_package_15()
{
	local keep=/etc/postgresql-common/createcluster.d/anago.conf

	have_packages postgresql-15 postgresql-server-dev-15 && {
		need_packages $common_packages
		return
	}
	need_packages $common_packages postgresql-common
	mkdir -p "$(dirname $keep)"
	echo 'create_main_cluster = false' >$keep
	need_packages postgresql-15 postgresql-server-dev-15
	rm -f $keep
}

# ---------------------------------------------------------------------------
# 18: from source

# Get the newest source package of 18 from the first suite that has one.
fetch_source()
{
	local apt=$ANAGO_CACHE/apt suite options

	[ ! -e "$source_dir/configure" ] || return 0
	mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/source"
	options=(-o Dir::Etc::sourcelist="$apt/sources.list" -o Dir::Etc::sourceparts=-
		-o Dir::State::lists="$apt/lists")
	for suite in forky sid; do
		say "looking for the source of PostgreSQL 18 in $suite"
		echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]" \
			"$(debian_mirror) $suite main" >"$apt/sources.list"
		logged "$ANAGO_CACHE/log/source-update.log" \
			apt-get $apt_options "${options[@]}" update || continue
		(cd "$apt/source" && logged "$ANAGO_CACHE/log/source.log" \
			apt-get $apt_options "${options[@]}" source --download-only postgresql-18) || continue
		mkdir -p "$source_dir.part"
		tar -C "$source_dir.part" --strip-components=1 \
			-xf "$apt"/source/postgresql-18_*.orig.tar.*[a-z2]
		mv "$source_dir.part" "$source_dir"
		return 0
	done
	die "no suite of $(debian_mirror) has the source of postgresql-18"
}

# build_18 NAME CFLAGS OPTION...: configure, build, install below the cache.
build_18()
{
	local name=$1 cflags=$2 prefix=$ANAGO_CACHE/pg$1 build=$ANAGO_CACHE/build/$1
	shift 2
	[ ! -e "$prefix/.complete" ] || return 0
	need_packages $build_packages
	fetch_source
	say "building PostgreSQL $name (some minutes)"
	mkdir -p "$build"
	(
		cd "$build"
		export CCACHE_DIR=$ANAGO_CACHE/ccache
		[ -e config.status ] || logged "$ANAGO_CACHE/log/$name-configure.log" \
			"$(readlink -f "$source_dir")/configure" --prefix="$prefix" --enable-debug \
			--with-liburing --with-lz4 --with-zstd CC="ccache gcc" \
			CFLAGS="$cflags" "$@" || exit 1
		logged "$ANAGO_CACHE/log/$name-build.log" \
			make -s -j"$ANAGO_JOBS" world-bin || exit 1
		logged "$ANAGO_CACHE/log/$name-install.log" make -s install-world-bin || exit 1
	) || die "cannot build PostgreSQL $name"
	touch "$prefix/.complete"
}

build_version()
{
	case $1 in
	18) build_18 18-assert "-O1 -g -fno-omit-frame-pointer" \
		--enable-cassert --enable-tap-tests --enable-injection-points ;;
	18-release) build_18 18-release "-O2 -g -fno-omit-frame-pointer" ;;
	18-asan) ASAN_OPTIONS=detect_leaks=0 build_18 18-asan \
		"-O1 -g -fno-omit-frame-pointer -fsanitize=address -fno-sanitize-recover=all" \
		--enable-cassert ;;
	esac
}

# ---------------------------------------------------------------------------
# 17, 19: packages of other suites of Debian, in chroots

# make_chroot VERSION SUITE [EXTRA-SUITE]: PostgreSQL, and nothing else, comes
# from the extra suite.
make_chroot()
{
	local version=$1 suite=$2 extra=${3:-} root=$chroot_base/$1
	local log=$ANAGO_CACHE/log/chroot-$1.log script

	[ ! -e "$root/.complete" ] || return 0
	[ -z "$(no_chroot)" ] || die "no PostgreSQL $version here: $(no_chroot)"
	need_packages debootstrap
	say "making a chroot of Debian $suite for PostgreSQL $version (a minute or two)"
	if [ ! -e "$root/.base" ]; then
		rm -rf "$root"
		mkdir -p "$root"
		script=/usr/share/debootstrap/scripts/$suite
		[ -e "$script" ] || script=/usr/share/debootstrap/scripts/sid
		logged "$log" debootstrap --variant=minbase --include=ca-certificates \
			"$suite" "$root" "$(debian_mirror)" "$script" ||
			die "cannot make a chroot of Debian $suite: no PostgreSQL $version"
		touch "$root/.base"
	fi
	like_host "$root"
	echo "deb $(debian_mirror) $suite main" >"$root/etc/apt/sources.list"
	if [ -n "$extra" ]; then
		echo "deb $(debian_mirror) $extra main" >>"$root/etc/apt/sources.list"
		printf '%s\n' "Package: src:postgresql-$version" \
			"Pin: release a=$extra" "Pin-Priority: 600" \
			>"$root/etc/apt/preferences.d/anago"
	fi
	mkdir -p "$root/etc/postgresql-common/createcluster.d"
	echo 'create_main_cluster = false' \
		>"$root/etc/postgresql-common/createcluster.d/anago.conf"
	logged "$log.update" in_chroot "$root" apt-get $apt_options update ||
		die "cannot read the package lists of ${extra:-$suite}"
	logged "$log.install" in_chroot "$root" apt-get $apt_options -y \
		install --no-install-recommends $common_packages libipc-run-perl \
		"postgresql-$version" "postgresql-server-dev-$version" ||
		die "Debian ${extra:-$suite} does not give us PostgreSQL $version"
	rm -f "$root"/var/cache/apt/archives/*.deb
	touch "$root/.complete"
}

# The network as this machine has it: names, proxy, certificates.
like_host()
{
	cp -L /etc/resolv.conf "$1/etc/resolv.conf"
	apt-config dump | grep -E '^Acquire::https?::Proxy ' \
		>"$1/etc/apt/apt.conf.d/90anago" || true
	if [ -e /etc/ssl/certs/ca-certificates.crt ]; then
		cp /etc/ssl/certs/ca-certificates.crt "$1/etc/ssl/certs/"
	fi
}

# in_chroot ROOT COMMAND...: with /proc and shared memory, in name spaces of
# its own, so that nothing stays behind.  no_chroot says where that cannot be.
in_chroot()
{
	local root=$1
	shift
	local path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
	PATH=$path TMPDIR=/tmp ANAGO_CACHE= unshare --mount --pid --fork --kill-child \
		/bin/bash -c '
		mount -t proc proc "$0/proc" && mkdir -p "$0/dev/shm" &&
		mount -t tmpfs tmpfs "$0/dev/shm" && exec chroot "$0" "$@"' \
		"$root" "$@"
}

# ---------------------------------------------------------------------------

install_version()
{
	case $1 in
	15) install_package_15 ;;
	17) make_chroot 17 trixie ;;
	18 | 18-release | 18-asan)
		build_version "$1" ;;
	19) make_chroot 19 sid experimental ;;
	*) die "no PostgreSQL $1 here; there are 15, 17, 18, 18-release, 18-asan, 19" ;;
	esac
	[ -x "$(place "$1")$(config "$1")" ] || die "PostgreSQL $1 has no pg_config"
}

config()
{
	case $1 in
	15 | 17 | 19) echo "/usr/lib/postgresql/$1/bin/pg_config" ;;
	18) echo "$ANAGO_CACHE/pg18-assert/bin/pg_config" ;;
	18-release | 18-asan) echo "$ANAGO_CACHE/pg$1/bin/pg_config" ;;
	*) die "no PostgreSQL $1 here" ;;
	esac
}

place()
{
	case $1 in
	17 | 19) echo "$chroot_base/$1" ;;
	*) echo "" ;;
	esac
}

run()
{
	local root
	root=$(place "$1")
	shift
	if [ -n "$root" ]; then
		in_chroot "$root" "$@"
	else
		"$@"
	fi
}

command=${1:-}
[ $# -ge 2 ] || {
	sed -n '2,/^$/s/^# \{0,1\}//p' "$0" >&2
	exit 2
}
shift
case $command in
install) for version in "$@"; do install_version "$version"; done ;;
config) config "$1" ;;
place) place "$1" ;;
run) run "$@" ;;
source) echo "$source_dir $ANAGO_CACHE/build/18-assert" ;;
*) die "unknown command: $command" ;;
esac
