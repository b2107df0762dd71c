"""python -m taste_ood is the program taste."""

import sys

from ._cli import main

sys.exit(main())
