"""bends.py - plans of rounds that ask for tags, classes, slots, prefixes and places, and what a dishonest analyzer could make
of their descriptors: changes that shufflers and clients must refuse."""
import copy

import params

N, D = 40, 6
VECTOR = {"type": "vector", "field": "v", "dimension": D, "range": [0.0, 1.0], "epsilon0": 4.0}
CLASSES = [{"epsilon0": 1.0, "least": 15}, {"epsilon0": 3.0, "least": 15}]

# What an honest analyzer makes of these plans is what the dishonest one begins with.
PLANS = {
    "tags": {"protocol": "ss-double", "slots": 2, "padded": 60, **VECTOR},
    "classes": {"protocol": "gspa-classes", "type": "histogram", "field": "colour", "values": ["c0", "c1", "c2"],
                "classes": CLASSES, "epsilon0": 3.0},
    "pooled": {"protocol": "gspa-pooled", "type": "histogram", "field": "colour", "values": ["c0", "c1", "c2"],
               "classes": CLASSES, "epsilon0": 3.0},
    "slots": {"protocol": "words", "slots": 3, "size": 2, **VECTOR},
    "prefixes": {"type": "prefixes", "field": "site", "bits": 4, "epsilon0": 4.0},
    "marginals": {"type": "marginals", "columns": [{"field": "state", "values": ["a", "b"]},
                                                   {"field": "fan", "values": ["on", "off"]}],
                  "marginals": [["state", "fan"], ["fan"]], "epsilon0": 2.0},
    "number": {"protocol": "duchi", "type": "mean", "field": "v0", "range": [0.0, 1.0], "epsilon0": 2.0},
    "places": {"protocol": "planar", "type": "places", "epsilon0": 4.0, "axes": [
        {"field": "v0", "range": [0.0, 1.0], "cells": 3}, {"field": "v1", "range": [0.0, 1.0], "cells": 2}]},
}


def tags(n):
    def change(d):
        d.randomizer.shuffler.tags = n
    return change


def filled(n):
    def change(d):
        d.randomizer.shuffler.tag_messages = n
    return change


def least(*numbers, messages=0):
    def change(d):
        del d.randomizer.shuffler.tag_least[:]
        d.randomizer.shuffler.tag_least.extend(numbers)
        if messages:
            d.randomizer.shuffler.tag_messages = messages
    return change


def slot(**fields):
    def change(d):
        params.bend(d.randomizer, lambda p: vars(p.slots[0]).update(fields))
    return change


def slots(n):
    """So many of the first; the others are gone."""
    def change(d):
        params.bend(d.randomizer, lambda p: setattr(p, "slots", p.slots[:1] * n))
    return change


def candidates(*chosen):
    def change(d):
        del d.query.categories[:]
        d.query.categories.extend(chosen)
    return change


def marginals(*masks):
    def change(d):
        del d.query.marginals[:]
        d.query.marginals.extend(masks)
    return change


def whole(**fields):
    def change(d):
        for k, v in fields.items():
            setattr(d, k, v)
    return change


def stated(d):
    d.privacy.epsilon0 *= 0.9


def planar(**fields):
    def change(d):
        params.bend(d.randomizer, lambda p: vars(p).update(fields))
    return change


def axis(i, **fields):
    def change(d):
        for k, v in fields.items():
            setattr(d.query.columns[i], k, v)
    return change


def axes(n):
    def change(d):
        del d.query.columns[n:]
        d.query.columns.extend(copy.deepcopy(d.query.columns[0]) for _ in range(n - 2))
    return change


def query(**fields):
    def change(d):
        for k, v in fields.items():
            setattr(d.query, k, v)
    return change


IMPOSSIBLE = {
    "tags": [tags(0), tags(D - 1), tags(D + 1), tags(65536), filled(0), filled(2**62), least(1, 1, 1, 1, 1, 1),
             least(9, messages=0), slot(groups=4), slot(count=3), slot(bins=1), slot(bins=5000), slot(dummies=2),
             slot(keep_always=True, keep=0), slots(2), slots(17), slots(0), query(dimension=D + 2),
             query(dimension=0), whole(messages_per_client=1), whole(messages_per_client=3), whole(record_length=17)],
    "classes": [least(), least(15), least(15, 15, 15), least(0, 30), least(15, N), least(2**31, 2**31),
                least(15, 15, messages=20), tags(1), tags(3), slots(1), slots(3), slot(bins=3), slot(bins=5), slot(groups=2),
                slot(count=2), slot(keep=2**64 - 1), slot(keep=1), query(none=0), query(none=3), query(none_category=1),
                query(none=2), query(none_value=1.0)],
    "pooled": [least(), least(15), least(0, 30), least(15, N), least(15, 15, messages=20), tags(3), slots(1), slots(3),
               slot(bins=3), slot(bins=5), slot(keep=2**64 - 1), query(none=0), whole(messages_per_client=1)],
    "slots": [slot(groups=2), slot(bins=3), slot(bins=8), slot(count=4), slot(count=0), slots(2), slots(0),
              tags(3), filled(5), least(4, 4), query(dimension=7), query(dimension=2**31),
              query(low=1.0, high=0.0), query(low=float("nan")), whole(messages_per_client=4)],
    "prefixes": [candidates("6c", "70"), candidates("6", "6"), candidates("zz"), candidates(""), candidates("6", "G"),
                 candidates(), query(bits=0), query(bits=3), query(bits=8), query(bits=2**31),
                 query(none=0), query(none=2), candidates(*[f"{i:04x}" for i in range(5000)])],
    "marginals": [marginals(0), marginals(4), marginals(3, 3), marginals(), marginals(3), marginals(1, 2, 3),
                  slot(bins=5), slot(bins=2), slot(groups=3), slots(1), slots(3),
                  query(none=0), query(none=2)],
    "number": [query(none=3), query(none_category=1), query(none_value=2.0), query(none_value=float("nan")), query(none=0),
               query(none=1, none_value=0.0)],
    "places": [planar(width=2), planar(height=3), planar(width=2, height=3), planar(width=0), planar(width=2**32 - 1),
               planar(decay=0), planar(decay=2**64 - 1), planar(decay=2**63), axis(0, cells=2), axis(1, cells=1),
               axis(0, cells=2**31), axis(0, low=1.0, high=0.0), axis(1, high=float("nan")), axis(1, high=float("inf")),
               axes(1), axes(3), query(none=1), query(none=2), query(none=3),
               query(low=1.0), whole(messages_per_client=2), whole(record_length=17)],
}
