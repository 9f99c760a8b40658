"""What pyproject.toml cannot say: the emulated device makes a wheel one of its platform."""

from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel

BUILT = Path(__file__).parent / "cutune" / "emulator" / "built"


class Cutune(Distribution):
    """It holds machine code where `cutune.emulator.make_built_in` has run."""

    def has_ext_modules(self) -> bool:
        return BUILT.exists()


class Wheel(bdist_wheel):
    """`py3-none-any`, or `py3-none-PLATFORM`: no library is one of Python's."""

    def get_tag(self) -> tuple[str, str, str]:
        return "py3", "none", super().get_tag()[2]


setup(distclass=Cutune, cmdclass={"bdist_wheel": Wheel})
