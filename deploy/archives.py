"""Compares the archives of two folders file by file, because their compression depends on the zlib
that made them: archives.py BUILT COMMITTED."""

import pathlib
import sys
import tarfile
import zipfile


def files(archive: pathlib.Path) -> dict[str, bytes]:
    """The content of an archive by name."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as opened:
            return {name: opened.read(name) for name in opened.namelist()}
    with tarfile.open(archive) as opened:
        return {entry.name: opened.extractfile(entry).read() for entry in opened if entry.isfile()}


def main() -> int:
    built, committed = (pathlib.Path(folder) for folder in sys.argv[1:3])
    names = sorted(path.name for path in built.iterdir() if path.suffix in (".tgz", ".whl") and path.stat().st_size)
    if names != sorted(path.name for path in committed.glob("*")):
        print(f"expected {', '.join(names)} in {committed}")
        return 1
    different = 0
    for name in names:
        new, old = files(built / name), files(committed / name)
        for file in sorted(new.keys() | old.keys()):
            if new.get(file) != old.get(file):
                print(f"{name}: {file} differs")
                different += 1
    return 1 if different else 0


sys.exit(main())
