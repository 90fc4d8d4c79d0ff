"""The masker: scikit-learn's own battery, and a verified promise whatever goes in."""

from __future__ import annotations

import importlib.util
import pickle
import sys
from collections import Counter
from collections.abc import Callable
from datetime import date
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

import reticent
import reticent.sklearn
from at_hand import refusal
from reticent import Policy, Unsatisfiable
from reticent.sample import make, policy
from reticent.sklearn import Masker, TreeClassifier

ROWS = 600
KNOWN = ["Age", "Sex", "Marital"]
KINDS = ("pandas", "polars", "pyarrow", "numpy")
TREE = {"ANY": {"Blue": ["Cook", "Smith"], "White": ["Clerk", "Judge"]}}


@cache
def census() -> pd.DataFrame:
    return make("census", ROWS, seed=3).to_pandas().drop(columns="Name")


def rules(**said: Any) -> Policy:
    """A policy about what is known of people; it says what it is told besides, or instead."""
    return Policy.model_validate({"keep": "*", "anonymity": [{"over": KNOWN, "k": 10}]} | said)


def split() -> tuple[pd.DataFrame, pd.Series]:
    return census().drop(columns="Income"), census()["Income"]


def as_kind(frame: pd.DataFrame, kind: str) -> Any:
    if kind == "pandas":
        return frame
    if kind == "numpy":
        return frame.to_numpy(dtype=object)
    table = pa.Table.from_pandas(frame, preserve_index=False)
    return table if kind == "pyarrow" else pl.from_arrow(table)


def kind_of(table: Any) -> str:
    return type(table).__module__.partition(".")[0]


def as_arrow(table: Any, names: Any) -> pa.Table:
    """The cells of a masked table and nothing else, as the verifier gets them from a file."""
    if isinstance(table, np.ndarray):
        return pa.table([pa.array(column.tolist()) for column in table.T], names=list(names))
    if isinstance(table, pd.DataFrame):
        table = pa.Table.from_pandas(table, preserve_index=False)
    return pa.table(table).replace_schema_metadata()


def rows_of(table: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter(zip(*(column.to_pylist() for column in table.columns), strict=True))


def holds(masker: Masker, masked: Any, told: Policy | Path | None = None) -> bool:
    cells = as_arrow(masked, masker.get_feature_names_out())
    return reticent.verify(cells, told or masker.policy_).holds


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str], Path]:
    """A sample's policy with its taxonomies, as files."""

    def write(kind: str) -> Path:
        text, taxonomies = policy(kind)
        for name, content in {"policy.toml": text, **taxonomies}.items():
            (tmp_path / name).write_text(content, encoding="utf-8")
        return tmp_path / "policy.toml"

    return write


# --- scikit-learn's battery ----------------------------------------------------------------------

AS_TEXT = dict.fromkeys(
    (
        "check_estimators_pickle", "check_fit_idempotent",
        "check_methods_sample_order_invariance", "check_methods_subset_invariance",
        "check_pipeline_consistency", "check_transformer_data_not_an_array",
        "check_transformer_general",
    ),
    "it subtracts one output from another, and outputs are text; the next test compares them",
)  # fmt: skip
CANNOT = {"check_fit2d_1sample": "one row cannot keep k = 2, and Unsatisfiable is no ValueError"}


