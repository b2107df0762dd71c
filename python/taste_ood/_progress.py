"""How far long work is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, Union


class Callback(Protocol):
    """Hears what is counted, how many are done, and of how many, if that is known."""

    def __call__(self, purpose: str, done: int, total: int | None, /) -> None: ...


Progress = Union[bool, Callback, None]


class _Bars:
    """A bar of tqdm for every stage, one after the other."""

    def __init__(self, tqdm: Callable[..., Any]) -> None:
        self._tqdm, self._purpose, self._bar = tqdm, "", None

    def __call__(self, purpose: str, done: int, total: int | None, /) -> None:
        if self._bar is None or purpose != self._purpose:
            self.close()
            self._purpose, self._bar = purpose, self._tqdm(total=total, desc=purpose, leave=False)
        bar: Any = self._bar
        bar.update(done - bar.n)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None


class Watched:
    """A callback for the extension module, whose bars go away at the end."""

    def __init__(self, progress: Progress) -> None:
        self.hear: Callback | None = None
        self._bars: _Bars | None = None
        if progress is True:
            try:
                from tqdm.auto import tqdm
            except ImportError:
                return
            self.hear = self._bars = _Bars(tqdm)
        elif progress:
            self.hear = progress

    def __enter__(self) -> Callback | None:
        return self.hear

    def __exit__(self, *_: object) -> None:
        if self._bars is not None:
            self._bars.close()
