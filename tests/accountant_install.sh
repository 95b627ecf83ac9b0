#!/bin/sh
# accountant_install.sh BUILD - install the accountant elsewhere and use it as a stranger would: from C by pkg-config, shared
# and static, from C++, and from Python; see that nothing but acct_* is exported.
set -eu

build=$(cd "$1" && pwd)
readme=$(cd "$(dirname "$0")/.." && pwd)/README.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
	echo "accountant_install.sh: $*" >&2
	exit 1
}

for component in accountant dev python tools; do
	cmake --install "$build" --prefix "$work/usr" --component $component >/dev/null
done
library=$(find "$work/usr" -name 'libtombola-accountant.so.0')
[ -n "$library" ] || fail "no libtombola-accountant.so.0 was installed"
lib=$(dirname "$library")
PKG_CONFIG_PATH=$lib/pkgconfig
LD_LIBRARY_PATH=$lib
export PKG_CONFIG_PATH LD_LIBRARY_PATH
cd "$work"

others=$(nm -D --defined-only "$library" | awk '$2 != "A" { print $3 }' | grep -v '^acct_' || true)
[ -z "$others" ] || fail "exported besides acct_*: $others"
nm -D --defined-only "$library" | awk '{ sub("@.*", "", $3); print $3 }' >exported
# A function is a name before a parenthesis, once comments are gone.
(cd usr/include && printf '#include <%s>\n' tombola/*.h) | cc -E -P -Iusr/include -x c - |
	grep -v '^typedef' | grep -o 'acct_[a-z0-9_]*(' | tr -d '(' | sort -u >declared
missing=$(grep -vxF -f exported declared || true)
[ -z "$missing" ] || fail "declared in an installed header but not exported:" $missing
if grep -qx acct_fft_init exported; then
	fail "acct_fft_init, which no installed header has, is exported"
fi

cat >one.c <<'C'
#include <stdio.h>
#include <tombola/acct.h>
int main(void)
{
	static struct acct_round r = { .others = 9999, .count = 8 };
	struct acct_bound eps;
	if (acct_cells_generic(2.0, &r, NULL) || acct_epsilon(&r, 1, 1e-6, &eps))
		return 1;
	printf("%.17g %.17g\n", eps.lower, eps.upper);
	return 0;
}
C
cc -std=c17 -Wall -Wextra -Wpedantic -Werror $(pkg-config --cflags tombola-accountant) one.c -o shared \
	$(pkg-config --libs tombola-accountant)
cc -std=c17 $(pkg-config --cflags tombola-accountant) one.c -o static "$lib/libtombola-accountant.a" \
	$(pkg-config --static --libs tombola-accountant | tr ' ' '\n' | grep -v -e '^-L' -e '^-ltombola')
ldd ./shared | grep -q 'libtombola-accountant.so.0' || fail "the shared program does not need libtombola-accountant.so.0"
if ldd ./static | grep -q tombola; then
	fail "the static program needs the shared library"
fi

from_command=$("$work/usr/bin/tombola-accountant" epsilon --delta 1e-6 --round generic:eps0=2,n=10000,count=8 --json |
	sed 's/.*"epsilon_lower":\([^,]*\),"epsilon_upper":\([^,]*\),.*/\1 \2/')
PYTHONPATH=$(dirname "$(find "$work/usr" -name tombola_accountant)")
PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH PYTHONDONTWRITEBYTECODE
from_python=$(/usr/bin/python3 -c '
from tombola_accountant import *
print("%.17g %.17g" % PLDAccountant().compose(ShuffledDpEvent("generic", eps0=2, n=10000), 8).get_epsilon_bounds(1e-6))')
for answer in "$(./shared)" "$(./static)" "$from_python"; do
	[ "$answer" = "$from_command" ] || fail "'$answer' is not the command's '$from_command'"
done

# The module's programs: what the command computes is drawn, and a figure of a paper is found.
"$work/usr/bin/tombola-accountant" curve --points 3 --round rr:eps0=1,n=100 | /usr/bin/python3 -m tombola_accountant.plot |
	grep -q '^</svg>$' || fail "tombola_accountant.plot draws no curve"
/usr/bin/python3 -m tombola_accountant.literature figure 004-3a | grep -q '^algorithm-1,' ||
	fail "tombola_accountant.literature has no figure 004-3a"
# It hands structures to the library: they are laid out as the headers say.
cat >laid.c <<'C'
#include <stddef.h>
#include <stdio.h>
#include <tombola/acct_flame.h>
#include <tombola/acct_girgis.h>
#include <tombola/acct_gspa.h>
int main(void)
{
	printf("%zu %zu %zu ", offsetof(struct acct_round, others), offsetof(struct acct_round, sampling),
		offsetof(struct acct_round, shape));
	printf("%zu %zu %zu %zu\n", sizeof(struct acct_round), sizeof(struct acct_girgis),
		sizeof(struct acct_gspa_class), sizeof(struct acct_flame_sparse));
	return 0;
}
C
cc -std=c17 -Wall -Werror $(pkg-config --cflags tombola-accountant) laid.c -o laid
in_python=$(/usr/bin/python3 -c '
from ctypes import sizeof
from tombola_accountant.literature.bounds import *
print(Round.others.offset, Round.sampling.offset, Round.shape.offset, *map(sizeof, (Round, Reports, Class, Sparse)))')
[ "$(./laid)" = "$in_python" ] || fail "structures are laid out as $(./laid), and in Python as $in_python"

[ "$(pkg-config --modversion tombola-accountant)" = "$("$work/usr/bin/tombola-accountant" --version | cut -d' ' -f2)" ] ||
	fail "pkg-config and the command differ in version"

# README's example: its file, the command that compiles and runs it, and the line that it prints.
sed -n '/^\$ cat eight\.c$/,/^\$ cc /p' "$readme" | sed '1d;$d' >eight.c
command=$(sed -n 's/^\$ \(cc eight\.c .*\)/\1/p' "$readme")
said=$(sed -n '/^\$ cc eight\.c/{n;p;}' "$readme")
answer=$(eval "$command")
[ -n "$said" ] && [ "$answer" = "$said" ] || fail "README's eight.c prints '$answer', and README says '$said'"

# Every header alone, in both languages.
cxx=$(command -v g++ || command -v clang++)
for header in "$work"/usr/include/tombola/*.h; do
	printf '#include <tombola/%s>\nint main(void) { return 0; }\n' "$(basename "$header")" >alone.c
	cc -std=c17 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I"$work/usr/include" alone.c
	$cxx -std=c++17 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I"$work/usr/include" -x c++ alone.c
done
