"""What the progress bar says of a run."""

from symbayes.engine.progress import Bar, RateColumn, WordColumn


def test_a_resumed_run_begins_with_the_blocks_that_are_done():
    bar = Bar("hmc", blocks=10, done=4, gradients=50.0, visible=False)
    bar.step({"block": 4, "step_size": 0.0123, "energy": [1.0]})
    (task,) = bar._progress.tasks
    assert (task.completed, task.total) == (5, 10)
    assert task.fields["note"] == "step size 0.012"


def test_the_rate_is_in_gradients_and_not_in_blocks():
    (task,) = Bar("hmc", blocks=10, done=0, gradients=5000.0, visible=False)._progress.tasks
    assert RateColumn().render(task).plain == ""
    task.finished_speed = 3.0
    assert RateColumn().render(task).plain == "1,500 grad/s"


def test_at_the_end_the_time_is_that_taken():
    bar = Bar("hmc", blocks=1, done=0, gradients=1.0, visible=False)
    (task,) = bar._progress.tasks
    assert WordColumn().render(task).plain == "left"
    bar.step({})
    assert WordColumn().render(task).plain == "took"
