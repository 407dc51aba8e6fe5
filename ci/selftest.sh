#!/bin/bash
# What the scripts themselves claim: that they run with little, and say what is
# wrong.  Works on a copy of the checkout.
#
#   ci/selftest.sh
#
#   - style passes without git and without a .git
#   - where root may not mount, the chroots are skipped, not failed
#   - continuous integration finds the last line, with and without skips
#   - make without a server to build for says so, and does nothing
#   - a circle of files is found, in any folder of src/
#   - the three readers of ci/bad-log.txt find the same lines

. "$(dirname "$0")/lib.sh"

need_packages make python3 perl
work=$(mktemp -d /tmp/anago-selftest.XXXXXX)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
copy=$work/copy
mkdir "$copy" "$work/bin"
tar -C "$anago_root" -cf - --exclude=./.git --exclude=./bench/.venv --exclude=./bench/page . |
	tar -C "$copy" -xf -
unset PG_CONFIG
rc=0

# verdict OK|NOTHING NAME [LOG]
verdict()
{
	if [ -n "$1" ]; then
		echo "ok selftest: $2"
	else
		echo "not ok selftest: $2"
		[ -z "${3:-}" ] || tail -n 20 "$3" >&2
		rc=1
	fi
}

# Programs of this machine without git.
without_git()
{
	find /bin/ /sbin/ /usr/bin/ /usr/sbin/ -maxdepth 1 ! -type d ! -name 'git*' \
		-exec ln -sf -t "$work/bin" {} +
	PATH=$work/bin "$@"
}

style_without_git()
{
	local ok=
	(without_git "$copy/ci/test.sh" style) >"$work/out" 2>&1 &&
		! (PATH=$work/bin command -v git >/dev/null) && ok=yes
	verdict "$ok" "style passes without git" "$work/out"
}

# As in a container whose root may not mount.
chroots_skipped()
{
	local ok= less=()
	[ "$(id -u)" != 0 ] || less=(setpriv --bounding-set -sys_admin)
	"${less[@]}" "$copy/ci/test.sh" 17 tap19 >"$work/out" 2>&1 &&
		[ "$(tail -n 1 "$work/out")" = "0 passed, 0 failed, 2 skipped" ] && ok=yes
	verdict "$ok" "chroots are skipped where root may not mount" "$work/out"
}

# .ci/run with a make that says just this.
last_line()
{
	local line ok=yes
	mkdir -p "$work/fake"
	for line in "3 passed, 0 failed" "3 passed, 0 failed, 1 skipped"; do
		printf '#!/bin/sh\necho "%s"; echo more\n' "$line" >"$work/fake/make"
		chmod 755 "$work/fake/make"
		[ "$(PATH=$work/fake:$PATH "$copy/.ci/run" | tail -n 1)" = "$line" ] || ok=
	done
	verdict "$ok" "continuous integration finds the last line"
}

make_without_server()
{
	local goal ok=yes
	for goal in "" all install uninstall installcheck clean; do
		! make -C "$copy" --no-print-directory PG_CONFIG=/nowhere/pg_config $goal \
			>"$work/out" 2>&1 &&
			grep -q "^anago: no server to build for: '/nowhere/pg_config --pgxs'" "$work/out" &&
			grep -q 'set PG_CONFIG=.*postgresql-server-dev' "$work/out" || {
			say "make $goal:"
			ok=
			break
		}
	done
	verdict "$ok" "make without a server says what is wrong" "$work/out"
	ok=yes
	for goal in demo test bench; do
		make -n -C "$copy" PG_CONFIG=/nowhere/pg_config $goal >"$work/out" 2>&1 &&
			grep -qE "^(demo|ci|bench)/[a-z]+\.sh" "$work/out" || ok=
	done
	verdict "$ok" "make demo, test and bench do without a server" "$work/out"
	ok=
	! PG_CONFIG=/nowhere/pg_config "$copy/ci/tap.sh" >"$work/out" 2>&1 &&
		grep -q "'/nowhere/pg_config --pgxs' names no makefile" "$work/out" && ok=yes
	verdict "$ok" "scripts say what is wrong with PG_CONFIG" "$work/out"
}

