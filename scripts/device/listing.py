"""The machine code of the project's kernels: compiled, disassembled, with the lines that every instruction comes from.

Marks. A comment on the line where a loop of the source begins names that loop:

    for (int l = 0; l < panels; ++l) {  // loop: image step
    while (next < B) {                  // loop: period (what follows the name stands in brackets or after a comma)

The machine's loops for it are the widest ones that have something of that line and little that does not come from the
loop's lines. A comment on the first line
of a function, `// body: NAME`, names all instructions that come from its lines. NAME has lower-case letters, digits and
single spaces. A name may stand in several places, which are then counted together.

What nvcc made of the sources lies under build/device, by a hash of all that it read, so that several scripts share one
run of it.
"""
import dataclasses
import functools
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig

root = pathlib.Path(__file__).resolve().parent.parent.parent
cache = root / "build" / "device"


def device_sources():
    return sorted([*root.glob("kernels/cuda/*.cu"), *root.glob("host/lanes/devices/*.cu")])


def eigen():
    found = subprocess.run(["pkg-config", "--cflags-only-I", "eigen3"], capture_output=True, text=True)
    return found.stdout.split() or ["-I/usr/include/eigen3"]


def flags(architecture):
    """The flags of the build. Line information does not change the machine code."""
    return ["-std=c++20", f"-arch=sm_{architecture}", "--expt-relaxed-constexpr", "--fmad=false", "-lineinfo",
            "-Xptxas", "-v", "-Werror", "all-warnings", "-cubin", f"-I{root}", f"-I{root}/include", *eigen(),
            "-DPANDORA_HAVE_CUDA", f'-DPANDORA_CUDA_ARCHITECTURES="{architecture}"', '-DPANDORA_CUBLAS=""',
            '-DPANDORA_CUBLAS_FOLDER=""']


@functools.cache
def _headers_hash():
    read = hashlib.sha256()
    if shutil.which("nvcc") is None:
        sys.exit("nvcc is not on PATH; it comes with CUDA's toolkit (docs/install.md)")
    version = subprocess.run(["nvcc", "--version"], capture_output=True, text=True).stdout
    read.update(version.encode())
    for folder in ("kernels", "host/lanes", "host/ground", "include", "oracle"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".hpp", ".cuh", ".h", ".in"):
                read.update(str(path.relative_to(root)).encode() + path.read_bytes())
    return read.hexdigest()


@dataclasses.dataclass
class Compiled:
    cubin: pathlib.Path
    messages: str  # of ptxas: registers, stack, spills


def compile_for(architecture, source):
    """The cubin of a source and ptxas's messages about its kernels, from the cache if nothing has changed. Files
    outside the project are compiled beside their source."""
    source = pathlib.Path(source).resolve()
    folder = cache if source.is_relative_to(root) else source.parent
    options = flags(architecture)
    key = hashlib.sha256((_headers_hash() + " ".join(options)).encode() + source.read_bytes()).hexdigest()[:20]
    cubin = folder / f"{source.stem}.{architecture}.{key}.cubin"
    messages = cubin.with_suffix(".txt")
    if not (cubin.exists() and messages.exists()):
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob(f"{source.stem}.{architecture}.*.*"):
            old.unlink(missing_ok=True)
        unfinished = folder / f"unfinished-{os.getpid()}-{source.stem}-{architecture}"
        made = subprocess.run(["nvcc", *options, str(source), "-o", str(unfinished)], capture_output=True, text=True)
        if made.returncode != 0:
            sys.exit(f"{source} for sm_{architecture}:\n{made.stdout}{made.stderr}")
        messages.write_text(made.stdout + made.stderr)
        unfinished.rename(cubin)
    return Compiled(cubin, messages.read_text())


@dataclasses.dataclass
class Resources:
    """The resources of a kernel, in registers, bytes and threads."""
    registers: int
    shared: int  # static
    stack: int
    spills: int


