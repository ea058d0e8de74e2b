"""Durable studies: searches that live in SQLite or PostgreSQL and are shared by many workers."""

from oddarm.store.catalog import create_study, forget_pulls, list_studies, open_study
from oddarm.store.info import Pull, StudyInfo
from oddarm.store.study import Study
from oddarm.store.transaction import StudyTransaction

__all__ = [
    "Pull",
    "Study",
    "StudyInfo",
    "StudyTransaction",
    "create_study",
    "forget_pulls",
    "list_studies",
    "open_study",
]
