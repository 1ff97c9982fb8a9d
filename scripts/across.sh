#!/usr/bin/env bash
# Whether files of one program are read by another, of another level, architecture or distribution: a folder of results and a folder of
# the oracle's tables. usage: scripts/across.sh write|read FOLDER PROGRAM...
set -euo pipefail
what=$1 folder=$2
shift 2
program=("$@")
golden=$(dirname "$0")/../tests/host/studies/run/golden/study.toml
small=(--regime B --environment uniform --replications 1 --periods 50 --policy dow --samples 2000 --grid 21x9x21 --set 'T0=[0]' --backend cpu --quiet)
case $what in
  write)
    mkdir -p "$folder"
    "${program[@]}" run "$golden" --quiet --backend cpu --out "$folder/results" --force
    "${program[@]}" run "$golden" "${small[@]}" --oracle-cache "$folder/tables" --out "$folder/first" --force
    ;;
  read)
    "${program[@]}" show "$folder/results" | grep 'Regime' >/dev/null
    (cd "$folder/tables" && sha256sum * >../tables.sum)
    own=$(mktemp -d)
    "${program[@]}" run "$golden" "${small[@]}" --oracle-cache "$folder/tables" --out "$own/second" >/dev/null
    # Tables are kept by the arithmetic that made them: another one makes its own beside them.
    (cd "$folder/tables" && sha256sum --quiet --check ../tables.sum)
    cmp "$folder/first/oracle.csv" "$own/second/oracle.csv"
    rm -r "$own"
    ;;
esac