def resources(messages):
    """Symbol of a kernel -> Resources. Called functions report their spills before their kernel's own report."""
    kernels, spills, stack, symbol = {}, 0, 0, None
    for line in messages.splitlines():
        if match := re.search(r"Compiling entry function '(.*)' for", line):
            symbol, spills = match[1], 0
        elif match := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line):
            stack = int(match[1])
            spills += int(match[2]) + int(match[3])
        elif match := re.search(r"Used (\d+) registers", line):
            shared = re.search(r"(\d+) bytes smem", line)
            kernels[symbol] = Resources(int(match[1]), int(shared[1]) if shared else 0, stack, spills)
    return kernels


@dataclasses.dataclass
class Launch:
    """The resources that a body asks for in a launch at the paper's shape."""
    threads: int
    resident: int  # blocks on a multiprocessor for which its registers suffice
    shared: int    # bytes
    lanes: int = 0  # of a cohort; 0: not in cohorts


def launches():
    """Body -> Launch, by scripts/device/launches.cpp."""
    cache.mkdir(parents=True, exist_ok=True)
    program = cache / f"launches-{os.getpid()}"
    compiler = os.environ.get("CXX", "g++").split()
    subprocess.run([*compiler, "-std=c++20", "-w", "-DPANDORA_HAVE_CUDA", f"-I{root}", f"-I{root}/include",
                    str(root / "scripts/device/launches.cpp"), "-o", str(program)], check=True)
    lines = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout.splitlines()
    program.unlink()
    return {body: Launch(*map(int, numbers)) for body, *numbers in (line.rsplit(",", 4) for line in lines)}


@functools.cache
def _demangled(symbol):
    return subprocess.run(["c++filt", symbol], capture_output=True, text=True).stdout.strip()


def body_of(symbol):
    """The body that one of our kernels runs, such as WalkBlock<float, 4>; None for a library's.

    The paper's walk and joint fit are instantiations with `false` at the end (kArms, kTied), which is left out.
    """
    match = re.search(r"run_\w+<((?:[\w:]+)(?:<[^<>]*>)?)\s*[,>]", _demangled(symbol))
    if not match:
        return None
    return re.sub(r"(WalkBlock<\w+, \d+|SolveJoint<\w+), false>", r"\1>", re.sub(r"(\w+::)+", "", match[1]))


def shares(symbol):
    """Whether the kernel's team has shared memory of its own (kernels/base/team.hpp), or is a warp."""
    return "OpenTeam" not in _demangled(symbol)


@dataclasses.dataclass(slots=True)
class Instruction:
    """`stall`: cycles until the warp's next issue; `write` and `read`: the scoreboard (0 to 5, 7: none) that is held
    until the result is there or the operands are read; `wait`: a bit for every scoreboard that must be free. These are
    the control bits of sm_70 and later. `frames`: (file, line), the innermost first."""
    address: int
    text: str
    opcode: str = ""
    stall: int = 1
    write: int = 7
    read: int = 7
    wait: int = 0
    frames: tuple = ()

    @property
    def kind(self):
        return self.opcode.split(".", 1)[0]


_CODE = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;\s*/\* (0x[0-9a-f]{16}) \*/")
_REST = re.compile(r"^\s*/\* (0x[0-9a-f]{16}) \*/")
_LABEL = re.compile(r"^\s*(\.L_x_\d+|[$\w.]+):")
_FRAME = re.compile(r'//## File "([^"]+)", line (\d+)')
_SECTION = re.compile(r"^\s*//-+ \.text\.(\S+)")


def nvdisasm():
    """The tool: of the toolkit, on PATH, or of PyPI's nvidia-cuda-nvdisasm in this Python or in the environment of
    `make device-check`."""
    if found := shutil.which("nvdisasm"):
        return found
    environment = (root / "build/device/venv").glob("lib/*/site-packages")
    for packages in (pathlib.Path(sysconfig.get_path("purelib")), *environment):
        for tool in packages.glob("nvidia/**/bin/nvdisasm"):
            return str(tool)
    sys.exit("nvdisasm is not here; it comes with CUDA's toolkit, and `make device-tools` installs it from PyPI")


