"""`python -m cutune` is the command `cutune`."""

import sys

from cutune.cli import main

sys.exit(main())
