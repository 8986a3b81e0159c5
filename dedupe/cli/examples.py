"""Examples of every command, for its help and the manual page.  A test runs them all, in this order."""

from __future__ import annotations

# by the words of a command, without the program's name; "" is the program itself
EXAMPLES: dict[str, tuple[tuple[str, str], ...]] = {
    "": (
        ("dedupe scan photos backup -o dups.html -o dups.json", "Find duplicates, for the eye and for what follows."),
        ("dedupe apply dups.json --prefer photos --trash --dry-run", "See what would go, and what stays for it."),
        ("dedupe guide", "List what can be read on; `dedupe guide scan` reads it."),
    ),
    "scan": (
        ("dedupe scan photos", "Print the duplicates, those that waste most first."),
        (
            "dedupe scan photos backup --across -o dups.csv -o dups.json",
            "Write those that lie in both folders to files, for Excel and for `dedupe apply`.",
        ),
    ),
    "report": (
        ("dedupe report dups.json -o dups.html", "Turn a saved report into a page to look at and choose from."),
        ("dedupe report dups.json -f paths --redundant -0 | xargs -0 ls -l", "Hand paths to another program."),
    ),
    "mark": (
        ("dedupe mark dups.json --prefer photos -o marks.json", "Keep what lies in photos, and mark the other copies."),
        ("dedupe mark dups.json --protect photos --then oldest", "Print marks: the rules in the order of the guide."),
    ),
    "apply": (
        ("dedupe apply marks.json --trash --dry-run", "Do all but the act: see what would go."),
        ("dedupe apply dups.json --prefer photos --trash", "Ask, then put the copies outside photos into the trash."),
    ),
    "undo": (
        ("dedupe undo --dry-run", "See what taking back the last run would do."),
        ("dedupe undo", "Take it back."),
    ),
    "journal": (
        ("dedupe journal", "List what was done, the newest last."),
        ("dedupe journal --format json", "The same for a program."),
    ),
    "missing": (
        ("dedupe missing card --from archive", "List what the archive does not hold; it ends with 0 if it has all."),
        (
            "dedupe missing card --from archive -f paths -0 | xargs -0 -r cp -n -t archive",
            "Copy what is missing into the archive.",
        ),
    ),
    "catalog": (
        ("dedupe catalog create disk7 -o disk7.catalog", "Write down what a disk holds, before it goes away."),
        ("dedupe scan photos disk7.catalog --across", "Find what of the photos that disk has, without it."),
    ),
    "catalog create": (
        ("dedupe catalog create disk7 -o disk7.catalog", "Read the disk and write its catalog; goes on where cut off."),
        ("dedupe catalog create disk7 -o quick.catalog --quick", "Read no file whole: the answers are probable ones."),
    ),
    "catalog update": (
        ("dedupe catalog update disk7.catalog disk7", "Read what is new or changed."),
        ("dedupe catalog update disk7.catalog disk7 -q", "The same, telling nothing but errors."),
    ),
    "catalog info": (
        ("dedupe catalog info disk7.catalog", "Tell of which disk it is, and when it was made."),
        ("dedupe catalog info quick.catalog", "Tell too whether its answers are probable ones only."),
    ),
    "catalog verify": (
        ("dedupe catalog verify disk7.catalog disk7", "Read the whole disk; it ends with 4 if anything differs."),
        ("dedupe catalog verify disk7.catalog disk7 -j 1", "The same, one file after the other."),
    ),
    "hash": (
        ("dedupe hash photos/* > SUMS", "Print what sha256sum prints, on all cores."),
        ("dedupe hash --check SUMS", "Read the files and compare; it ends with 1 if anything is not right."),
    ),
    "bench": (
        ("dedupe bench -a sha256 --size 1M -r 3", "Who computes SHA-256 fastest here?"),
        ("dedupe bench --kind small --size 64 --size 4k -r 3", "Does the cost of a call turn the order round?"),
    ),
    "cache": (
        ("dedupe cache info", "Tell what is remembered."),
        ("dedupe cache prune", "Forget the files that are gone."),
    ),
    "cache path": (
        ("dedupe cache path", "Print where the cache lies."),
        ('ls -l "$(dedupe cache path)"', "See how large it is."),
    ),
    "cache info": (
        ("dedupe cache info", "Tell what your own cache holds."),
        ("dedupe cache info --cache other.db", "Tell what another one holds."),
    ),
    "cache prune": (
        ("dedupe cache prune", "Forget the files that are gone from the disks that are here."),
        ("dedupe cache prune --root photos-2019", "Forget a folder that was renamed or is gone for good."),
    ),
    "cache export": (
        ("dedupe cache export all.db", "Write all that is remembered to a file."),
        ("dedupe cache export disk7.db --root disk7", "Only what concerns one folder, to go along with it."),
    ),
    "cache import": (
        ("dedupe cache import disk7.db", "Take in what another computer knows about a disk."),
        ("dedupe cache import all.db --cache other.db", "Take it into another cache than your own."),
    ),
    "cache clear": (
        ("dedupe cache clear --cache other.db", "Forget all that another cache remembers."),
        ("dedupe cache clear", "Forget all, and give the space back."),
    ),
    "guide": (
        ("dedupe guide", "List the topics."),
        ("dedupe guide exit-codes", "Read one of them."),
    ),
}
