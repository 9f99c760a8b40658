"""What pyproject.toml cannot say: the emulated device makes a wheel one of its platform, and the
manual page is made of the parser."""

import sys
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel

ROOT = Path(__file__).parent
BUILT = ROOT / "cutune" / "emulator" / "built"
MANUAL = Path("build") / "cutune.1"
sys.path.insert(0, str(ROOT))

from cutune.cli.options import parser  # noqa: E402 (needs no package that cutune needs)
from cutune.cli.parser import manual_page  # noqa: E402


class Cutune(Distribution):
    """It holds machine code where `build_device.py` has run."""

    def has_ext_modules(self) -> bool:
        return BUILT.exists()


class Wheel(bdist_wheel):
    """`py3-none-any`, or `py3-none-PLATFORM`: no library is one of Python's."""

    def get_tag(self) -> tuple[str, str, str]:
        return "py3", "none", super().get_tag()[2]


MANUAL.parent.mkdir(exist_ok=True)
MANUAL.write_text(manual_page(parser()), encoding="utf-8")
setup(
    distclass=Cutune,
    cmdclass={"bdist_wheel": Wheel},
    data_files=[("share/man/man1", [str(MANUAL)])],
)
