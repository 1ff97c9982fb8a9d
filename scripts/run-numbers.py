#!/usr/bin/env python3
"""Makes the committed results, experiments/results, and with them the numbers of the documents, from nothing.

Stages stand in experiments/numbers/PAGE.toml, a file for each page docs/PAGE.md; experiments/numbers/README.md says how. Without
--plan and --table, stages run. A run that was stopped goes on where it was. PANDORA names the program (default: build/pandora),
PANDORA_DATA the folder of tables that are no part of this repository.
"""

import argparse
import datetime
import hashlib
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from types import SimpleNamespace as Stage

FIT_PAGES = {"cascades", "kinds", "logs", "promises"}  # whose stages fit cascades, also where their commands do not say so
STAGES, RESULTS, WORK = Path("experiments/numbers"), Path("experiments/results"), Path("results/numbers")
HALF_WIDTHS = "95%, Student's t"  # of the kept files
GOLDEN = Path("tests/host/studies/run/golden")
TABLE = re.compile(r"(?<=<!-- table -->\n).*?(?=<!-- end of the table -->)", re.S)


KEYS = {"name", "run", "keep", "seconds", "what", "needs", "data"}


def read_stages() -> dict[str, Stage]:
    """All stages by name, each after those that it needs."""
    found, ordered = {}, {}
    for file in sorted(STAGES.glob("*.toml")):
        for entry in tomllib.loads(file.read_text())["stage"]:
            name = entry["name"]
            if name in found or entry.keys() - KEYS:
                sys.exit(f"run-numbers: {file}: the stage {name} stands twice, or has other keys than {', '.join(sorted(KEYS))}")
            places = {"page": file.stem, "folder": RESULTS / name, "work": WORK / name}
            found[name] = Stage(**{"what": "", "needs": [], "data": [], **entry, **places})

    def place(name: str, path: tuple = ()) -> None:
        if name not in found or name in path:
            sys.exit(f"run-numbers: {' needs '.join((*path, name))}: there is no such stage, or it needs itself")
        for need in found[name].needs:
            place(need, (*path, name))
        ordered[name] = found[name]

    for name in found:
        place(name)
    return ordered


def digest(stage: Stage, stages: dict[str, Stage], keep: bool = True) -> str:
    """Of the commands, the files of this repository that they name, and the stages that are needed; keep: also of what is kept."""
    commands = [*stage.run, *(f"{file}={command}" for file, command in stage.keep.items() if keep)]
    state = hashlib.sha256("\n".join(commands).encode())
    for path in map(Path, sorted(set(re.findall(r"(?<![\w$/.-])[\w.-]+(?:/[\w.-]+)+", " ".join(commands))))):
        # A package counts by the output that its tests keep, as the program does.
        for file in sorted(path.glob("tests/kept/*/*.csv")) if path.is_dir() else [path] if path.is_file() else []:
            state.update(file.read_bytes())
    for need in stage.needs:
        state.update(digest(stages[need], stages, keep).encode())
    return state.hexdigest()[:16]


def read_json(path: Path) -> dict:
    return json.loads(path.read_text()) if path.exists() else {}


def table(stages: dict[str, Stage]) -> str:
    """The table of experiments/results/README.md, from the manifests."""
    rows = ["| folder | what for | commands | program | CPU seconds | date |", "|---|---|---|---|---|---|"]
    for stage in sorted(stages.values(), key=lambda s: s.name):
        if kept := read_json(stage.folder / "manifest.json"):
            commands = "<br>".join(f"`{command}`" for command in kept["run"]).replace("|", "\\|").replace("\n", " ")
            what = f"[{stage.page}](../../docs/{stage.page}.md)" + (f": {stage.what}" if stage.what else "")
            program = next(f"{part} {kept['program'][part]}" for part in ("sources", "revision") if part in kept["program"])
            rows.append(f"| `{stage.name}` | {what} | {commands} | {program} | {kept['seconds']} | {kept['date']} |")
    return "\n".join((*rows, ""))


