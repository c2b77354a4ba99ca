#!/usr/bin/python3
"""Runs clang-tidy on the files changed since main, or with --all on every file of the compilation database.

A file that was clean is not looked at again until it, a header it includes or .clang-tidy changes: each clean result
is a stamp in the build folder.
"""
import argparse
import concurrent.futures
import hashlib
import json
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def git(*arguments):
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.split() if done.returncode == 0 else None


def changed_files():
    """Paths that differ from where this branch left main (on main: from the commit before); None if unknown."""
    head = git("rev-parse", "HEAD")
    base = git("merge-base", "HEAD", "origin/main") or git("merge-base", "HEAD", "main")
    if not head or not base:
        return None
    if base == head:
        base = git("rev-parse", "--verify", "HEAD^1")
        if not base:
            return None
    return set(git("diff", "--name-only", "--diff-filter=d", base[0])
               + git("ls-files", "--others", "--exclude-standard"))


def write_plain_database(database, folder):
    """The compilation database without compiler launchers and precompiled headers, which clang cannot use."""
    for entry in database:
        words = shlex.split(entry.pop("command"))
        first = next(i for i, word in enumerate(words) if re.search(r"(\+\+|clang|gcc|cc)(-[0-9]+)?$", word)
                     and not word.endswith("ccache"))
        words = [word for word in words[first:] if word not in ("-Winvalid-pch", "-fpch-preprocess", "-fno-gnu-unique")]
        while "-include" in words:
            at = words.index("-include")
            del words[at:at + 2]
        entry["arguments"] = words
    (folder / "compile_commands.json").write_text(json.dumps(database))


class Headers:
    """The project's headers that a file includes, directly or through others."""

    def __init__(self):
        self.direct_ = {}

    def direct(self, path):
        if path not in self.direct_:
            names = INCLUDE.findall((ROOT / path).read_text(errors="replace"))
            found = []
            for name in names:
                for candidate in (name, "include/" + name):
                    if (ROOT / candidate).is_file():
                        found.append(candidate)
                        break
            self.direct_[path] = found
        return self.direct_[path]

    def closure(self, path):
        seen, todo = set(), [path]
        while todo:
            for header in self.direct(todo.pop()):
                if header not in seen:
                    seen.add(header)
                    todo.append(header)
        return seen


def select(sources, changed, headers):
    """The sources to look at: the changed ones, and for each changed header the source that shows it best."""
    chosen = {source for source in sources if source in changed}
    for header in sorted(changed):
        if not header.endswith((".h", ".def")) or not (ROOT / header).is_file():
            continue
        same_name = re.sub(r"\.(h|def)$", ".cpp", header)
        if same_name in sources:
            chosen.add(same_name)
        elif not any(header in headers.closure(source) for source in chosen):
            chosen.update([source for source in sources if header in headers.closure(source)][:1])
    return sorted(chosen)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", required=True, help="build folder with compile_commands.json")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--all", action="store_true", help="every file, not only the changed ones")
    options = parser.parse_args()

    tool = shutil.which("clang-tidy-14") or shutil.which("clang-tidy")
    if not tool:
        sys.exit("tidy: no clang-tidy; run tools/bootstrap.sh --lint")
    build = (ROOT / options.build).resolve()
    database = json.loads((build / "compile_commands.json").read_text())
    sources = sorted({str(pathlib.Path(entry["file"]).resolve().relative_to(ROOT)) for entry in database
                      if pathlib.Path(entry["file"]).resolve().is_relative_to(ROOT)
                      and not pathlib.Path(entry["file"]).resolve().is_relative_to(build)
                      and pathlib.Path(entry["file"]).is_file()})
    headers = Headers()
    if options.all:
        chosen = sources
    else:
        changed = changed_files()
        if changed is None:
            print("tidy: no earlier commit to compare with (a shallow clone?): nothing is looked at; use --all")
            changed = set()
        chosen = select(sources, changed, headers)

    stamps = build / "tidy"
    stamps.mkdir(exist_ok=True)
    write_plain_database(database, stamps)
    settings = b"".join(path.read_bytes() for path in sorted(ROOT.glob("**/.clang-tidy")))
    settings += subprocess.run([tool, "--version"], capture_output=True).stdout
    digests = {}

    def digest(path):
        if path not in digests:
            digests[path] = hashlib.sha256((ROOT / path).read_bytes()).digest()
        return digests[path]

    def stamp(source):
        parts = [settings] + [digest(path) for path in [source, *sorted(headers.closure(source))]]
        return stamps / hashlib.sha256(b"".join(parts)).hexdigest()

    todo = [(source, stamp(source)) for source in chosen]
    todo = [(source, mark) for source, mark in todo if not mark.exists()]

    def check(item):
        source, mark = item
        done = subprocess.run([tool, "-p", str(stamps), "--quiet", source], cwd=ROOT, capture_output=True, text=True)
        if done.returncode == 0:
            mark.touch()
        # Without findings, what clang-tidy says is a count of warnings in headers that are not ours.
        return source, done.returncode, done.stdout + (done.stderr if done.returncode else "")

    start_s = time.monotonic()
    failed = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for source, code, text in pool.map(check, todo):
            if code != 0:
                failed.append(source)
                print(text.strip(), flush=True)
    print(f"tidy: {len(chosen)} of {len(sources)} files, {len(chosen) - len(todo)} known to be clean, "
          f"{len(failed)} with findings, {time.monotonic() - start_s:.0f} s")
    if failed:
        sys.exit(1)


if __name__ == "__main__":
    main()
