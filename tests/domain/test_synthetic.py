"""Made-up tables: legal, even, repeatable, and readable as any other."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from frith import Categorical, Domain, Numeric, open_table
from frith.domain.columns import columns_of
from frith.domain.encoding import encode_records
from frith.domain.synthetic import synthetic_table
from frith.kernels import RecordCount
from tests.strategies import domains, examples
from tests.tables import person_domain, small_domain

FALSE_FAILURE = 1e-9  # at most this chance that a correct build fails an assertion


@examples(150)
@given(domains(person=True), st.integers(0, 40), st.integers(0, 99))
def test_every_cell_is_read_as_the_code_it_was_drawn_for(domain, n, seed):
    table = synthetic_table(domain, n, np.random.default_rng(seed))
    rng = np.random.default_rng(seed)
    batch, known = encode_records(columns_of(table)[0], domain)
    assert known.all()
    for a, attribute in enumerate(domain.attributes):
        assert batch.codes[:, a].tolist() == rng.integers(0, attribute.size, n).tolist()
        if type(attribute) is Numeric:
            rng.random(n)
    assert batch.labels.tolist() == rng.integers(0, domain.n_labels, n).tolist()
    assert table.column_names == [*domain.names, domain.label.name, domain.person.column]
    assert table[domain.person.column].to_pylist() == list(range(n))


@examples(50)
@given(domains())
def test_numbers_are_within_their_bounds_and_missing_only_where_declared(domain):
    table = synthetic_table(domain, 50, np.random.default_rng(0))
    for attribute in domain.attributes:
        cells = table[attribute.name]
        if type(attribute) is Numeric:
            numbers = [x for x in cells.to_pylist() if x is not None]
            assert all(attribute.low <= x <= attribute.high for x in numbers)
        assert cells.null_count == 0 or attribute.missing


def test_one_seed_gives_one_table():
    first, same, other = (
        synthetic_table(small_domain(), 100, np.random.default_rng(seed)) for seed in (1, 1, 2)
    )
    assert first.equals(same)
    assert not first.equals(other)


def test_engines_count_every_record_and_every_person():
    for domain in (small_domain(), person_domain(records=1)):
        table = synthetic_table(domain, 300, np.random.default_rng(0))
        assert open_table(table, domain).aggregate(RecordCount()).tolist() == [300]
    assert synthetic_table(small_domain(), 0, np.random.default_rng(0)).num_rows == 0


def test_types_are_those_of_the_declared_values():
    lists = [(1, 2.0), (0.5, 1), (False, True), ("a", "b"), (1, 2**70 + 1), (0.5, 2**63)]
    attributes = [Categorical(str(i), values) for i, values in enumerate(lists)]
    domain = Domain([*attributes, Numeric("n", 0, 1)], Categorical("class", (0, 1)))
    types = synthetic_table(domain, 1, np.random.default_rng(0)).schema.types
    number, text = pa.float64(), pa.string()
    assert types == [pa.int64(), number, pa.bool_(), text, text, number, number, pa.int64()]


def test_codes_are_drawn_evenly_on_any_scale():
    """Hoeffding for the share of each code, over all of them at once."""
    n, domain = (
        20_000,
        Domain(
            [Categorical("a", tuple("abc")), Numeric("b", 0, 1e6, "log", cells=4, missing=True)],
            Categorical("class", (0, 1)),
        ),
    )
    table = synthetic_table(domain, n, np.random.default_rng(0))
    batch, _ = encode_records(columns_of(table)[0], domain)
    tolerance = np.sqrt(np.log(2 * 10 / FALSE_FAILURE) / (2 * n))
    for codes, size in ((batch.codes[:, 0], 3), (batch.codes[:, 1], 5), (batch.labels, 2)):
        shares = np.bincount(codes, minlength=size) / n
        assert np.abs(shares - 1 / size).max() <= tolerance