circle_found()
{
	local ok=
	echo '#include "io/zig.h"' >"$copy/src/io/zag.h"
	echo '#include "io/zag.h"' >"$copy/src/io/zig.h"
	! python3 "$copy/ci/style.py" "$copy" >"$work/out" 2>&1 &&
		grep -q "src/io: in a circle: zag, zig" "$work/out" && ok=yes
	rm "$copy"/src/io/z[ai]g.h
	verdict "$ok" "a circle of files is found" "$work/out"
}

# Sample lines: the first word says who has to find the rest.
log_readers()
{
	local ok=
	cat >"$work/sample" <<-'END'
		fine LOG:  database system is ready to accept connections
		never PANIC:  could not write to file
		never WARNING:  buffer refcount leak: [002] (rel=base/5/1249)
		never WARNING:  resource was not closed: relation "t"
		never LOG:  server process (PID 7) was terminated by signal 11: Segmentation fault
		never LOG:  client backend (PID 7) exited with exit code 2
		never TRAP: failed Assert("x"), File: "x.c", Line: 1, PID: 7
		never WARNING:  block 1 of base/5/1249 is still referenced (local 1)
		fine DETAIL:  Key (a)=(10) is still referenced from table "r2".
		fine ERROR:  only superuser can define a leakproof function
		fine STATEMENT:  select 'PANIC: leak: '
		fine LOG:  background worker "parallel worker" (PID 7) exited with exit code 1
		fine LOG:  background worker "logical replication launcher" (PID 7) exited with exit code 1
		strict LOG:  background worker "x" (PID 7) exited with exit code 1
		strict WARNING:  there is no transaction in progress
	END
	sed 's/^[a-z]* //' "$work/sample" >"$work/log"
	sed -n 's/^never //p' "$work/sample" >"$work/never"
	sed -nE 's/^(never|strict) //p' "$work/sample" >"$work/strict"
	bad_log_lines "$work/log" | cmp - "$work/never" &&
		perl_bad_lines | cmp - "$work/never" &&
		python_bad_lines | cmp - "$work/strict" && ok=yes
	verdict "$ok" "all readers of bad-log.txt find the same lines"
}

# Of t/common.pl only what reads the rule: the rest wants a server's modules.
perl_bad_lines()
{
	perl -e '
		use strict; use warnings; use File::Basename;
		my ($common, $log) = @ARGV;
		sub slurp_file { local (@ARGV, $/) = @_; return scalar <> }
		slurp_file($common) =~ /^(sub log_rule\n.*?^}\n)/ms or die "no log_rule";
		my $sub = $1 =~ s/__FILE__/\$common/r;
		eval "$sub; 1" or die $@;
		my ($bad, $fine) = (log_rule("never"), log_rule("fine"));
		print grep { /$bad/ && !/$fine/ } map { "$_\n" } split /\n/, slurp_file($log);
	' "$copy/t/common.pl" "$work/log"
}

# Of place.py likewise: lib.cluster wants psycopg.
python_bad_lines()
{
	PYTHONDONTWRITEBYTECODE=1 python3 - "$copy/t/lib" "$work/log" <<-'PYTHON'
		import sys, types
		from pathlib import Path
		lib = types.ModuleType("lib.cluster")
		lib.Cluster = lib.ClusterError = type("Absent", (Exception,), {})
		sys.modules["lib"] = types.ModuleType("lib")
		sys.modules["lib.cluster"] = lib
		sys.path.insert(0, sys.argv[1])
		from differ import place
		log = types.SimpleNamespace(log=Path(sys.argv[2]))
		print(*place.bad_log_lines(log), sep="\n")
	PYTHON
}

style_without_git
chroots_skipped
last_line
make_without_server
circle_found
log_readers
exit $rc
