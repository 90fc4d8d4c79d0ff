"""Commands as somebody at a terminal gives them, run in this process."""

from __future__ import annotations

from typer.testing import CliRunner, Result

from reticent.front.cli import app


def run(*given: object, code: int = 0) -> Result:
    """Run a command, and see that it ends as expected and without a traceback."""
    result = CliRunner().invoke(app, [str(part) for part in given])
    assert result.exit_code == code, (result.stdout, result.stderr, result.exception)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert "Traceback" not in result.output
    return result