@parametrize_with_checks(  # type: ignore[misc,untyped-decorator,unused-ignore]
    [Masker(k=2)], expected_failed_checks=lambda masker: AS_TEXT | CANNOT
)
def test_scikit_learns_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("name", AS_TEXT)
def test_the_checks_that_compare_numbers_hold_for_text(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def same(actual: Any, desired: Any, **how: Any) -> None:
        np.testing.assert_array_equal(actual, desired)

    monkeypatch.setattr(estimator_checks, "assert_allclose", same)
    monkeypatch.setattr(estimator_checks, "assert_allclose_dense_sparse", same)
    found = [
        (masker, check)
        for masker, check in estimator_checks_generator(Masker(k=2))
        if check.func.__name__ == name
    ]
    assert found
    for masker, check in found:
        check(masker)


# --- the promise ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [2, 30])
def test_the_fitted_rows_keep_the_promise(kind: str, k: int) -> None:
    frame, y = split()
    masker = Masker(k=k)
    masked = masker.fit_transform(as_kind(frame[[*KNOWN, "Hours"]], kind), y)
    assert kind_of(masked) == kind
    assert holds(masker, masked)
    sizes = rows_of(as_arrow(masked, masker.get_feature_names_out()))
    assert min(sizes.values()) >= k
    assert len(sizes) > 1


@pytest.mark.parametrize("kind", ["census", "bank", "clinic"])
@pytest.mark.parametrize("seed", [1, 2])
def test_a_policy_file_masks_as_a_release_does(
    kind: str, seed: int, written: Callable[[str], Path]
) -> None:
    path, table = written(kind), make(kind, 1000, seed)
    target = Policy.load(path).class_
    masker = Masker(path)
    masked = masker.fit_transform(table.drop_columns(target), table[target])
    assert holds(masker, masked, path)
    assert not masker.proof_.unchecked  # a dropped column that is counted was seen, too
    released = reticent.release(table, path)
    assert rows_of(masked.append_column(target, table[target])) == rows_of(released.table)
    assert masker.cuts_ == released.cuts


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [2, 5])
def test_missing_values_are_disclosed_or_masked_with_others(kind: str, k: int) -> None:
    frame = pd.DataFrame(  # named as columns of an array are
        {
            "x0": [*["Cook", "Clerk"] * 4, None, None],
            "x1": [*["Ulm", "Bonn"] * 4, None, None],
            "x2": [*[20, 40] * 4, None, None],
        }
    )
    attributes = {
        "x0": {"mask": "generalize", "taxonomy": TREE},
        "x1": {"mask": "suppress"},
        "x2": {"mask": "discretize", "range": [0, 99]},
    }
    masker = Masker(rules(attributes=attributes, anonymity=[{"over": [*attributes], "k": k}]))
    masked = masker.fit_transform(as_kind(frame, kind))
    assert holds(masker, masked)
    last = as_arrow(masked, frame.columns).to_pylist()[-1]
    assert list(last.values()) == ([None] * 3 if k == 2 else ["ANY", "*", "*"])


# --- the class -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_y_is_the_class_and_without_it_distortion_counts() -> None:
    frame, y = split()
    with_class = rules(**{"class": "Income"})
    by_class = reticent.release(census(), with_class).cuts
    by_distortion = reticent.release(frame, rules()).cuts
    assert by_class != by_distortion
    for masker in (Masker(k=10, over=KNOWN), Masker(with_class)):
        assert clone(masker).fit(frame, y).cuts_ == by_class
        assert clone(masker).fit(frame, y.tolist()).cuts_ == by_class
        assert clone(masker).fit(frame).cuts_ == by_distortion
        # A measured target has no classes to keep apart.
        assert clone(masker).fit(frame, frame["Hours"] / 7).cuts_ == by_distortion


def test_a_class_among_the_columns_goes_before_y() -> None:
    frame, y = split()
    masker = Masker(rules(**{"class": "Income"}))
    expected = clone(masker).fit(frame, y)
    masker.fit(census(), frame["Sex"])
    assert masker.cuts_ == expected.cuts_
    assert masker.transform(census())["Income"].equals(y)


def test_the_class_gets_a_name_that_is_free() -> None:
    frame = census()[["Age", "Sex"]].set_axis(["y", "y_"], axis=1)
    masker = Masker(k=5).fit(frame, census()["Income"])
    assert masker.policy_.class_ == "y__"
    assert holds(masker, masker.transform(frame))


def test_a_policy_that_insists_on_classification_needs_y() -> None:
    frame, y = split()
    masker = Masker(rules(goal={"utility": "classification"}, **{"class": "Income"}))
    masker.fit(frame, y)
    refusal(lambda: masker.fit(frame), "needs a class")


# --- what comes out ------------------------------------------------------------------------------


def test_rows_keep_their_order_and_index_and_kept_columns_are_untouched() -> None:
    frame, y = split()
    frame = frame.assign(Zip=frame["Zip"].astype("category")).sample(frac=1, random_state=1)
    masker = Masker(k=10, over=KNOWN)
    masked = masker.fit_transform(frame, y[frame.index])
    assert masked.index.equals(frame.index)
    assert list(masked.columns) == list(frame.columns)
    kept = [name for name in frame.columns if name not in KNOWN]
    pd.testing.assert_frame_equal(masked[kept], frame[kept])
    for name in KNOWN:
        assert masked[name].dtype == pd.Series(["text"]).dtype
    pd.testing.assert_frame_equal(masker.transform(frame.iloc[5:9]), masked.iloc[5:9])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("asked", ["default", "pandas", "polars"])
