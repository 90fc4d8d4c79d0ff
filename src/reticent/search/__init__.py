"""Search that is personal without telling all: a measured part of a person's interests.

Everything about the person stays on the person's machine; what leaves it is seen and counted first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reticent.doors import opened_on_use

if TYPE_CHECKING:
    from reticent.search.evaluation.flow import evaluate as evaluate
    from reticent.search.exposing import ExposedProfile as ExposedProfile
    from reticent.search.exposing import ProfileExposure as ProfileExposure
    from reticent.search.exposing import expose as expose
    from reticent.search.flow import build_profile as build_profile
    from reticent.search.flow import index_texts as index_texts
    from reticent.search.flow import query as query
    from reticent.search.index import LocalIndex as LocalIndex
    from reticent.search.profile import Profile as Profile
    from reticent.search.profile import ProfileNode as ProfileNode
    from reticent.search.profile_file import read_profile as read_profile
    from reticent.search.profile_file import write_profile as write_profile
    from reticent.search.ranking import answer as answer
    from reticent.search.remote import engine_at as engine_at
    from reticent.search.served import serve as serve
    from reticent.search.words import Language as Language

_HOMES = {
    "evaluation.flow": ["evaluate"],
    "exposing": ["ExposedProfile", "ProfileExposure", "expose"],
    "flow": ["build_profile", "index_texts", "query"],
    "index": ["LocalIndex"],
    "profile": ["Profile", "ProfileNode"],
    "profile_file": ["read_profile", "write_profile"],
    "ranking": ["answer"],
    "remote": ["engine_at"],
    "served": ["serve"],  # a module of the same name would take its place
    "words": ["Language"],
}
__getattr__, __dir__ = opened_on_use(__name__, _HOMES)
__all__ = [
    "ExposedProfile",
    "Language",
    "LocalIndex",
    "Profile",
    "ProfileExposure",
    "ProfileNode",
    "answer",
    "build_profile",
    "engine_at",
    "evaluate",
    "expose",
    "index_texts",
    "query",
    "read_profile",
    "serve",
    "write_profile",
]
