"""The published k-NN procedure. Takes labelled sizes, gives k and accuracies of splits.

M. Veneva, *ML-Based Optimum Sub-system Size for the GPU Implementation of the Tridiagonal Partition
Method*: a shuffled split 3:1 with every class in the training part, a grid search over k with
scikit-learn, and the accuracy on the test part beside that of the most frequent class. One
split has about ten test points, which is little evidence: so the same is done over many splits.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.search.neighbours.table import Configuration, Point

TEST_SHARE = 0.25
FOLDS = 5
FEWEST_SIZES = 4
#: Splits over which accuracies of 1-NN are told.
SPLITS = 300


@dataclass(frozen=True)
class Split:
    """A division of labels into a training and a test part, and how well `k` neighbours did."""

    random_state: int
    training: int
    tested: int
    #: Does every class occur in the training part?
    complete: bool
    k: int
    accuracy: float
    #: The accuracy of the most frequent class of the test part.
    null_accuracy: float


@dataclass(frozen=True)
class Distribution:
    """1-NN over many splits; only complete ones count, and a share `perfect` of them is perfect."""

    splits: int
    complete: int
    mean: float
    lowest: float
    highest: float
    perfect: float


def search(labels: Mapping[Point, Configuration], random_state: int) -> Split:
    """Run the procedure on one split. Raises CT544 without scikit-learn, CT545 for few sizes."""
    points, classes = _arrays(labels)
    from sklearn.model_selection import GridSearchCV, KFold
    from sklearn.neighbors import KNeighborsClassifier

    trained, tested = _split(len(classes), random_state)
    # scikit-learn allows as many folds as the most frequent class has members, at most.
    most = int(np.bincount(classes[trained]).max())
    folds = max(2, min(FOLDS, most))
    largest = max(1, min(len(set(classes)), len(trained) - len(trained) // folds - 1))
    grid = {"n_neighbors": list(range(1, 1 + largest))}
    finder = GridSearchCV(KNeighborsClassifier(), grid, cv=folds if most > 1 else KFold(folds))
    with warnings.catch_warnings():
        # scikit-learn warns of classes with fewer members than folds, which such tables have.
        warnings.simplefilter("ignore")
        finder.fit(points[trained], classes[trained])
    right = finder.predict(points[tested]) == classes[tested]
    frequent = np.unique(classes[tested], return_counts=True)[1].max()
    return Split(
        random_state,
        len(trained),
        len(tested),
        set(classes[trained]) == set(classes),
        int(finder.best_params_["n_neighbors"]),
        float(right.mean()),
        float(frequent / len(tested)),
    )


def distribution(labels: Mapping[Point, Configuration]) -> Distribution | None:
    """Return 1-NN accuracies; None where no split trains all classes. Raises CT544, CT545."""
    points, classes = _arrays(labels)
    from sklearn.neighbors import KNeighborsClassifier

    rates = []
    for state in range(SPLITS):
        trained, tested = _split(len(classes), state)
        if set(classes[trained]) == set(classes):
            nearest = KNeighborsClassifier(1).fit(points[trained], classes[trained])
            rates.append(float((nearest.predict(points[tested]) == classes[tested]).mean()))
    if not rates:
        return None
    perfect = fmean(rate == 1.0 for rate in rates)
    return Distribution(SPLITS, len(rates), fmean(rates), min(rates), max(rates), perfect)


def _arrays(labels: Mapping[Point, Configuration]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return sizes as they are (no logarithm), and configurations as numbers of classes.

    Raises CT544, CT545.
    """
    if find_spec("sklearn") is None:
        raise CutuneError.at(Code.NO_SCIKIT_LEARN)
    if len(labels) < FEWEST_SIZES:
        reason = f"the published procedure splits at least {FEWEST_SIZES} sizes, not {len(labels)}"
        raise CutuneError.at(Code.BAD_TABLE_OPTION, reason=reason)
    points = sorted(labels)
    numbers = {label: i for i, label in enumerate(sorted(set(labels.values())))}
    classes = np.array([numbers[labels[point]] for point in points])
    return np.array(points, dtype=np.float64), classes


def _split(count: int, random_state: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    from sklearn.model_selection import train_test_split

    trained, tested = train_test_split(
        np.arange(count), test_size=TEST_SHARE, shuffle=True, random_state=random_state
    )
    return trained, tested