def test_the_output_is_the_kind_that_is_asked_for(kind: str, asked: str) -> None:
    frame, y = split()
    frame = frame[["Hours", *KNOWN]]
    names = [f"x{i}" for i in range(4)] if kind == "numpy" else list(frame.columns)
    masker = Masker(k=10, over=names[1:]).set_output(transform=asked)
    masked = masker.fit_transform(as_kind(frame, kind), y)
    assert kind_of(masked) == (kind if asked == "default" else asked)
    assert masker.get_feature_names_out().tolist() == names
    cells = as_arrow(masked, names)
    assert cells.column_names == names
    assert cells.column(0).to_pylist() == frame["Hours"].tolist()
    expected = Masker(k=10, over=KNOWN).fit_transform(frame, y)
    assert cells.column(1).to_pylist() == expected["Age"].tolist()
    assert holds(masker, masked)


def test_arrays_and_lists_name_their_columns_and_keep_their_types() -> None:
    rows: list[list[Any]] = [[age, sex, 0.5] for age in range(20, 40) for sex in ("F", "M")]
    masker = Masker(k=4, over=["x0", "x1"])
    masked = masker.fit_transform(rows)
    assert not hasattr(masker, "feature_names_in_")
    assert masker.get_feature_names_out().tolist() == ["x0", "x1", "x2"]
    assert masker.get_feature_names_out(["a", "b", "c"]).tolist() == ["a", "b", "c"]
    assert masked.dtype == object
    assert set(masked[:, 2]) == {0.5}
    assert masked[0, 0].startswith("[20,")
    days = np.array([["2024-01-01"], ["2024-02-01"], ["2024-03-01"]], dtype="datetime64[D]")
    assert Masker(k=3).fit_transform(days)[0, 0] == "[2024-01-01,2024-03-01]"


def test_a_frame_with_numbers_for_names_keeps_them() -> None:
    frame = pd.DataFrame({0: [1, 2, 3, 4], 1: list("abab")})
    masker = Masker(k=2, over=["x0"])
    assert list(masker.fit_transform(frame).columns) == [0, 1]
    assert masker.get_feature_names_out().tolist() == ["x0", "x1"]


def test_dropped_columns_go_and_may_be_gone_already() -> None:
    table = make("census", ROWS, seed=3).drop_columns("Income")
    without_names = rules(drop=["Name"])
    masker = Masker(without_names).fit(table)
    assert masker.transform(table).column_names == table.column_names[1:]
    assert masker.get_feature_names_out().tolist() == table.column_names[1:]
    assert holds(masker, masker.transform(table), without_names)
    without = Masker(without_names).fit(table.drop_columns("Name"))
    assert without.cuts_ == masker.cuts_
    counted = rules(drop=["Name"], anonymity=[{"over": KNOWN, "k": 10, "of": ["Name"]}])
    assert not Masker(counted).fit(table).proof_.unchecked
    refusal(lambda: Masker(counted).fit(table.drop_columns("Name")), 'no column "Name"')


# --- numbers instead of labels -------------------------------------------------------------------


