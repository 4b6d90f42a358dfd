# SPDX-License-Identifier: Apache-2.0
"""Run code in a cell.

    >>> import hotcell
    >>> sandbox = hotcell.get_sandbox()
    >>> sandbox.execute_code("print(6 * 7)").stdout
    '42\\n'
    >>> print(hotcell.run_python_code("1 / 0", timeout=5))
    error: ZeroDivisionError: division by zero
    line 1: 1 / 0
    hint: The divisor is 0 here: test it before dividing.

The package runs the program ``hotcell`` for each call and reads its JSON. It has no part in the
isolation: nothing that happens to a cell or to its supervisor can touch this process, every version
of Python can use every version of hotcell, and threads need no lock. See docs/en/LIBRARY.md.
"""
from .program import HotcellError
from .result import ExecutionError, ExecutionResult, Finding, SecurityReport
from .sandbox import (Sandbox, Session, analyze_code, execute_code, execute_file, get_sandbox,
                      run_python_code)

__version__ = "0.1.0"

__all__ = [
    "ExecutionError", "ExecutionResult", "Finding", "HotcellError", "Sandbox", "SecurityReport",
    "Session", "analyze_code", "execute_code", "execute_file", "get_sandbox", "run_python_code",
]
