"""Our Adam gives the bits of torch's, also from a saved state, and does not import torch's compiler."""

import subprocess
import sys

import pytest
import torch

from kinema.learn.adam import Adam
from kinema.tensor_files import optimizer_tensors, restore_optimizer


@pytest.mark.parametrize(("betas", "epsilon"), [((0.9, 0.999), 1e-8), ((0.8, 0.99), 1e-3)])
def test_steps_are_those_of_torch(betas, epsilon):
    first = [torch.linspace(-1, 2, 5), torch.linspace(0, 3, 6).reshape(2, 3).double()]
    ours, theirs = ([x.clone().requires_grad_() for x in first] for _ in range(2))
    (groups, others) = ([{"params": [x], "lr": rate} for x, rate in zip(xs, (0.1, 0.01))] for xs in (ours, theirs))
    mine = Adam(groups, betas=betas, epsilon=epsilon)
    other = torch.optim.Adam(others, betas=betas, eps=epsilon, foreach=False)
    for step in range(12):
        if step == 6:  # go on from a saved state
            saved = optimizer_tensors(mine)
            mine = Adam(mine.param_groups, betas=betas, epsilon=epsilon)
            restore_optimizer(mine, saved)
        for parameters, optimizer in ((ours, mine), (theirs, other)):
            optimizer.zero_grad()
            torch.stack([(x.square() + x.sin()).sum() for x in parameters]).sum().backward()
            optimizer.step()
    for a, b, start in zip(ours, theirs, first):
        assert torch.equal(a, b)
        assert not torch.equal(a, start)


def test_a_parameter_without_gradient_stays():
    moved, still = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    optimizer = Adam([moved, still], lr=0.1)
    (2 * moved).sum().backward()
    optimizer.step()
    # The first step of Adam is the rate in the direction of the gradient's sign.
    torch.testing.assert_close(moved.detach(), torch.full((2,), 0.9))
    assert torch.equal(still.detach(), torch.ones(2))


def test_a_job_does_not_wait_for_the_compiler():
    code = (
        "import sys, torch; from kinema.distill.loop import Adam; from kinema.physics.search import Adam; "
        "from kinema.render.refine import Adam; "
        "x = torch.ones(2, requires_grad=True); x.sum().backward(); Adam([x]).step(); "
        "assert 'torch._dynamo' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