@pytest.mark.slow
@parametrize_with_checks(  # type: ignore[misc,untyped-decorator,unused-ignore]
    [Masker(k=2, output="midpoint")], expected_failed_checks=lambda masker: CANNOT
)
def test_scikit_learns_checks_of_numbers(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("kind", ["census", "bank", "clinic"])
def test_a_code_is_a_label_and_keeps_its_order(kind: str, written: Callable[[str], Path]) -> None:
    path, table = written(kind), make(kind, 500, seed=4)
    masker = Masker(path).fit(table)
    trees = Policy.load(path).taxonomies()
    shown = {name: masker.transform(table)[name].to_pylist() for name in masker.recodings_}
    for output in ("ordinal", "midpoint"):
        numbered = Masker(path, output=output).fit(table)
        assert numbered.cuts_ == masker.cuts_
        told = numbered.transform(table)
        for name, labels in shown.items():
            pairs = set(zip(labels, map(str, told[name].to_pylist()), strict=True))
            codes: dict[Any, float] = numbered.codes_[name]
            assert pairs == {(one, str(float(codes.get(one, np.nan)))) for one, _ in pairs}
            recoding = numbered.recodings_[name]
            if recoding.intervals and output == "midpoint":
                for one in recoding.intervals:
                    assert one.low <= codes[one.label] + at_zero(recoding.kind) <= one.high
                continue
            assert len({*codes.values()}) == len(codes)
            rising = [label for label in codes if label != recoding.other]
            assert [codes[label] for label in rising] == [*range(len(rising))]
            assert codes.get(recoding.other, -1) == -1
            by: Any = None
            if recoding.intervals:
                by = {one.label: one.low for one in recoding.intervals}.get
            elif name in trees:
                by = trees[name].labels.index
            assert rising == sorted(rising, key=by)


def at_zero(kind: str) -> int:
    return date(1970, 1, 1).toordinal() if kind == "date" else 0


def test_numbers_of_what_is_missing_hidden_or_new() -> None:
    days = pd.to_datetime(["1970-01-02", "1970-01-02", "1970-01-04", "1970-01-04", None, None])
    frame = pd.DataFrame(
        {
            "Job": ["Cook", "Cook", "Clerk", "Clerk", None, None],
            "Town": ["Ulm", "Ulm", "Bonn", "Bonn", None, None],
            "Day": days,
            "Noon": days + pd.Timedelta(hours=12),
        }
    )
    attributes = {"Job": {"mask": "generalize", "taxonomy": TREE}}
    told = rules(attributes=attributes, anonymity=[{"over": [*frame], "k": 2}])
    masker = Masker(told, output="midpoint").fit(frame)
    later = frame.assign(Job="Pilot", Town="Kiel", Day=days + pd.Timedelta(days=99))
    assert masker.transform(frame)["Job"].tolist()[:4] == [0, 0, 2, 2]  # Cook, Smith, Clerk, Judge
    assert masker.transform(frame)["Town"].tolist()[:4] == [1, 1, 0, 0]
    assert masker.transform(frame)["Day"].tolist()[:4] == [2, 2, 3, 3]
    assert masker.transform(frame)["Noon"].tolist()[:4] == [2.5, 2.5, 3.5, 3.5]
    assert masker.transform(frame).iloc[4:].isna().all(axis=None)
    assert masker.transform(later)[["Job", "Town"]].to_numpy().tolist() == [[-1.0, -1.0]] * 6
    out_of_range = masker.transform(later)["Day"]  # between the ends of all intervals together
    assert out_of_range.tolist()[:4] == [2] * 4
    assert out_of_range[4:].isna().all()
    hidden = rules(attributes=attributes, anonymity=[{"over": ["Town"], "k": 3}])
    assert set(Masker(hidden, output="ordinal").fit_transform(frame)["Town"]) == {-1.0}


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_come_in_any_kind_of_table(kind: str) -> None:
    frame, y = split()
    X = as_kind(frame[["Age", "Sex", "Hours"]], kind)
    over = ["x0", "x1"] if kind == "numpy" else ["Age", "Sex"]
    masker = Masker(k=10, over=over, output="ordinal")
    out = masker.fit_transform(X, y)
    assert kind_of(out) == kind
    cells = as_arrow(out, frame[["Age", "Sex", "Hours"]].columns)
    assert [str(one) for one in cells.schema.types[:2]] == ["double", "double"]
    assert cells.column(2).to_pylist() == frame["Hours"].tolist()
    if kind == "numpy":
        assert out.dtype == np.float64
        with_text = Masker(k=10, over=["x0"], output="ordinal").fit_transform(X)
        assert with_text.dtype == object  # a column of text is passed on as it is
        assert set(with_text[:, 1]) == {"Female", "Male"}
    for asked in ("pandas", "polars"):
        assert kind_of(clone(masker).set_output(transform=asked).fit_transform(X, y)) == asked


@pytest.mark.parametrize("output", ["ordinal", "midpoint"])
def test_any_model_can_follow_numbers(output: str) -> None:
    frame, y = split()
    for model in (LogisticRegression(max_iter=500), HistGradientBoostingClassifier(max_iter=5)):
        follows = make_pipeline(Masker(over=KNOWN), model)
        asked = {"masker__k": [10], "masker__output": [output]}
        search = GridSearchCV(follows, asked, cv=2, error_score="raise")
        search.fit(frame[[*KNOWN, "Hours"]], y)
        assert search.best_score_ > 0.5


# --- later rows ----------------------------------------------------------------------------------


def test_what_was_not_foreseen_is_shown_as_masked_as_can_be() -> None:
    frame = pd.DataFrame(
        {
            "Job": ["Cook", "Cook", "Clerk", "Clerk"],
            "Town": ["Ulm", "Ulm", "Bonn", "Bonn"],
            "Age": [20, 20, 40, 40],
        }
    )
    attributes = {"Job": {"mask": "generalize", "taxonomy": TREE}}
    known = [{"over": ["Job", "Town", "Age"], "k": 2}]
    masker = Masker(rules(attributes=attributes, anonymity=known)).fit(frame)
    assert masker.transform(frame)[:1].values.tolist() == [["Cook", "Ulm", "[20,40)"]]
    later = pd.DataFrame(
        {"Job": ["Judge", "Pilot", None], "Town": ["Bonn", "Kiel", None], "Age": [30.5, 41.0, None]}
    )
    assert masker.transform(later).values.tolist() == [
        ["Judge", "Bonn", "[20,40)"],  # a leaf of the taxonomy that no fitted row holds
        ["ANY", "*", "*"],
        ["ANY", "*", "*"],
    ]
    assert len(masker.transform(later[:0])) == 0


def test_missing_means_what_the_policy_says() -> None:
    frame = pd.DataFrame({"Town": ["Ulm", "Ulm", "?", "?"]})
    told = rules(missing_values=["?"], anonymity=[{"over": ["Town"], "k": 2}])
    masker = Masker(told)
    assert masker.fit_transform(frame)["Town"].isna().tolist() == [False, False, True, True]
    strict = Masker(told.model_copy(update={"missing": "error"})).fit(frame[:2])
    assert strict.transform(frame[:2])["Town"].tolist() == ["Ulm", "Ulm"]
    refusal(lambda: strict.transform(frame), 'column "Town": 2 rows have no value')


def test_blanks_are_trimmed_if_the_policy_says_so() -> None:
    frame = pd.DataFrame({"Town": ["Ulm", " Ulm", "Bonn", "Bonn "]})
    trimming = rules(trim=True, anonymity=[{"over": ["Town"], "k": 2}])
    masked = Masker(trimming).fit_transform(frame)
    assert masked["Town"].tolist() == ["Ulm", "Ulm", "Bonn", "Bonn"]


def test_the_columns_must_be_those_that_were_fitted() -> None:
    frame, y = split()
    masker = Masker(k=10, over=KNOWN)
    with pytest.raises(NotFittedError):
        masker.transform(frame)
    with pytest.raises(NotFittedError):
        masker.get_feature_names_out()
    masker.fit(frame, y)
    for wrong in (frame.drop(columns="Age"), frame[frame.columns[::-1]]):
        with pytest.raises(ValueError, match="feature names"):
            masker.transform(wrong)


# --- travelling ----------------------------------------------------------------------------------


def test_a_pickled_masker_masks_alike_and_holds_no_hidden_value() -> None:
    towns = ["Ulm"] * 6 + ["Bonn"] * 6 + [f"secret-town-{i}" for i in range(4)]
    frame = pd.DataFrame({"Town": towns, "Note": [f"secret-note-{i}" for i in range(16)]})
    masker = Masker(k=4, over=["Town"])
    masked = masker.fit_transform(frame, [f"secret-class-{i % 2}" for i in range(16)])
    assert holds(masker, masked)
    assert masked["Town"].tolist() == ["Ulm"] * 6 + ["Bonn"] * 6 + ["*"] * 4
    stored = pickle.dumps(masker)
    assert b"secret" not in stored
    numbers = clone(masker).set_params(output="ordinal").fit(frame)
    assert b"secret" not in pickle.dumps(numbers)
    pd.testing.assert_frame_equal(pickle.loads(stored).transform(frame), masked)


def test_a_clone_has_the_parameters_and_nothing_learnt(written: Callable[[str], Path]) -> None:
    told = Policy.load(written("bank"))
    masker = clone(Masker(told))
    assert masker.get_params() == {"policy": told, "k": None, "over": None, "output": "text"}
    table = make("bank", 1000, seed=1)
    masker.fit(table, table["Class"])
    assert not hasattr(clone(masker), "recodings_")


# --- among other steps ---------------------------------------------------------------------------


def test_a_model_learns_from_masked_rows() -> None:
    frame, y = split()
    model = make_pipeline(
        Masker(k=15, over=KNOWN),
        OneHotEncoder(handle_unknown="ignore"),
        LogisticRegression(max_iter=500),
    )
    train, test, y_train, y_test = train_test_split(frame, y, random_state=0)
    model.fit(train, y_train)
    majority = (y_test == y_train.mode()[0]).mean()
    assert model.score(test, y_test) > majority
    assert holds(model[0], model[0].transform(train))
    assert cross_val_score(model, frame, y, cv=3).min() > majority - 0.05


def test_k_can_be_searched() -> None:
    frame, y = split()
    model = make_pipeline(
        Masker(over=["Age", "Sex"]), OneHotEncoder(handle_unknown="ignore"), LogisticRegression()
    )
    search = GridSearchCV(model, {"masker__k": np.array([5, 150])}, cv=2)
    search.fit(frame[["Age", "Sex"]], y)
    masker = search.best_estimator_[0]
    assert masker.k in (5, 150)
    assert holds(masker, masker.transform(frame[["Age", "Sex"]]))


def test_some_columns_can_be_masked_and_others_passed_on() -> None:
    frame, y = split()
    columns = make_column_transformer((Masker(k=10), KNOWN), remainder="passthrough")
    columns.set_output(transform="pandas")
    out = columns.fit_transform(frame, y)
    assert list(out.columns[:3]) == [f"masker__{name}" for name in KNOWN]
    masker = columns.named_transformers_["masker"]
    assert holds(masker, out.iloc[:, :3].set_axis(KNOWN, axis=1))


def test_models_without_classes_work_too() -> None:
    frame, _ = split()
    steps = Masker(k=20, over=KNOWN), OneHotEncoder(handle_unknown="ignore")
    groups = make_pipeline(*steps, KMeans(2, n_init=1, random_state=0)).fit_predict(frame)
    assert set(groups) == {0, 1}
    line = make_pipeline(*steps, LinearRegression()).fit(frame, frame["Hours"] / 7)
    assert np.isfinite(line.predict(frame)).all()


# --- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("masker", "message"),
    [
        (Masker(), "either a policy, or k"),
        (Masker(over=["Age"]), "either a policy, or k"),
        (Masker("policy.toml", k=3), "either a policy, or k"),
        (Masker("policy.toml", over=["Age"]), "either a policy, or k"),
        (Masker("no-such-policy.toml"), "no such policy file"),
        (Masker(k=0), "integer of at least 1"),
        (Masker(k=2.5), "integer of at least 1"),  # type: ignore[arg-type]
        (Masker(k=True), "integer of at least 1"),
        (Masker(k=2, over="Age"), "list of column names"),
        (Masker(k=2, over=[]), "list of column names"),
        (Masker(k=2, over=3), "list of column names"),  # type: ignore[arg-type]
        (Masker(k=2, over=["Agee"]), 'Did you mean "Age"'),
        (Masker(Policy()), "promises nothing"),
        (Masker(k=2, output="numbers"), '"text", "ordinal" or "midpoint"'),  # type: ignore[arg-type]
    ],
)
def test_parameters_are_checked_on_fit(masker: Masker, message: str) -> None:
    frame, y = split()
    refusal(lambda: masker.fit(frame, y), message)


