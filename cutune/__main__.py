"""`python -m cutune` is the command `cutune`."""

import sys

from cutune.start import main

sys.exit(main())