class Kernel:
    """Instructions in the order of their addresses, with the labels that branches name."""

    def __init__(self, symbol):
        self.symbol = symbol
        self.code = []
        self.labels = {}

    def target(self, instruction):
        """The address that a branch goes to, or None."""
        match = re.search(r"`\((\.L_x_\d+)\)", instruction.text)
        return self.labels.get(match[1]) if match and instruction.kind in ("BRA", "BRX") else None

    @functools.cached_property
    def blocks(self):
        """Basic blocks: (first index, one past the last index, addresses of what may follow)."""
        starts = {0} | {n for n, one in enumerate(self.code) if one.address in set(self.labels.values())}
        starts |= {n + 1 for n, one in enumerate(self.code) if one.kind in ("BRA", "BRX", "RET", "EXIT")}
        order = sorted(n for n in starts if n < len(self.code))
        found = []
        for first, end in zip(order, order[1:] + [len(self.code)]):
            last = self.code[end - 1]
            target = self.target(last)
            follows = [] if target is None else [target]
            # With a predicate, or with operands before the target, it may also go on.
            may_pass = last.text.startswith("@") or "," in last.text.split("`")[0]
            if end < len(self.code) and (last.kind not in ("BRA", "BRX", "RET", "EXIT") or may_pass):
                follows.append(self.code[end].address)
            found.append((first, end, follows))
        return found

    @functools.cached_property
    def loops(self):
        """(first address, last address) of every loop: where a branch goes back to what all ways to it lead through. So
        code that stands apart for warps that have come apart, and returns, is none."""
        at = {self.code[first].address: n for n, (first, _, _) in enumerate(self.blocks)}
        after = [[at[address] for address in follows if address in at] for _, _, follows in self.blocks]
        before = [[] for _ in after]
        for n, many in enumerate(after):
            for m in many:
                before[m].append(n)
        order, seen = [], set()  # in reverse post-order, from the entry and from functions that are called
        for root in [0] + [n for n in range(1, len(after)) if not before[n]]:
            stack = [(root, iter(after[root]))] if root not in seen else []
            seen.add(root)
            while stack:
                node, rest = stack[-1]
                step = next((m for m in rest if m not in seen), None)
                if step is None:
                    order.append(node)
                    stack.pop()
                else:
                    seen.add(step)
                    stack.append((step, iter(after[step])))
        order.reverse()
        rank = {node: k for k, node in enumerate(order)}
        above = {}  # the closest block that all ways lead through; -1 above the roots

        def common(a, b):
            while a != b:
                if a == -1 or b == -1:
                    return -1
                if rank[a] > rank[b]:
                    a = above[a]
                else:
                    b = above[b]
            return a

        changed = True
        while changed:
            changed = False
            for node in order:
                known = [m for m in before[node] if m in above]
                new = known[0] if known else -1
                for m in known[1:]:
                    new = common(new, m)
                if above.get(node, None) != new:
                    above[node], changed = new, True
        found = {}
        for node in order:
            for head in after[node]:
                up = node
                while up not in (-1, head) and rank[up] > rank[head]:
                    up = above[up]
                if up == head:
                    first, last = self.code[self.blocks[head][0]].address, self.code[self.blocks[node][1] - 1].address
                    found[first] = max(found.get(first, last), last)
        return sorted((first, last) for first, last in found.items() if first <= last)

    def within(self, first, last):
        return [one for one in self.code if first <= one.address <= last]


