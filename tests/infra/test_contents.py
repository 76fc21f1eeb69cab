"""The code of a bundle is closed: what its modules import of ours is in it."""

from __future__ import annotations

import pytest

from infra.packaging.contents import JOB, JUDGE, Bundle
from tests.unit.layers import covers, own_files, product


@pytest.mark.parametrize("bundle", [JOB, JUDGE], ids=lambda each: each.name)
def test_what_a_module_of_a_bundle_imports_is_in_it(bundle: Bundle) -> None:
    """The judge function's bundle names single modules of the job; one that is missing would show on AWS only."""
    own = {file for file in product() if any(covers(part, file) for part in bundle.ours)}
    missing = {str(other) for file in own for other in own_files(file) if other not in own}

    assert own
    assert missing == set()
