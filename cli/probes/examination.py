"""One examination: every probe in a thread of its own, all of them within a few seconds."""

from __future__ import annotations

import queue
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from lakegate.cli.probes.causes import CAUSES
from lakegate.cli.probes.reading import DENIED, code_of
from lakegate.contracts.errors import LakegateError, SetUpError
from lakegate.functions.ports.errors import NotFound, PortError, Unanswered, UnreadableItem
from lakegate.functions.settings import read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from lakegate.cli.aws import DeployedStack
    from lakegate.cli.probes.causes import CauseFinding
    from lakegate.cli.probes.reading import StackReader
    from lakegate.functions.settings import Settings
    from lakegate.functions.usecases.delivery import Delivery
    from lakegate.functions.usecases.dependencies import Dependencies

MINUTES: Final = 15
"""How far back logs and metrics are read: three sweeps, each of which reports again what still fails."""


@dataclass(frozen=True, slots=True)
class ExaminedStack:
    """What is examined: a stack, and one of its workloads where the operator names one."""

    stack: DeployedStack
    resources: Mapping[str, str]
    """Physical names by logical ones."""
    dependencies: Dependencies
    ask: StackReader
    delivery: Delivery | None = None
    """The one that the operator names."""
    embedded: bool = False
    """Whether it is on the embedded AWS of a local stack, which cannot answer everything (docs/local-stack.md)."""

    def name(self, logical: str) -> str:
        """The physical name of a resource. Raises SetUpError for a stack of another version."""
        try:
            return self.resources[logical]
        except KeyError:
            raise SetUpError(f"the stack has no resource {logical}: it is of another version") from None

    def there(self, *logical: str) -> tuple[str, ...]:
        """Those of these resources that the stack has: some are made by a parameter."""
        return tuple(each for each in logical if each in self.resources)

    def settings(self) -> Settings:
        """The settings of intake. Raises SetUpError where they are wrong, NotFound without the function."""
        answer = self.ask("lambda", "get_function_configuration", FunctionName=self.name("IntakeFunction"))
        return read(answer.get("Environment", {}).get("Variables", {}))


@dataclass(frozen=True, slots=True)
class Probe:
    """One look at one thing: read-only, and independent of all others."""

    name: str
    rights: tuple[str, ...]
    """IAM actions that it needs."""
    look: Callable[[ExaminedStack], Iterable[CauseFinding]]


@dataclass(frozen=True, slots=True)
class Unknown:
    """A probe that could not look, and why."""

    probe: str
    reason: str


@dataclass(frozen=True, slots=True)
class Examination:
    """What an examination found."""

    findings: tuple[CauseFinding, ...]
    unknown: tuple[Unknown, ...]
    probes: int
    seconds: float


def examine(examined: ExaminedStack, probes: Sequence[Probe], seconds: float) -> Examination:
    """Run all probes at once; one that has not answered after `seconds` is reported as unknown."""
    began = time.monotonic()
    answers: queue.SimpleQueue[tuple[Probe, list[CauseFinding] | str]] = queue.SimpleQueue()
    for probe in probes:  # a thread that hangs must not keep the process
        threading.Thread(
            target=lambda each: answers.put((each, _looked(each, examined))), args=(probe,), daemon=True
        ).start()
    found: dict[str, list[CauseFinding] | str] = {}
    while len(found) < len(probes) and (left := began + seconds - time.monotonic()) > 0:
        try:
            probe, answer = answers.get(timeout=left)
        except queue.Empty:
            break
        found[probe.name] = answer
    late = f"no answer within {seconds:g} seconds"
    results = [(probe.name, found.get(probe.name, late)) for probe in probes]
    causes = [each for _, answer in results if isinstance(answer, list) for each in answer]
    causes += map(unreadable, examined.dependencies.taken_out())
    return Examination(
        tuple(dict.fromkeys(causes)),
        tuple(Unknown(name, answer) for name, answer in results if isinstance(answer, str)),
        len(probes),
        time.monotonic() - began,
    )


def _looked(probe: Probe, examined: ExaminedStack) -> list[CauseFinding] | str:
    try:
        return list(probe.look(examined))
    except UnreadableItem as error:
        return [unreadable(error)]
    except PortError as error:
        return _why(probe, error)
    except LakegateError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - an answer in an unknown form must not hide what the others found
        return f"the answer of AWS could not be read ({type(error).__name__})"


def unreadable(error: UnreadableItem) -> CauseFinding:
    """What is stored and cannot be read, as a cause."""
    return CAUSES["row-unreadable"].found(name=error.name, why=error.why)


def _why(probe: Probe, error: PortError) -> str:
    if code_of(error) in DENIED:
        return f"these credentials lack a right: {', '.join(probe.rights)}"
    if isinstance(error, Unanswered):
        return f"AWS does not answer ({error})"
    return f"what it reads is not there ({error})" if isinstance(error, NotFound) else f"AWS refused: {error}"