@pytest.mark.parametrize("said", [{"missing": "drop"}, {"suppress_records": 0.02}])
def test_rows_cannot_be_left_out(said: dict[str, Any]) -> None:
    told = rules(**said, anonymity=[{"over": ["a"], "k": 1}])
    refusal(lambda: Masker(told).fit(pd.DataFrame({"a": ["x"]})), "as many rows as it gets")


def test_a_table_that_cannot_keep_the_promise_is_refused() -> None:
    refusal(lambda: Masker(k=5).fit([[1], [2], [3]]), "k = 5", kind=Unsatisfiable)


def test_a_bad_y_is_refused() -> None:
    rows = [[1], [2], [3]]
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        Masker(k=2).fit(rows, ["a", "b"])
    with pytest.raises(ValueError, match="NaN"):
        Masker(k=2).fit(rows, [1.0, 2.0, float("nan")])


def test_mixed_cells_are_refused_without_telling_them() -> None:
    for odd in ("secret", {"key": "secret"}, 2**70):
        frame = pd.DataFrame({"a": [1, odd, 3]}, dtype=object)
        for X in (frame, frame.to_numpy()):
            caught = refusal(partial(Masker(k=2).fit, X), "several types")
            assert "secret" not in str(caught)
            assert caught.__suppress_context__


def test_without_scikit_learn_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.base", None)
    spec = importlib.util.spec_from_file_location("alone", reticent.sklearn.__file__)
    assert spec is not None
    assert spec.loader is not None
    with pytest.raises(ImportError, match=r'pip install "reticent\[sklearn\]"'):
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


# --- the tree ------------------------------------------------------------------------------------


@parametrize_with_checks(  # type: ignore[misc,untyped-decorator,unused-ignore]
    [TreeClassifier(), TreeClassifier(splits="binary", criterion="gain", confidence=None)]
)
def test_scikit_learns_checks_of_the_tree(estimator: Any, check: Any) -> None:
    check(estimator)
