"""For scikit-learn users: a transformer that masks, and trees that are grown from counts."""

from __future__ import annotations

try:
    import sklearn.base  # noqa: F401
    from sklearn.utils.validation import validate_data  # noqa: F401  older releases lack it
except ImportError as error:
    raise ImportError(
        "reticent.sklearn needs scikit-learn 1.6 or newer:  "
        'pip install "reticent[sklearn]"  installs it.'
    ) from error

from reticent.sklearn.jointree import JoinTreeClassifier
from reticent.sklearn.masker import Masker
from reticent.sklearn.tree import TreeClassifier

__all__ = ["JoinTreeClassifier", "Masker", "TreeClassifier"]
