#!/usr/bin/env bash
# Runs the commands of README.md and docs/*.md, compares what they print with the output shown, and looks up relative links.
# Usage: scripts/run-docs.sh [FILE.md]...        PANDORA=path/to/pandora (default: build/pandora)
#
# Blocks of a file run in order, in an empty folder of its own that has copies of experiments/ and examples/:
#   ```sh                     as they stand, up to the first command that fails
#   ```python ```r ```octave  by the interpreter, where it is installed with what the block needs
#   ```console                not run: what the last `sh` block before it must print (scripts/compare-output.py says how close)
# Other blocks are left alone. A comment on the line before a block changes what is asked of it:
#   <!-- exits N -->               its commands together must end with exit code N
#   <!-- not run: REASON -->       left out
#   <!-- varies: WORDS, WORDS -->  lines of output that begin with such words may go on differently
#   <!-- not compared: REASON -->  other output is allowed
# `run` and `reproduce` of a study in experiments/, and the oracle's commands, are scaled down; all else is run as it stands. What reads
# tables that are no part of this repository reads made-up ones (scripts/made-up-tables.py).
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"

program=${PANDORA:-build/pandora}
[ -x "$program" ] || { echo "run-docs: no program; \`make build\` first, or name one in PANDORA" >&2; exit 1; }
program=$(realpath "$program")
files=("$@")
[ $# -gt 0 ] || files=(README.md docs/*.md)
scripts/compare-output.py --self-test

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"

# What the documents call pandora: the program, with sizes that a paper needs and a check does not scaled down. (120
# periods: with 300, one lane of heavy_tail under tracking fails.)
cat >"$work/bin/pandora" <<SHIM
#!/usr/bin/env bash
set -euo pipefail
program=$program
SHIM
cat >>"$work/bin/pandora" <<'SHIM'
scaled= smaller=
fewer_draws="--set dimensions.radius_draws=4096"  # of the median that scales theta_*: half the time of such a small run
case "${1-} ${2-}" in
  reproduce\ *) scaled="--replications 2 --periods 120 --samples 2000 --contexts 50 --grid 9x5x9" smaller=$fewer_draws ;;
  run\ experiments/*) scaled="--replications 2 --periods 120 --samples 2000" smaller=$fewer_draws ;;
  run\ rivals*) scaled="--replications 2" ;;
  tune\ rivals*) scaled="--budget 600" smaller="--set hyperparameters.c_rho=0.1 --set hyperparameters.c_theta=0.1" ;;
  "oracle check" | "oracle grid") scaled="--replications 2 --samples 2000 --grid 9x5x9" ;;
  "oracle order") scaled="--replications 2 --samples 2000 --contexts 50" ;;
  calibrate\ *) scaled="--replications 4 --samples 2000 --contexts 20" ;;
esac
case " $* " in *" --plan "* | *" --help "*) scaled= smaller= ;; esac
arguments=()
while [ $# -gt 0 ]; do
  name=$1
  [ "$name" != --set ] || [[ "${2-}" != periods=* && "${2-}" != replications=* ]] || name=--${2%%=*}
  if [[ $name == --* && " $scaled " == *" $name "* ]]; then
    shift 2  # the document's own size gives way
  else
    arguments+=("$1")
    shift
  fi
done
exec "$program" "${arguments[@]}" $scaled $smaller
SHIM
chmod +x "$work/bin/pandora"

# The interpreter of a recipe, or nothing.
interpreter_of() {
  case $1 in
    python)
      for python in python3 /usr/bin/python3; do
        if "$python" -c 'import h5py' 2>/dev/null; then echo "$python"; return; fi
      done ;;
    r) if Rscript -e 'library(rhdf5)' >/dev/null 2>&1; then echo Rscript; fi ;;
    octave) if command -v octave-cli >/dev/null; then echo "octave-cli --quiet --no-init-file"; fi ;;
  esac
}
for language in python r octave; do
  interpreter=$(interpreter_of "$language")
  if [ -n "$interpreter" ]; then
    echo "recipe_$language() { cat >recipe.$language; $interpreter recipe.$language; }"
  else
    echo "run-docs: recipes for $language are not run: it or what it needs to read HDF5 is not installed" >&2
    echo "recipe_$language() { cat >/dev/null; }"
  fi
done >"$work/recipes"

# What the documents call python3: one with what experiments/verdict needs, best that of `make python`, which has the package.
verdict=$(for python in "$(dirname "$program")/python/venv/bin/python" python3 /usr/bin/python3; do
  if "$python" -c 'import h5py, scipy' 2>/dev/null; then command -v "$python"; break; fi
done)
[ -n "$verdict" ] || echo "run-docs: experiments/verdict is not run: no python3 has h5py and scipy" >&2
printf '#!/bin/sh\n%s\n' "${verdict:+exec $verdict \"\$@\"}" >"$work/bin/python3"
chmod +x "$work/bin/python3"

# A document as a script of bash with the same number of lines, so that its line numbers are the document's.
script_of() {
  awk '
    !inside && /^ *```/ {
      kind = $0; sub(/^ *```/, "", kind)
      wanted = ""
      if (match(was, /<!-- exits [0-9]+ -->/)) wanted = substr(was, RSTART + 11, RLENGTH - 15)
      inside = 1
      if (was ~ /<!-- not run: .+ -->/) kind = ""
      if (kind == "sh") { print "block $LINENO" (wanted == "" ? "" : "; trap - ERR; set +e; ( set -e"); next }
      if (kind == "python" || kind == "r" || kind == "octave") { print "recipe_" kind " <<\"END OF THE RECIPE\""; next }
      kind = ""; print ""; next
    }
    inside && /^ *```$/ {
      inside = 0; was = ""
      if (kind == "sh") print wanted == "" ? "block 0" : "); wanted " wanted " $? $LINENO; set -e; trap failed ERR; block 0"
      else print kind == "" ? "" : "END OF THE RECIPE"
      next
    }
    inside { print kind == "" ? "" : $0; next }
    { was = $0; print "" }
  ' "$1"
}

run_document() {
  local file=$1 folder=$work/$2
  mkdir "$folder"
  cp -r experiments examples "$folder"
  rm -rf "$folder/experiments/results"
  if grep -q '^pandora run rivals' "$file"; then  # of tables that are no part of this repository
    scripts/made-up-tables.py "$folder"
    cp experiments/traces/rivals*.toml "$folder"
  fi
  mkdir "$folder/build" && ln -s "$work/bin/pandora" "$folder/build/pandora"
  # Read from elsewhere, so that the first line of the script is the document's.
  cat >"$work/prologue" <<PROLOGUE
unset BASH_ENV
set -eEuo pipefail
export PATH=$work/bin:\$PATH COLUMNS=80
block() { printf '\x1e%s\n' "\$1"; }  # what is printed from here on is that of the block of this line; 0: of none
failed() { echo "$file:\${BASH_LINENO[-2]}: failed: \$BASH_COMMAND" >&2; exit 1; }
wanted() { [ "\$1" = "\$2" ] || { echo "$file: the block that ends in line \$3 ended with exit code \$2, not \$1" >&2; exit 1; }; }
. $work/recipes
trap failed ERR
PROLOGUE
  script_of "$file" >"$work/script"
  local status=0
  (cd "$folder" && BASH_ENV=$work/prologue bash "$work/script") >"$work/output" 2>&1 </dev/null || status=$?
  if [ $status -ne 0 ]; then
    tail -n 40 "$work/output" >&2
    echo "run-docs: $file: a command failed" >&2
    exit 1
  fi
  scripts/compare-output.py "$file" "$work/output" || broken=1
}

# Relative links must lead to a file, and their anchors to a heading.
check_links() {
  local file=$1 link path anchor bad=0
  while read -r link; do
    path=${link%%#*}
    anchor=
    [[ $link != *#* ]] || anchor=${link#*#}
    if [ -n "$path" ]; then path=$(dirname "$file")/$path; else path=$file; fi
    if [ ! -e "$path" ]; then
      echo "$file: the link $link leads nowhere" >&2
      bad=1
    elif [ -n "$anchor" ] && ! sed -n 's/^#\+ //p' "$path" | tr '[:upper:]' '[:lower:]' | sed 's/[^a-z0-9 _-]//g; s/ /-/g' |
      grep -qx -- "$anchor"; then
      echo "$file: $path has no heading for #$anchor" >&2
      bad=1
    fi
  done < <(awk '/^ *```/ { inside = !inside } !inside' "$file" | grep -o '](\([^)]*\))\|src="[^"]*"' |
    sed 's/^](//; s/)$//; s/^src="//; s/"$//' | grep -v '^[a-z]*:' || true)
  return $bad
}

broken=0
for file in README.md docs/*.md CONTRIBUTING.md; do
  check_links "$file" || broken=1
done
number=0
for file in "${files[@]}"; do
  started=$SECONDS
  run_document "$file" $((number += 1))
  echo "$file: $((SECONDS - started)) s"
done
exit $broken
