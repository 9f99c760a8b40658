"""What a warp waits for besides memory, and the blocks of grids in which others wait."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from cutune.model.fit.fitted_model import FittedModel, read_models
from cutune.model.performance.mechanistic import compose
from cutune.model.rational.functions import constant_function
from cutune.model.rational.program import evaluate, point
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.device.thread_block import Block

H200 = DeviceProfile.named("h200")
#: Adds a row to each row of a matrix.
ADD = read_models(Path(__file__).parents[2] / "recorded" / "add_models.json")[0]
SIDE = 2048


def values(
    model: FittedModel, extents: Block = (SIDE, SIDE, 1), device: DeviceProfile = H200
) -> dict[str, np.ndarray]:
    """Everything that the model says of one launch."""
    at = point(dict.fromkeys(model.kernel.parameters, SIDE), extents)
    return evaluate(compose(model, device), at)


def chained(chain: int, slots: int) -> FittedModel:
    """As many slots per thread, of which so many follow each other."""
    names, threads = ADD.kernel.variables, SIDE * SIDE
    return replace(
        ADD,
        chain=constant_function(names, chain * threads),
        instructions=constant_function(names, slots * threads),
        working=constant_function(names, threads),
    )


def test_a_warp_alone_waits_for_a_chain_and_not_for_what_is_beside_it() -> None:
    per_slot = float(H200.model.latency_cycles_per_slot)
    short, long = values(chained(10, 400)), values(chained(110, 400))
    np.testing.assert_allclose(long["latency_fixed"] - short["latency_fixed"], 100 * per_slot)
    more = values(chained(10, 800))
    np.testing.assert_array_equal(more["latency_fixed"], short["latency_fixed"])
    assert np.all(more["throughput_cycles"] > short["throughput_cycles"])


def test_fp32_units_are_waited_for_where_they_are_fewer_than_threads_that_are_issued() -> None:
    names, count = ADD.kernel.variables, 400 * SIDE * SIDE
    model, issued = replace(chained(1, 400), single=constant_function(names, count)), {}
    for name in ("h200", "a100"):
        device = DeviceProfile.named(name)
        alone, found = (values(one, device=device) for one in (chained(1, 400), model))
        issued[name] = found["issue_cycles"] / alone["issue_cycles"]
    np.testing.assert_array_equal(issued["h200"], 1)
    # A warp takes its unit for two cycles, and the scheduler for one.
    np.testing.assert_allclose(issued["a100"], 9 ** (1 / 3), rtol=0.01)


def in_phases(chain: int) -> FittedModel:
    """Warps that wait for each other in each round, with 400 slots of which so many are a chain."""
    names = ADD.kernel.variables
    return replace(chained(chain, 400), looped=True, barriers=constant_function(names, 1))


def test_between_barriers_a_block_works_beside_the_chain_of_a_warp() -> None:
    found, long = values(in_phases(0)), values(in_phases(4000))
    rounds = np.maximum(1, np.ceil(found["blocks"] / found["wave"]))
    work = found["cycles_per_warp"] * found["warps"]
    rest = found["latency_cycles"]
    np.testing.assert_allclose(found["waiting_cycles"], (rest + work) * rounds, rtol=0.01)
    # Four thousand slots are longer than the work of most blocks: that is hidden.
    chain = 4000 * float(H200.model.latency_cycles_per_slot)
    both = (chain**3 + work**3) ** (1 / 3)
    np.testing.assert_allclose(long["waiting_cycles"], (rest + both) * rounds, rtol=0.01)


def test_blocks_count_in_a_dimension_that_had_one_when_it_was_measured() -> None:
    # As of a copy whose tile is as high as the matrix of the runs.
    x, _, z = ADD.kernel.guards
    kernel = replace(ADD.kernel, guards=(x, None, z), recorded=(((SIDE, 64), (SIDE, 1, 1)),))
    alone = values(replace(ADD, kernel=kernel))
    covered = replace(kernel, covers=(None, "(NJ + 63) / 64 * 1", None))
    both = values(replace(ADD, kernel=covered))
    rows = np.array([-(-SIDE // block[1]) for block in ADD.blocks])
    np.testing.assert_array_equal(both["blocks"], alone["blocks"] * rows)


def test_idle_warps_keep_their_places_as_long_as_their_block_works() -> None:
    rows, columns = 8, 1 << 22
    working = constant_function(ADD.kernel.variables, rows * columns)
    flat = replace(ADD, working=working, chain=working, instructions=working)
    found = values(flat, (columns, rows, 1))
    full, idle = ADD.blocks.index((32, 8, 1)), ADD.blocks.index((32, 32, 1))
    # An SM holds as many warps of either, but three of four in blocks of 32 rows have no row.
    assert found["active_warps"][full] == found["active_warps"][idle]
    assert found["waiting_cycles"][idle] > 2.5 * found["waiting_cycles"][full]
