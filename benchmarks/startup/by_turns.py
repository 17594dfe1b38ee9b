"""Times processes in alternation, so that all of them run under the same load."""

import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence


def times_of(
    commands: Mapping[str, Sequence[str]],
    rounds: int,
    statuses: Mapping[str, int] | None = None,
    **options,
) -> dict[str, float]:
    """Runs each Python command once per round, after an untimed round.

    Args:
        commands: arguments of the Python interpreter, by name.
        statuses: the expected exit status of commands, by name; 0 by default.
        options: options of `subprocess.run`, such as the environment.

    Returns:
        The median in seconds from start to exit, by name.
    """
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(rounds + 1):
        for name, arguments in commands.items():
            start = time.perf_counter()
            done = subprocess.run(
                [sys.executable, *arguments],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                **options,
            )
            if number:
                seconds[name].append(time.perf_counter() - start)
            if done.returncode != (statuses or {}).get(name, 0):
                raise SystemExit(f"{name}: exit status {done.returncode}\n{done.stderr}")
    return {name: statistics.median(values) for name, values in seconds.items()}
