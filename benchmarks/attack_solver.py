"""The constraint program of the reconstruction: CP-SAT improves a table, and bounds all of them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from attack_reconstruction import Found, Seen, tree_bound
from attack_tables import Binary, Bits

_FINE = 8  # parts of a count that are told apart, where counts are no whole numbers
_WEIGHTS = 1_000  # parts of the largest weight


def improve(seen: Seen, table: Binary, start: Found, seconds: float, workers: int) -> Found:
    """The likeliest table that CP-SAT finds in the time, beginning with `start`, and a bound on all."""
    from ortools.sat.python import cp_model

    order = np.argsort(start.y, kind="stable")
    X, y = start.X[order], start.y[order]
    model = cp_model.CpModel()
    bits = [[model.new_bool_var(f"x{i}_{k}") for k in range(X.shape[1])] for i in range(len(X))]
    labels = [model.new_bool_var(f"y{i}") for i in range(len(X))]
    for before, after in itertools.pairwise(labels):  # records have no order of their own
        model.add_implication(before, after)
    for i, row in enumerate(bits):
        for group in table.groups:
            model.add_exactly_one(row[k] for k in group)
        for k, bit in enumerate(row):
            model.add_hint(bit, int(X[i, k]))
        model.add_hint(labels[i], int(y[i]))
    whole = bool(np.all(seen.said == np.round(seen.said)))
    fine = 1 if whole else _FINE
    heaviest = float(seen.weight.max())
    costs = []
    for leaves in seen.paths:
        inside = _leaf_variables(model, leaves, bits, labels, X, y)
        for v, _ in leaves:
            weight = round(_WEIGHTS * float(seen.weight[v]) / heaviest)
            for c in (0, 1):
                off = fine * sum(inside[v, c]) - round(fine * float(seen.said[v, c]))
                costs.append(weight * _distance(model, off, len(X), fine, float(seen.said[v, c])))
    model.minimize(sum(costs))
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = workers
    solver.parameters.cp_model_probing_level = 0  # presolving would take most of the time
    solver.parameters.symmetry_level = 0
    solver.parameters.max_presolve_iterations = 1
    status = solver.solve(model)
    unit, least = heaviest / (_WEIGHTS * fine), tree_bound(seen, len(X))
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Found(start.X, start.y, start.cost, least, "not solved", solver.wall_time)
    best = np.array([[solver.value(b) for b in row] for row in bits], dtype=np.int8)
    found = np.array([solver.value(b) for b in labels], dtype=np.int8)
    outcome = "optimal" if status == cp_model.OPTIMAL else "feasible"
    cost, bound = solver.objective_value * unit, solver.best_objective_bound * unit
    return Found(best, found, cost, max(least, bound), outcome, solver.wall_time)


def _leaf_variables(model: Any, leaves: Any, bits: Any, labels: Any, X: Bits, y: Bits) -> Any:
    """For each leaf and label, for each record whether it is there with that label."""
    inside: dict[tuple[int, int], list[Any]] = {(v, c): [] for v, _ in leaves for c in (0, 1)}
    for i, row in enumerate(bits):
        here = []
        for v, path in leaves:
            is_there = all(X[i, a] == bit for a, bit in path.items())
            for c in (0, 1):
                var = model.new_bool_var("")
                for a, bit in path.items():
                    model.add_implication(var, row[a] if bit else row[a].negated())
                model.add_implication(var, labels[i] if c else labels[i].negated())
                model.add_hint(var, int(is_there and y[i] == c))
                inside[v, c].append(var)
                here.append(var)
        model.add_exactly_one(here)
    return inside


def _distance(model: Any, off: Any, n: int, fine: int, said: float) -> Any:
    """|off|, which is linear where a noisy count is one that no table can reach."""
    if said <= 0:
        return off
    if said >= n:
        return -off
    distance = model.new_int_var(0, fine * n + 1, "")
    model.add_abs_equality(distance, off)
    return distance
