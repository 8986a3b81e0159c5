"""Use dedupe as a library: list every photo that has copies, and which copy is the oldest.

Run it with a folder, or without to look at the photos beside it:  python examples/find_photos.py [FOLDER]
"""

import sys
from pathlib import Path

import dedupe


def main() -> None:
    """Find the groups and print them."""
    folder = sys.argv[1] if len(sys.argv) > 1 else Path(__file__).with_name("photos")
    config = dedupe.ScanConfig(roots=[folder], include=["*.jpg", "*.jpeg", "*.png", "*.heic"])
    result = dedupe.find_duplicates(config)
    for group in result.groups:
        oldest = min(group.files, key=lambda file: file.modified_ns)
        print(f"{len(group.files)} copies of {group.size:,} bytes, SHA-256 {group.digest.hex()[:16]}")
        for file in group.files:
            print("  oldest" if file == oldest else "        ", ascii(file.path.decode(errors="replace")))
    for problem in result.problems:
        print(problem.kind, problem.path, problem.message, file=sys.stderr)
    print(f"{result.totals.reclaimable_bytes:,} bytes could be freed.")


if __name__ == "__main__":  # workers import this file where they cannot be forked
    main()
