"""What a journal has to know of a name before it is acted on, so that it alone suffices to undo.  Acts on nothing."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from dedupe.actions.action import Action, Item
from dedupe.actions.copies import Copy
from dedupe.actions.holding import Held
from dedupe.actions.records import Intent
from dedupe.storage import metadata, volumes

_OTHERS = 4  # copies that are written down besides the one that was compared


class Intents:
    """Makes intents; each volume is looked up once."""

    def __init__(self) -> None:
        self._volumes: dict[int, volumes.Volume] = {}

    def file_system(self, victim: Held) -> str:
        """Return the kind of file system that a victim lies on."""
        return self._volume(victim).file_system

    def of(self, action: Action, item: Item, algorithm: str, digest: bytes, stays: Iterable[Copy]) -> Intent:
        """Return the intent of an action with one name.

        Args:
            action: which.
            item: the name, for which a place is chosen.
            algorithm: of the digest.
            digest: of the content that was compared a moment ago.
            stays: what was marked to stay.

        Raises:
            OSError: the system does not tell what is to be written down.
        """
        victim, name, keeper = item.victim, item.name, item.keeper.name.real
        others = (other.real for copy in stays for other in copy.names if other.real != keeper)
        volume = self._volume(victim)
        return Intent(
            n=item.n,
            verb=action.verb,
            path=name.real,
            shown=name.path,
            size=victim.seen.size,
            algorithm=algorithm,
            digest=digest,
            device=victim.seen.device,
            inode=victim.seen.inode,
            modified_ns=victim.seen.modified_ns,
            metadata=metadata.to_json(metadata.of(victim.descriptor)),
            names=len(victim.copy.names),
            nlink=victim.seen.nlink,
            keeper=keeper,
            keeper_inode=item.keeper.seen.inode,
            others=tuple(islice(others, _OTHERS)),
            target=item.target,
            temporary=item.aside.name if action.has_aside else None,
            info=item.info,
            file_system=volume.file_system,
            volume=volume.id,
        )

    def _volume(self, victim: Held) -> volumes.Volume:
        device = victim.seen.device
        if device not in self._volumes:
            self._volumes[device] = volumes.locate(victim.name.folder, device).volume
        return self._volumes[device]