class Runner:
    def __init__(self, stages: dict[str, Stage], threads: int):
        self.stages, self.data = stages, Path(os.environ.get("PANDORA_DATA", "no data"))
        program = Path(os.environ.get("PANDORA", "build/pandora")).absolute()
        if not program.exists():
            sys.exit(f"run-numbers: no program {program}; `make build` first, or name one in PANDORA")
        lines = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()
        says = dict(line.split(None, 1) for line in lines if line)
        self.program = {"version": says["pandora"], **{part: says[part] for part in ("revision", "sources", "compiler", "flags")}}
        self.program["numbers"] = self.numbers(program)
        self.program["fits"] = self.fits(program)
        self.commands = tempfile.TemporaryDirectory(prefix="run-numbers-")  # of this run alone
        self.make_commands(program, Path(self.commands.name), threads)

    def numbers(self, program: Path) -> str:
        """A digest of the summaries of two small studies of all policies: where it is the same, so are the program's numbers."""
        state = hashlib.sha256()
        with tempfile.TemporaryDirectory() as out:
            for study in sorted(GOLDEN.glob("*.toml")):
                command = [program, "run", study, "--quiet", "--backend", "cpu", "--force", "--out", out]
                subprocess.run(command, capture_output=True, check=True)
                state.update((Path(out) / "summary.csv").read_bytes())
        return state.hexdigest()[:16]

    def fits(self, program: Path) -> str:
        """The same of what cascades of all kinds promise that are fitted to a made-up table, and of how they do on it."""
        state = hashlib.sha256()
        with tempfile.TemporaryDirectory() as out:
            subprocess.run([sys.executable, "scripts/made-up-tables.py", out], check=True)
            fit = ["fit", "paretobandit_judged_val_k3.jsonl", "--price", "20", "--evaluator", "score", "--out", "cascade.json", "--force"]
            for how in (["thresholds"], *([kind, "--context", "text:4"] for kind in ("router", "routed", "indices"))):
                for command in ([*fit, "--kind", *how], ["test", "cascade.json", "paretobandit_judged_test_k3.jsonl"]):
                    done = subprocess.run([program, "cascade", *command, "--format", "json"], cwd=out, capture_output=True, check=True)
                    # Words and counts may change while the numbers stay.
                    json.loads(done.stdout, parse_float=lambda number: state.update(f"{number} ".encode()))
        return state.hexdigest()[:16]

    def make_commands(self, program: Path, folder: Path, threads: int) -> None:
        """What stages call pandora goes on with what is there; what they call python3 has what experiments/verdict needs."""
        known = (p for p in (sys.executable, "/usr/bin/python3")
                 if subprocess.run([p, "-c", "import h5py, scipy"], capture_output=True).returncode == 0)
        (folder / "python3").write_text(f'#!/bin/sh\nexec {next(known, sys.executable)} "$@"\n')
        (folder / "pandora").write_text(f"""#!/bin/bash
case "$1: $* " in
  *" --resume "* | *" --extend "* | *" --plan "* | *" --force "*) ;;
  run:* | reproduce:*) set -- "$@" --resume ;;
esac
case "$1: $* " in *" --threads "*) ;; run:* | reproduce:* | tune:* | calibrate:*) set -- "$@" --threads {threads} ;; esac
exec {program} "$@"
""")
        [command.chmod(0o755) for command in folder.iterdir()]
        self.environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "DATA": str(self.data)}

    def key(self, stage: Stage) -> str:
        """Of a stage's work: other kept files are made from the same work."""
        return " ".join((digest(stage, self.stages, keep=False), *(self.program[part] for part in self.parts(stage))))

    def parts(self, stage: Stage) -> list[str]:
        """What of the program a stage's results depend on: fits of cascades where its commands or what they run make some."""
        fits = stage.page in FIT_PAGES or any("cascade " in command for command in (*stage.run, *stage.keep.values()))
        return ["numbers", "fits"] if fits else ["numbers"]

    def state(self, stage: Stage) -> str:
        kept = read_json(stage.folder / "manifest.json")
        if not kept or any(not (stage.folder / file).exists() for file in stage.keep):
            return "no results"
        if any(kept["program"].get(part) != self.program[part] for part in self.parts(stage)):
            return "of a program with other numbers"
        return "up to date" if kept["digest"] == digest(stage, self.stages) else "of other commands"

    def lacks(self, stage: Stage) -> str:
        return ", ".join(name for name in stage.data if not (self.data / name).exists())

    def plan(self) -> None:
        """A line for each stage: its CPU seconds, and whether its results are up to date."""
        for stage in self.stages.values():
            lacks = f"; PANDORA_DATA has no {self.lacks(stage)}" if self.lacks(stage) else ""
            print(f"{stage.name:<32}{stage.page:<14}{stage.seconds:>7.0f} s  {self.state(stage)}{lacks}")
        left = sum(s.seconds for s in self.stages.values() if self.state(s) != "up to date" and not self.lacks(s))
        print(f"{left:.0f} s of CPU for what is not up to date")

    def bash(self, stage: Stage, there: dict, command: str, output: Path, mode: str) -> None:
        """Runs a command; state.json has its CPU seconds, also where it fails or is stopped, and a later run goes on with it."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with output.open(mode) as file:
            process = subprocess.Popen(["bash", "-euo", "pipefail", "-c", command], stdout=file,
                                       env={**self.environment, "WORK": str(stage.work)})
            try:
                code = process.wait()
            except KeyboardInterrupt:  # the command got it as well, and may end in order
                code = process.wait() or 130
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        there["seconds"] += after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        there["done"] += code == 0 and mode == "a"
        (stage.work / "state.json").write_text(json.dumps(there))
        if code != 0:
            sys.exit(f"run-numbers: {stage.name}: exit code {code} of: {command}")

    def run(self, stage: Stage, only_work: bool = False) -> None:  # only_work: what another stage reads
        if lacks := self.lacks(stage):
            return print(f"{stage.name}: left out, PANDORA_DATA has no {lacks}", flush=True)
        for need in stage.needs:
            self.run(self.stages[need], only_work=True)
        there = read_json(stage.work / "state.json")
        if there.get("key") != self.key(stage):
            shutil.rmtree(stage.work, ignore_errors=True)
            there = {"key": self.key(stage), "done": 0, "seconds": 0.0}
        elif only_work and there["done"] == len(stage.run):
            return
        shutil.rmtree(kept := stage.work / "kept", ignore_errors=True)
        kept.mkdir(parents=True)
        for command in stage.run[there["done"]:]:
            print(f"{stage.name}: {command}", flush=True)
            self.bash(stage, there, command, stage.work / "log.txt", "a")
        for file, command in stage.keep.items():
            self.bash(stage, there, command, kept / file, "w")
        cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
        manifest = {"run": stage.run, "keep": stage.keep, "half_widths": HALF_WIDTHS, "digest": digest(stage, self.stages), "program": self.program,
                    "seconds": round(there["seconds"], 1), "date": str(datetime.date.today()), "cpu": cpu[1] if cpu else ""}
        (kept / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
        shutil.rmtree(stage.folder, ignore_errors=True)
        shutil.copytree(kept, stage.folder)
        print(f"{stage.name}: {manifest['seconds']} s of CPU", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stages", nargs="*", metavar="STAGE", help="default: all that are not up to date")
    parser.add_argument("--plan", action="store_true", help="what there is to run")
    parser.add_argument("--table", action="store_true", help="write the table of experiments/results/README.md")
    parser.add_argument("--threads", type=int, default=0, help="of the program; 0 is all cores")
    options = parser.parse_args()
    os.chdir(Path(__file__).resolve().parent.parent)
    stages = read_stages()
    if unknown := [name for name in options.stages if name not in stages]:
        sys.exit(f"run-numbers: there is no stage {', '.join(unknown)}; --plan lists them")
    if options.table:
        (RESULTS / "README.md").write_text(TABLE.sub(lambda _: table(stages), (RESULTS / "README.md").read_text()))
    elif options.plan:
        Runner(stages, options.threads).plan()
    else:
        runner = Runner(stages, options.threads)
        for stage in stages.values():
            if stage.name in options.stages or (not options.stages and runner.state(stage) != "up to date"):
                runner.run(stage)


if __name__ == "__main__":
    main()
