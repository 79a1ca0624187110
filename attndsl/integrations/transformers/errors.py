"""What a model of transformers may ask for and does not get: one class each, in words that say what to do."""

from __future__ import annotations

from attndsl.op.errors import WordedError


class ModelError(WordedError):
    """Something that attention of transformers has and ours has not."""


# --- at register()


class NotInstalled(ModelError, ImportError):
    package: str
    install: str

    message = "{package} is not installed: {install}"


class OldTransformers(ModelError, ImportError):
    found: str
    install: str

    message = "transformers {found} makes its masks in another way than attndsl knows: {install}"


class NotForModels(ModelError, ValueError):
    spec: str
    why: str

    message = "{spec} cannot be the attention of a model: {why}"


# --- at a model


class NoInterface(ModelError, ValueError):
    model: str
    name: str

    message = (
        "{model} computes its attention by itself, and not through transformers' AttentionInterface, so "
        'attn_implementation="{name}" would change nothing: load it with "eager" or "sdpa"'
    )


class MaskIsAdded(ModelError, ValueError):
    message = (
        "the model adds its attention mask to something, so it computes attention by itself; attndsl's masks are not "
        'numbers but truth values. Load it with attn_implementation="eager"'
    )


# --- at a call


class DropoutWanted(ModelError, ValueError):
    module: str
    rate: float

    message = (
        "{module} drops attention weights with a rate of {rate} in training, which attndsl does not: set the dropout "
        "of attention in the model's config to 0.0, or call model.eval()"
    )


class WeightsWanted(ModelError, ValueError):
    module: str

    message = (
        "{module} is asked for its attention weights, which attndsl never makes: leave output_attentions out, or load "
        'the model with attn_implementation="eager"'
    )


class PagesWanted(ModelError, ValueError):
    module: str

    message = (
        "{module} does not tell its attention, in the way that attndsl knows, which requests a call of continuous "
        "batching has: use generate(), not generate_batch()"
    )


class UnknownMask(ModelError, TypeError):
    module: str
    found: str

    message = (
        "{module} has a mask that is {found}: attndsl takes bool tensors of 4 dimensions, true where a key is seen, "
        "and tensors of floats, which are added to scores"
    )


class DistanceUnknown(ModelError, ValueError):
    module: str
    mask: str

    message = (
        "{module} does not say since when its keys are seen, as one does whose mask is causal, so `{mask}` has nothing "
        "to add to: put a spec of your own into this model"
    )


class PlacesDiffer(ModelError, ValueError):
    module: str
    mask: str
    queries: int
    keys: int

    message = (
        "{module} has {queries} queries and {keys} keys, as with a cache, and `i` and `j` of `{mask}` count from the "
        "first of each: say how far a key lies back by `far`, which is `i - j` where there is no cache"
    )


class StartLacks(ModelError, ValueError):
    spec: str
    module: str

    message = (
        "{spec} computes how far keys lie back, and {module} has those of several requests side by side: declare "
        "`input start : i32[B, N]`, the first query of a key's request, and let `start[b,j] <= i` be part of the mask"
    )


class SpecLacks(ModelError, ValueError):
    spec: str
    module: str
    what: str
    way_out: str

    message = "{module} has {what}, which {spec} does not take: {way_out}"
