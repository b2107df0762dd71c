"""Streams that are watched."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

from . import _taste
from ._data import Samples, given
from ._html import framed
from ._progress import Progress, Watched


@dataclass(frozen=True)
class Update:
    """What became of samples: how many were counted, whether all had been counted before, the alarm that they raised."""

    counted: int
    duplicate: bool
    raised: int | None

    def __bool__(self) -> bool:
        return self.raised is not None


class Monitor:
    """A stream that a detector watches, with a state that lasts: `detector.monitor(folder)`. True in an if where an alarm stands.

    with detector.monitor("state") as monitor:
        for batch in stream:
            if monitor.update(batch):
                print(monitor.alarm)
    """

    def __init__(self, inner: _taste.Monitor) -> None:
        self._inner = inner

    def update(self, data: Samples, *, id: str | None = None, progress: Progress = None) -> Update:
        """Scores samples and counts them, in the order in which they came; they are durable when it returns.

        id: what these samples are called; the same id is counted once, however often it comes. Without, every call counts.
        """
        with given(data) as own, Watched(progress) as hear:
            return Update(*self._inner.update(own, id, hear))

    def to_dict(self) -> dict[str, Any]:
        """All that is known, in the words of `taste monitor --json`."""
        found: dict[str, Any] = json.loads(self._inner.view())
        return found

    @property
    def alarms(self) -> list[dict[str, Any]]:
        """All alarms, the first first."""
        return list(self.to_dict()["alarms"])

    @property
    def alarm(self) -> dict[str, Any] | None:
        """The alarm that stands, with what its samples differ in, if one does."""
        standing = [alarm for alarm in self.alarms if alarm["resolved"] is None]
        return standing[-1] if standing else None

    @property
    def samples(self) -> int:
        """Samples that came so far."""
        return int(self.to_dict()["samples"])

    @property
    def evidence(self) -> float:
        """R: without a change a stream reaches R no sooner than every R samples on average."""
        log = self.to_dict()["log_evidence"]
        return 0.0 if log is None else math.exp(min(log, 700.0))

    @property
    def notes(self) -> list[str]:
        """What was found when the state was opened, in sentences."""
        return self._inner.notes()

    def acknowledge(self, note: str, by: str = "") -> None:
        """Notes that somebody knows of the alarm that stands."""
        self._inner.acknowledge(note, by)

    def restart(self) -> None:
        """Resolves the alarm that stands and begins evidence anew."""
        self._inner.restart()

    def close(self) -> None:
        """Lets go of the state, so that another process may open it."""
        self._inner.close()

    def __enter__(self) -> Monitor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __bool__(self) -> bool:
        return self.alarm is not None

    def __str__(self) -> str:
        return self._inner.text()

    def __repr__(self) -> str:
        known = self.to_dict()
        alarm = self.alarm
        stands = "no alarm stands" if alarm is None else f"alarm {alarm['id']} stands"
        return f"Monitor({known['samples']} samples, {stands})"

    def _repr_html_(self) -> str:
        return framed(self._inner.page(), height=640)
