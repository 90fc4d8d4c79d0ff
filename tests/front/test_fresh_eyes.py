"""What people met when they first used the product: each a family of mistakes that stays mended."""

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import reticent
from at_hand import refusal
from reticent.errors import Broken, InputError
from reticent.refine.measures import SmallestGroup
from reticent.sample import make_sample
from reticent.tables import flow

RETICENT = Path(sys.executable).with_name("reticent")
POLICY = """
class = "C"
keep = ["W"]
[attributes.Job]
mask = "generalize"
taxonomy = "job.csv"
[[anonymity]]
over = ["Job"]
k = 2
"""


@pytest.fixture(autouse=True)
def data(work: Path) -> None:
    Path("data.csv").write_text("Job,W,C\nCook,a,y\nCook,b,n\nMover,a,y\nMover,b,n\n")
    Path("job.csv").write_text("Cook,ANY\nMover,ANY\n")
    Path("policy.toml").write_text(POLICY)


def test_output_and_trace_appear_together_or_not_at_all(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, text: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("reticent.releases.publish.write_text", full)
    with pytest.raises(InputError, match="No space left"):
        flow.release("data.csv", "policy.toml", output="out.csv", trace="trace.jsonl")
    assert not (Path() / "out.csv").exists()
    assert not (Path() / "trace.jsonl").exists()


def test_a_recipient_verifies_without_the_taxonomy(work: Path) -> None:
    flow.release("data.csv", "policy.toml", output="release")
    assert reticent.verify("release", "release/private/policy.toml").holds
    (Path() / "job.csv").unlink()
    for place in ("release", "release/public", "release/public/data.csv"):
        assert reticent.verify(place, "policy.toml").holds
    refusal(lambda: reticent.verify("data.csv", "policy.toml"), "no taxonomy file")


def test_a_taxonomy_of_any_depth_is_released_and_checked(work: Path) -> None:
    """Its manifest can be read back, although JSON nests no further than about a thousand levels."""
    above = [f"n{i}" for i in range(1500)]
    Path("deep.csv").write_text("".join(",".join([leaf, *above]) + "\n" for leaf in "ab"))
    Path("data.csv").write_text("X\n" + "a\nb\n" * 3)
    Path("deep.toml").write_text(
        '[attributes.X]\nmask = "generalize"\ntaxonomy = "deep.csv"\n'
        '[[anonymity]]\nover = ["X"]\nk = 2\n[goal]\nsearch = "greedy"\n'
    )
    found = flow.release("data.csv", "deep.toml", output="deep")
    assert found.cuts == {"X": ["a", "b"]}
    Path("deep.csv").unlink()
    assert reticent.verify("deep", "deep.toml").holds


def test_whole_numbers_beyond_floats_get_true_labels() -> None:
    numbers = [2**53] * 3 + [2**53 + 1] * 3
    table = pa.table({"N": numbers, "C": ["y"] * 3 + ["n"] * 3})
    attributes = {"N": {"mask": "discretize", "range": [0.5, 1e19]}}
    policy = {"class": "C", "attributes": attributes, "anonymity": [{"over": ["N"], "k": 3}]}
    labels = reticent.release(table, policy).table["N"].to_pylist()
    assert sorted(set(labels)) == [f"[0.5,{2**53 + 1})", f"[{2**53 + 1},10000000000000000000]"]
    assert sorted(labels.count(label) for label in set(labels)) == [3, 3]


def test_search_and_verifier_must_agree_on_the_value(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(self: SmallestGroup, promise: object = None) -> bool:
        self.value = 3  # of 4 rows
        return True

    monkeypatch.setattr(SmallestGroup, "holds", wrong)
    with pytest.raises(Broken):
        flow.release("data.csv", "policy.toml", output="out.csv", max_steps=0)
    assert not (Path() / "out.csv").exists()


def test_numbers_and_dates_live_beside_each_other_under_a_date_format(work: Path) -> None:
    (Path() / "de.csv").write_text("n;d\n007;24.12.2024\n008;25.12.2024\n")
    masked = {name: {"mask": "discretize"} for name in "nd"}
    policy = {"attributes": masked, "anonymity": [{"over": ["n", "d"], "k": 1}]}
    reading = reticent.Reading(date_format="%d.%m.%Y")
    shown = flow.release("de.csv", policy, reading=reading).cuts
    assert shown["n"] == ["[7,8)", "[8,8]"]
    assert shown["d"][0] == "[2024-12-24,2024-12-25)"


@pytest.mark.parametrize("share", ["0." + "5" * 60, f"{10**40 - 1}/{10**40}"])
def test_thresholds_of_any_length_are_exact(share: str) -> None:
    table = pa.table({"J": ["a", "a", "b", "b"], "S": ["x", "y", "x", "y"]})
    policy = {"confidence": [{"over": ["J"], "sensitive": {"S": "*"}, "at_most": share}]}
    assert reticent.release(table, policy).proof.holds


def test_a_sensitive_value_that_means_missing_counts_for_nobody() -> None:
    table = pa.table({"J": ["a", "a", "b", "b"], "S": ["?", "?", "x", "y"]})
    template = {"over": ["J"], "sensitive": {"S": ["?"]}, "at_most": 0.5, "allow_absent": True}
    found = reticent.release(table, {"missing_values": ["?"], "confidence": [template]})
    assert found.cuts == {"J": ["a", "b"]}


def test_a_marker_may_not_look_like_the_full_interval() -> None:
    table = pa.table({"A": [1, 2, None, 4]})
    data = {
        "marker": "[0,5]",
        "attributes": {"A": {"mask": "discretize", "intervals": [0, 2, 5]}},
        "anonymity": [{"over": ["A"], "k": 1}],
    }
    refusal(lambda: reticent.release(table, data), "full interval")


def test_values_that_the_cut_hides_are_foreseen(work: Path) -> None:
    make_sample("census", 500, 1, output="people")
    flow.release("people/census.csv", "people/policy.toml", output="release")
    done = flow.apply("release", "people/census.csv", output="again.csv")
    assert done["unforeseen"] == {}


def test_intervals_are_listed_as_they_rise() -> None:
    table = pa.table({"A": list(range(120)), "C": [str(i // 10 % 2) for i in range(120)]})
    policy = {"class": "C", "anonymity": [{"over": ["A"], "k": 5}]}
    shown = reticent.release(table, policy).cuts["A"]
    lows = [float(label[1:].split(",")[0]) for label in shown]
    assert len(lows) > 5
    assert lows == sorted(lows)


def test_a_file_without_a_published_column_is_not_verified(work: Path) -> None:
    (Path() / "short.csv").write_text("Job,W\nANY,a\nANY,b\n")
    refusal(lambda: reticent.verify("short.csv", "policy.toml"), 'lacks "C"')
    selection = pa.table({"Job": ["ANY", "ANY"]})
    assert reticent.verify(selection, "policy.toml").holds


def test_plain_data_makes_a_policy_or_says_why_not() -> None:
    with pytest.raises(InputError, match="without quotes"):
        reticent.release(pa.table({"A": ["x"]}), {"anonymity": [{"over": ["A"], "k": "2"}]})


@pytest.mark.net
@pytest.mark.parametrize("streams", [">&-", "2>&-", ">/dev/full", "| true"])
def test_a_reader_who_has_gone_changes_no_exit_code(work: Path, streams: str) -> None:
    command = f"{RETICENT} release data.csv -p policy.toml -o out.csv {streams}"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], capture_output=True)
    assert done.returncode == 0, done.stderr
    assert (Path() / "out.csv").exists()


@pytest.mark.net
def test_without_a_place_for_compiled_loops_it_still_works(work: Path) -> None:
    code = (
        "import numba.core.caching as c\n"
        "c.CacheImpl._locator_classes = []\n"
        "import reticent\n"
        "reticent.release('data.csv', 'policy.toml', output='out.csv')\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert (Path() / "out.csv").exists()
