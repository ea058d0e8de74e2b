"""Durable studies: searches that live in SQLite or PostgreSQL and are shared by many workers."""

from oddarm.store.catalog import create_study, forget_pulls, list_studies, open_study
from oddarm.store.history import Moment
from oddarm.store.info import Leases, Pull, StudyInfo, Worker
from oddarm.store.study import Study
from oddarm.store.transaction import StudyTransaction

__all__ = [
    "Leases",
    "Moment",
    "Pull",
    "Study",
    "StudyInfo",
    "StudyTransaction",
    "Worker",
    "create_study",
    "forget_pulls",
    "list_studies",
    "open_study",
]
