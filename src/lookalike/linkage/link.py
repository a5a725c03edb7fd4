"""Record linkage: fields, candidates, agreement, scores, validation, links. Knows tables in memory, not files."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pyarrow as pa

from lookalike.engine.run import Run
from lookalike.errors import UsageError
from lookalike.linkage.blocking.copies import Copies, find_copies, many_copies
from lookalike.linkage.blocking.find import CandidatePairs, find_pairs, word_budget
from lookalike.linkage.decide.links import choose_assignment, decide_links
from lookalike.linkage.fields.columns import Column
from lookalike.linkage.fields.divide import divide_text
from lookalike.linkage.linked import Linked, TableSizes, first_records, note_several, order_ends, restore_rows
from lookalike.linkage.measured import measure_by_labels
from lookalike.linkage.memory import check_columns
from lookalike.linkage.notes import COMPARED_IN_PARTS, SHOW_GROUPS, UNRELIABLE, Notes
from lookalike.linkage.partners import Texts, add_partners
from lookalike.linkage.read_fields import FieldsRead
from lookalike.linkage.record_order import RecordOrder
from lookalike.linkage.resume import LinkPieces
from lookalike.linkage.scoring.apply import apply_model
from lookalike.linkage.scoring.capture import estimate_recall
from lookalike.linkage.scoring.chance_equal import AGREE
from lookalike.linkage.scoring.choice import (
    IDENTIFYING,
    ModelChoice,
    as_texts,
    choose_model,
    have_words,
    identifying,
    known_choice,
    texts_of,
    words_choice,
)
from lookalike.linkage.scoring.cut import choose_cut, keep_cut
from lookalike.linkage.scoring.groups import find_groups, tells_apart
from lookalike.linkage.scoring.labels import Labels
from lookalike.linkage.scoring.model import Model
from lookalike.linkage.scoring.points import Points
from lookalike.linkage.scoring.refine import refine_scores, show_matches
from lookalike.linkage.scoring.repeated import repeat_in_both
from lookalike.linkage.scoring.score import (
    RANDOM_PAIRS,
    RANDOM_VALUES,
    Agreement,
    Pairs,
    Scores,
    compare_pairs,
    score_pairs,
)
from lookalike.linkage.scoring.third_records import match_through_third
from lookalike.linkage.scoring.validating_field import ValidatingField
from lookalike.linkage.scoring.weights import Weights
from lookalike.linkage.scoring.words.score import DOUBTFUL, LARGE_CLUSTER, are_series, score_words
from lookalike.linkage.scoring.words.weights import CLEAR, WordWeights
from lookalike.linkage.settings import LinkSettings
from lookalike.types import Int8
from lookalike.types.wording import count, list_words

WORD_PAIRS = 50_000
"""Random pairs of records made of words, used only to measure how often levels occur by chance."""
WORD_PAIRS_ALONE = 200_000
"""The same in one table, where levels may have to distinguish records. Not more, since long texts are slow to
compare."""
BY_LEVELS_NOTHING = "levels of agreement find no match"
MANY_COPIES = 0.2
"""If another record stands for this share of the records, entities have many records, among which none is the best."""
CONTRADICTING = "levels of agreement contradict each other"
REPEATED = "both tables seem to have several records of an entity"


def link_tables(
    left: pa.Table,
    right: pa.Table | None,
    run: Run[LinkSettings],
    *,
    random_pairs: int = RANDOM_PAIRS,
    known: Model | None = None,
    labels: Labels | None = None,
    divided: bool = False,
    by_words: bool = False,
) -> Linked:
    """Link the records of two tables, or of one.

    Agreement by chance is measured on `random_pairs`. With the model of a finished run (`known`), nothing is learned.
    Labelled pairs refine weights and probabilities, and are used to evaluate the links. The only field can be `divided`
    into parts of its words. In one table, too, records can be scored `by_words` even if a code identifies them.

    Examples
    --------
    >>> from lookalike.engine.run import open_run
    >>> table = pa.table({"name": ["Ann Lee", "Ann Lee", "Bob Ray"], "zip": ["60302", "60302", "10001"]})
    >>> with open_run(LinkSettings.parse("name:person,zip:code", threads=1, scoring="points")) as run:
    ...     found = link_tables(table, None, run)
    >>> found.candidates.left[found.chosen].tolist(), found.candidates.right[found.chosen].tolist()
    ([0], [1])
    """
    if run.settings.one_to_one not in ("auto", "no") and right is None:
        raise UsageError("--one-to-one needs two tables; the records of one table form clusters")
    given, notes = run.settings, Notes(run.progress)
    with run.progress.stage("reading fields"):
        settings, columns, validating, sizes, order = FieldsRead.read(left, right, run, notes, learns=known is None)
        run, own = replace(run, settings=settings), None if labels is None else labels.renumber(order.numbers)
        divided = divided if known is None else known.divided
        columns = divide_text(columns[0]) if divided else columns
        if known is not None:
            known = known.rename_sides(order.side)
            columns = [column for column in columns if column.name in known.names]
    table_bytes = left.nbytes + (0 if right is None else right.nbytes)
    expected = check_columns(columns, table_bytes, run.settings.execution, right is not None)
    run.progress.say(f"Expected: up to {expected / 1e9:,.1f} GB of memory.")
    choice = known_choice(known) if known else choose_model(columns, right is not None or by_words, run.settings)
    if divided and known is None:
        choice = ModelChoice("levels", f"{given.fields[0].name} is compared in parts, since its records form clusters")
    columns, choice, copies = _set_copies_apart(columns, sizes, choice, known)
    searched = choice.name if known is None else known.searched
    words = sizes.pairs > 0 and searched == "words"
    with run.progress.stage("candidates"):
        pieces, texts = LinkPieces(run.work), Texts(columns, run.workers.map)
        pairs = pieces.candidates(lambda: _find_candidates(columns, texts, sizes, run, notes, pieces, words, copies))
    with run.progress.stage("comparing"):
        if words:
            random_pairs = min(random_pairs, WORD_PAIRS_ALONE if sizes.right is None else WORD_PAIRS)
        # Known weights already account for chance; only the evidence of words needs it again.
        needed = known is None or choice.name == "words"
        random_pairs = min(random_pairs, RANDOM_VALUES // max(1, len(columns)))
        random = sizes.draw_pairs(run.settings.seed, random_pairs if needed else 0)
        random = random if copies is None else copies.leave_out(random)
        swapped = None if known is None else known.exchanged
        agreement = compare_pairs(columns, (pairs.left, pairs.right), random, run, swapped)
    drawn = sizes.draw_pairs(run.settings.seed + 1, random_pairs) if validating is not None else random

    with run.progress.stage("scoring"):
        if known is None:
            plain, choice = _score(columns, texts, pairs, agreement, sizes, run, choice, own)
        else:
            known.check(columns, agreement.level_names)
            plain = apply_model(known, columns, texts, pairs, agreement, run, sizes.split)
        nothing = known is None and sizes.pairs > 0 and _found_nothing(plain) and have_words(columns, right is not None)
        if nothing and (other := as_texts(given, columns, BY_LEVELS_NOTHING, own=True)) is not None:
            return _link_again(left, right, run, other, labels, BY_LEVELS_NOTHING)
        if sizes.right is None:
            pairs, agreement, plain = match_through_third(
                columns, texts, pairs, agreement, plain, sizes.pairs, run, known, copies
            )  # fmt: skip

    if known is None and choice.reason.endswith(BY_LEVELS_NOTHING) and len(columns) == 1 and right is None:
        found = link_tables(left, None, replace(run, settings=given, work=None), labels=labels, divided=True)
        if _forms_clusters(found, plain, run, order):
            found.notes.add(COMPARED_IN_PARTS)
            return found
    if known is None and not divided and (shared := find_groups(columns, pairs, agreement, plain, sizes.pairs, run)):
        fewer = replace(given, fields=tuple(one for one in given.fields if one.name not in shared))
        found = link_tables(left, right, replace(run, settings=fewer, work=None), labels=labels)
        found.notes.add(f"{list_words(shared)} {'is' if len(shared) == 1 else 'are'} not compared: {SHOW_GROUPS}")
        return found

    run.progress.say(f"Scored by {choice.name}: {choice.reason}.")

    def attempt(some: Labels | None, notes: Notes) -> Linked:
        """Score and decide with some of the labels."""
        with run.progress.stage("scoring"):
            scores = plain
            if some is not None and known is None and not isinstance(plain.scoring, WordWeights):
                scores = score_pairs(columns, pairs, agreement, sizes.pairs, run, some, split=sizes.split)
            if some is not None:
                scores = refine_scores(scores, pairs, agreement, some, run, sizes.split)
        with run.progress.stage("deciding"):
            made = _decide(
                columns, sizes, pairs, agreement, scores, choice, validating, drawn, run.settings, notes, known, copies
            )  # fmt: skip
            return replace(made, searched=searched, divided=divided)

    found = attempt(own, notes)
    if known is None and (found.is_contradictory or found.is_often_contradictory):
        share = f"by levels of agreement, {found.contradictions:.0%} of the matches contradict each other"
        other = as_texts(given, columns, CONTRADICTING)
        failed = found.is_contradictory and have_words(columns, right is not None) and not identifying(columns)
        if other is not None:
            again = _link_again(left, right, run, other, labels, share, by_words=True)
            if failed or again.is_convincing:
                return again
        notes.add(f"{share}: {UNRELIABLE}")
    if known is None:
        note_several(found, order)
    if own is not None:
        found.figures = measure_by_labels(own, pairs, plain.score, attempt, found)
    return restore_rows(found, order)


def _link_again(
    left: pa.Table, right: pa.Table | None, run: Run[LinkSettings], settings: LinkSettings, labels: Labels | None,
    reason: str, *, by_words: bool = False,
) -> Linked:  # fmt: skip
    """Link with names and addresses compared as texts, for a reason that a note gives."""
    found = link_tables(left, right, replace(run, settings=settings, work=None), labels=labels, by_words=by_words)
    own = list_words(list(run.settings.custom))
    what = f"words are compared instead of the levels of {own}" if own else "names and addresses are compared as texts"
    found.notes.add(f"{reason}, so {what}")
    return found


def _forms_clusters(found: Linked, by_words: Scores, run: Run[LinkSettings], order: RecordOrder) -> bool:
    """Whether the matches of a divided text are those of large clusters, but not of products of a series."""
    if not isinstance(found.scoring, Weights) or found.probability is None:
        return False
    assert isinstance(by_words.scoring, WordWeights)
    evidence, ends = by_words.scoring.evidence, order_ends(order.numbers, found.candidates.left, found.candidates.right)
    conflicts = evidence.conflicts(evidence.measure(*ends, found.levels[:, :1], run.workers.map))
    clusters = first_records(found)
    sizes = np.where(clusters < 0, 1, np.bincount(clusters[clusters >= 0], minlength=len(clusters))[clusters])
    return float(np.median(sizes)) > LARGE_CLUSTER and not are_series(found.probability >= CLEAR, conflicts)


def _set_copies_apart(
    columns: list[Column], sizes: TableSizes, choice: ModelChoice, known: Model | None
) -> tuple[list[Column], ModelChoice, Copies | None]:
    """The columns of one table in which copies of records are marked, how its pairs are scored, and the copies.

    Only levels use copies. Words are not chosen if there are many: among these, no partner is the best.
    """
    copies = find_copies(columns, many_copies(sizes.left)) if sizes.right is None else None
    if copies is None or not copies.share:
        return columns, choice, None
    if known is None and copies.share >= MANY_COPIES and choice.name == "words":
        choice = ModelChoice("levels", f"{copies.share:.0%} of the records are copies of others")
    if (choice.name if known is None else known.searched) == "words":
        return columns, choice, None
    return [replace(column, apart=copies.apart) for column in columns], choice, copies


def _found_nothing(scores: Scores) -> bool:
    """Whether levels of agreement cannot distinguish any match from chance, or no pair is more likely one than not."""
    if not isinstance(scores.scoring, Weights) or scores.probability is None:
        return False
    return scores.scoring.expected < DOUBTFUL or float(scores.probability.max(initial=0.0)) < CLEAR


def _score(
    columns: list[Column],
    texts: Texts,
    pairs: CandidatePairs,
    agreement: Agreement,
    sizes: TableSizes,
    run: Run[LinkSettings],
    choice: ModelChoice,
    labels: Labels | None,
) -> tuple[Scores, ModelChoice]:
    """Scores in the chosen way, or in the other one if that suits the records better. Labels refine them later.

    Levels distinguish records that form large clusters, and words those of which levels match none.
    """
    given = columns, texts, pairs, agreement, (sizes.left, sizes.right), run
    by_levels = cache(lambda: score_pairs(columns, pairs, agreement, sizes.pairs, run, split=sizes.split))
    labelled = labels is not None and show_matches(labels, labels.places(pairs.left, pairs.right))
    if choice.name == "words" and sizes.pairs:
        fields = [place for place, one in enumerate(columns) if one.kind in IDENTIFYING and tells_apart(one)]
        if sizes.right is not None and fields and _repeat_in_both(by_levels(), pairs, agreement.levels[:, fields]):
            shown = list_words([columns[place].name for place in fields])
            return by_levels(), ModelChoice("levels", f"{REPEATED}, judging by {shown}")
        if (found := score_words(*given, by_levels, labelled=labelled)) is not None:
            return found, choice
        choice = ModelChoice("levels", f"records are typically similar to more than {LARGE_CLUSTER:.0f} others")
    scores = by_levels()
    if not sizes.pairs or not _found_nothing(scores) or not (names := texts_of(columns, run.settings)):
        return scores, choice
    by_words = score_words(*given, labelled=labelled)
    assert by_words is not None
    return by_words, words_choice(names, f", and {BY_LEVELS_NOTHING}")


def _repeat_in_both(scores: Scores, pairs: CandidatePairs, levels: Int8) -> bool:
    """Whether the matches by levels that agree in a field with these levels show several records of an entity."""
    assert scores.probability is not None
    match = (scores.probability >= CLEAR) & ((levels > 0) & (levels <= AGREE)).any(axis=1)
    return repeat_in_both(pairs.left[match], pairs.right[match])


def _find_candidates(
    columns: list[Column], texts: Texts, sizes: TableSizes, run: Run[LinkSettings], notes: Notes, steps: LinkPieces,
    words: bool, copies: Copies | None,
) -> CandidatePairs:  # fmt: skip
    """The pairs worth comparing; none if a table has no record to compare."""
    if not sizes.pairs:
        what = "the table has fewer than two records" if sizes.right is None else "a table has no records"
        notes.add(f"{what}, so there is nothing to link")
        return CandidatePairs.none()
    if copies is not None:
        columns = [column.take(copies.kept) for column in columns]
        texts = Texts(columns, run.workers.map)
    coarse = []
    if (nicknames := run.settings.nicknames) is not None:
        people = [(place, column) for place, column in enumerate(columns) if column.kind == "person"]
        coarse = [(one, place) for place, column in people for one in nicknames.coarsen(column)]
    each = run.workers.map
    few = word_budget(sizes.records) if words and sizes.right is not None else None
    split = len(columns[0]) if sizes.right is None else sizes.left
    found = find_pairs(
        columns, split, coarse=coarse, each=each, seed=run.settings.seed, steps=steps, most_pairs=few
    )  # fmt: skip
    if any(column.kind == "text" for column in columns):
        found = add_partners(found, columns, texts, split, each)
    return found if copies is None else copies.complete(found)


def _decide(
    columns: list[Column],
    sizes: TableSizes,
    pairs: CandidatePairs,
    agreement: Agreement,
    scores: Scores,
    choice: ModelChoice,
    validating: ValidatingField | None,
    random: Pairs,
    settings: LinkSettings,
    notes: Notes,
    known: Model | None = None,
    copies: Copies | None = None,
) -> Linked:
    """Choose the cut and the links, and estimate precision and recall."""
    scoring, score, probability = scores[:3]
    for sentence in scoring.notes if not isinstance(scoring, Points) and sizes.pairs else ():
        notes.add(sentence)
    validation = None if validating is None else validating.validate(pairs, random, scores, notes.add)
    if known is None:
        cut, why = choose_cut(scores, validation, settings, notes.add)
    else:
        cut, why = keep_cut(known, scores, settings, notes.add)
    method = settings.one_to_one if known is None else known.assignment
    if sizes.right is not None:
        method = choose_assignment(pairs, score, cut, method, notes.add)
    # A pair counts as a match from a probability of one half, even if links must be more certain than that.
    even = cut if probability is None else min(cut, scores.even)
    split = None if sizes.right is None else sizes.left
    apart = np.zeros(sizes.records, np.bool_) if copies is None else copies.apart
    chosen, refused, contradictions = decide_links(pairs, score, cut, even, method, split, apart, notes.add)
    if copies is not None:
        often = count(int(apart.sum()), "record is a copy", "records are copies")
        notes.add(
            f"{often} of others, with more than {copies.many} identical ones: only the first of them is compared with "
            "other records"
        )
    if refused:
        unlinked = count(refused, "pair reaches the cut but was not linked", "pairs reach the cut but were not linked")
        notes.add(f"{unlinked}, because most other pairs between the two clusters are not matches")
    validated = None
    if validation is not None and validating is not None and chosen.any():
        validated = validation.of(validating.differences((pairs.left, pairs.right))[chosen], scores.sure()[chosen])
    # Best partners are proposed by all fields together: there are no two independent searches to compare.
    searched = probability is not None and len(pairs) and not isinstance(scoring, WordWeights)
    recall = estimate_recall(pairs.groups, probability) if searched and probability is not None else None
    return Linked(
        settings, sizes, columns, pairs, agreement.levels, agreement.level_names, scoring, choice, score, probability,
        validation, validated, cut, why, chosen, refused, contradictions, recall, notes, agreement.exchanged, method,
        scores.calibration, scores.labelled,
    )  # fmt: skip
