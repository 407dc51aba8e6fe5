#!/bin/bash
# Style as a program: ci/style.py, and what only tools can tell.

. "$(dirname "$0")/lib.sh"

need_packages gcc make python3
rc=0

# Every header compiles alone, with the headers of each server that is here.
headers()
{
	local pg_config=$1 version header out
	version=$("$pg_config" --version)
	while read -r header; do
		out=$(gcc -fsyntax-only -x c -Wall -Werror -D_GNU_SOURCE -DHAVE_LIBURING \
			-I"$("$pg_config" --includedir-server)" -I"$anago_root/src" \
			"$header" 2>&1) || {
			echo "not ok style: $header does not compile alone ($version)"
			say "$out"
			return 1
		}
	done < <(cd "$anago_root" && find "$PWD/src" -name '*.h' | sort)
	echo "ok style: headers compile alone ($version)"
}

# What git keeps of scripts can be parsed.
scripts()
{
	local script
	for script in "$anago_root"/ci/*.sh "$anago_root"/demo/*.sh "$anago_root"/bench/*.sh "$anago_root"/.ci/run; do
		bash -n "$script" || {
			echo "not ok style: $script"
			return 1
		}
	done
	python3 - "$anago_root" <<-'PYTHON' || return 1
		import ast, pathlib, sys
		for folder in ("ci", "demo", "t", "bench"):
		    for path in pathlib.Path(sys.argv[1], folder).rglob("*.py"):
		        if ".venv" not in path.parts:
		            ast.parse(path.read_text(), str(path))
	PYTHON
	echo "ok style: scripts parse"
}

python3 "$anago_root/ci/style.py" "$anago_root" || rc=1
servers=0
for version in 15 18; do
	config=$("$anago_root/ci/pg.sh" config $version)
	[ -x "$config" ] || continue
	servers=$((servers + 1))
	headers "$config" || rc=1
done
[ $servers != 0 ] || say "no server headers here: headers were not compiled"
scripts || {
	echo "not ok style: scripts parse"
	rc=1
}
exit $rc
