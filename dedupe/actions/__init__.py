"""Acting on duplicates: marks, a plan with its guard, the proof at the moment of the act, a journal, and undo.

What is listed in `__all__` is for other programs; nothing of it prints or asks.

```python
from dedupe import actions

decided = actions.mark(result, actions.Rules(prefer=[b"photos"], then=[actions.Then.OLDEST]))
prepared = actions.prepare(decided.marks, actions.Order(action=actions.ActionName.TRASH))
print(actions.foresee(prepared).freed)  # bytes by volume
tally = actions.carry_out(prepared)
actions.take_back(actions.Wish(run=tally.run))
```
"""

import importlib as _importlib
import typing as _typing

from dedupe.config import Rules, Then

if _typing.TYPE_CHECKING:
    from dedupe.actions.apply import ActionName, Order, Prepared, carry_out, foresee, prepare
    from dedupe.actions.held_back import Kind
    from dedupe.actions.journal import default_folder as journal_folder
    from dedupe.actions.marking import Decided, mark
    from dedupe.actions.marks import MarkedFile, MarkedGroup, Marks, Rule
    from dedupe.actions.marks import read as read_marks
    from dedupe.actions.marks import write as write_marks
    from dedupe.actions.summary import Summary
    from dedupe.actions.tally import Refusal, Tally
    from dedupe.actions.undo import Wish
    from dedupe.actions.undo import undo as take_back

# Loaded when they are asked for: most commands need none of them.
_PLACES = {
    "ActionName": ("apply", "ActionName"),
    "Decided": ("marking", "Decided"),
    "Kind": ("held_back", "Kind"),
    "MarkedFile": ("marks", "MarkedFile"),
    "MarkedGroup": ("marks", "MarkedGroup"),
    "Marks": ("marks", "Marks"),
    "Order": ("apply", "Order"),
    "Prepared": ("apply", "Prepared"),
    "Refusal": ("tally", "Refusal"),
    "Rule": ("marks", "Rule"),
    "Summary": ("summary", "Summary"),
    "Tally": ("tally", "Tally"),
    "Wish": ("undo", "Wish"),
    "carry_out": ("apply", "carry_out"),
    "foresee": ("apply", "foresee"),
    "journal_folder": ("journal", "default_folder"),
    "mark": ("marking", "mark"),
    "prepare": ("apply", "prepare"),
    "read_marks": ("marks", "read"),
    "take_back": ("undo", "undo"),
    "write_marks": ("marks", "write"),
}

__all__ = [
    "ActionName",
    "Decided",
    "Kind",
    "MarkedFile",
    "MarkedGroup",
    "Marks",
    "Order",
    "Prepared",
    "Refusal",
    "Rule",
    "Rules",
    "Summary",
    "Tally",
    "Then",
    "Wish",
    "carry_out",
    "foresee",
    "journal_folder",
    "mark",
    "prepare",
    "read_marks",
    "take_back",
    "write_marks",
]


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module 'dedupe.actions' has no attribute {name!r}")
    module, attribute = _PLACES[name]
    value = globals()[name] = getattr(_importlib.import_module(f"dedupe.actions.{module}"), attribute)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
