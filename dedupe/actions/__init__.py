"""Acting on duplicates: marks, a plan with its guard, the proof at the moment of the act, a journal, and undo."""
