"""The output dialects and runners of end-to-end tests, and a check on them."""

import unmess

RUNNERS = ("reference", "iree-cpu")
OUTPUT_DIALECTS = ("tosa", "stablehlo")


def assert_matches(program, dialect, runner):
    """Checks a program that is lowered through an output dialect; returns the report."""
    report = unmess.check(program, on=runner, via=dialect, calls=1)
    assert report.ok, report.error
    assert report.via == dialect
    return report
