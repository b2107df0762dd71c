"""The program taste."""

import signal
import sys

from ._taste import main as run


def main() -> int:
    """Runs the command line; Ctrl-C ends it as it ends any program."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return run(["taste", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
