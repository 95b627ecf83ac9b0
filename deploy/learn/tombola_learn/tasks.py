"""The trainings of learn.sh by name, and which rows are whose.

rows_of() keeps some rows of the training file as public ones.  Settings are chosen on them alone (choose.py), and ranges, centres
and axes are taken from them; they are no devices.  The test rows are looked at once, for the table.
"""
import functools

from . import datasets, pictures, shuttle

__all__ = ["MADE", "TASKS", "rows_of"]


@functools.cache
def rows_of(name, folder):
    """(devices, public, test), each (x, y), of the data set that a task is about."""
    about = name.partition("-")[0]
    return datasets.fashion() if about == "fashion" else getattr(datasets, about)(f"{folder}/{about}.csv")


def task(made, name, folder):
    rows = rows_of(name, folder)
    return made(rows, len(rows[0][0]))


MADE = {**shuttle.TASKS, **pictures.TASKS, "digits": pictures.digits}
TASKS = {name: functools.partial(task, made, name) for name, made in MADE.items()}