def parse(lines, wanted=lambda symbol: True):
    """Symbol -> Kernel of what nvdisasm prints with -c -gi -hex."""
    kernels, kernel, frames, fresh, pending, half = {}, None, [], True, [], None
    for line in lines:
        if match := _SECTION.match(line):
            kernel = Kernel(match[1]) if wanted(match[1]) else None
            if kernel is not None:
                kernels[match[1]] = kernel
            frames, fresh, pending, half = [], True, [], None
            continue
        if kernel is None:
            continue
        if half is not None:
            if match := _REST.match(line):
                control = int(match[1], 16) >> 41
                half.stall, half.write = max(control & 15, 1), control >> 5 & 7
                half.read, half.wait = control >> 8 & 7, control >> 11 & 63
                half = None
                continue
            half = None
        if match := _FRAME.search(line):
            if fresh:
                frames, fresh = [], False
            frames.append((os.path.normpath(match[1]), int(match[2])))
        elif match := _CODE.match(line):
            words = match[2].split()
            half = Instruction(int(match[1], 16), match[2], words[1] if words[0].startswith("@") else words[0],
                               frames=tuple(frames))
            kernel.code.append(half)
            for label in pending:
                kernel.labels[label] = half.address
            pending, fresh = [], True
        elif match := _LABEL.match(line):
            pending.append(match[1])
    return kernels


def disassemble(cubin, wanted=lambda symbol: body_of(symbol) is not None):
    """Symbol -> Kernel of a cubin's kernels that are wanted."""
    tool = subprocess.Popen([nvdisasm(), "-c", "-gi", "-hex", str(cubin)], stdout=subprocess.PIPE, text=True)
    kernels = parse(tool.stdout, wanted)
    if tool.wait() != 0:
        sys.exit(f"nvdisasm {cubin} failed")
    return kernels


_MARK = re.compile(r"//.*?\b(loop|body): ([a-z][a-z0-9]*(?: [a-z0-9]+)*)")


@dataclasses.dataclass(frozen=True)
class Place:
    """Lines of a file, from the marked one to the end of its statement."""
    file: str
    first: int
    last: int

    def frame_of(self, instruction):
        """The index of the innermost frame that lies here, or None."""
        for index, (file, line) in enumerate(instruction.frames):
            if file == self.file and self.first <= line <= self.last:
                return index
        return None


def marks_of(paths):
    """The marks of sources: kind ("loop" or "body") -> name -> [Place]."""
    found = {"loop": {}, "body": {}}
    for path in map(pathlib.Path, paths):
        lines = path.read_text().splitlines()
        for number, line in enumerate(lines, 1):
            for kind, name in _MARK.findall(line):
                place = Place(os.path.normpath(str(path)), number, _end(lines, number))
                found[kind].setdefault(name, []).append(place)
    return found


def _end(lines, number):
    """The last line of the statement or function that begins on a line: where its brace closes, or its semicolon."""
    depth, opened = 0, False
    for at in range(number, len(lines) + 1):
        for character in re.sub(r'//.*|"(?:\\.|[^"])*"', "", lines[at - 1]):
            depth += (character in "({[") - (character in ")}]")
            opened = opened or character == "{"
            if depth == 0 and (character == ";" or (character == "}" and opened)):
                return at
    return len(lines)


def project_marks():
    return marks_of(sorted(path for path in root.glob("kernels/**/*") if path.suffix in (".hpp", ".cuh", ".cu")))


def instances(kernel, place):
    """The instructions that come from a place, apart for every place that it was inlined in."""
    found = {}
    for one in kernel.code:
        index = place.frame_of(one)
        if index is not None:
            found.setdefault(one.frames[index + 1:], []).append(one)
    return list(found.values())


def loops_of(kernel, place):
    """(first address, last address) of the machine's loops for a marked one: there are several where the compiler made
    copies, for parameters of a template or to unroll one."""
    code = kernel.code
    of_place = [0]  # how many of the instructions up to here come from the place
    for one in code:
        of_place.append(of_place[-1] + (place.frame_of(one) is not None))
    heads = {n for n, one in enumerate(code) if one.frames[:1] == ((place.file, place.first),)}
    index = {one.address: n for n, one in enumerate(code)}
    found = []
    for first, last in kernel.loops:
        a, b = index[first], index[last] + 1
        if of_place[b] - of_place[a] >= 0.7 * (b - a) and any(a <= n < b for n in heads):
            found.append((first, last))
    widest = [one for one in found
              if not any(other != one and other[0] <= one[0] and one[1] <= other[1] for other in found)]
    longest = max((last - first for first, last in widest), default=0)
    return [one for one in widest if one[1] - one[0] >= 0.2 * longest]
