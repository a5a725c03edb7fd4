from __future__ import annotations

import re
import unicodedata

import pytest

from lookalike.errors import UsageError
from lookalike.features.stopwords import languages, stop_words

ARTICLE = "A spokesperson for WHO says today that studies have shown it is important for people to get vaccinated."


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def test_the_lectures_newspaper_example():
    english = stop_words("en")
    assert [word for word in words("Get Vaccinated.") if word in english] == []
    assert [word for word in words("Buy XXX") if word in english] == []
    # WHO folds to the pronoun: one shingle more than the lecture, the same in every copy of the article.
    expected = ["a", "for", "who", "that", "have", "it", "is", "for", "to"]
    assert [word for word in words(ARTICLE) if word in english] == expected
    laundry = words("I recommend that you buy XXX for your laundry.")
    assert [word for word in laundry if word in english] == ["i", "that", "you", "for", "your"]


def test_english_has_function_words_and_no_others():
    english = stop_words("en")
    assert set(words("and you to the of in with was would which because their not both")) <= english
    content = words("get buy important people today says shown computer system information new good time")
    assert not english & set(content)


@pytest.mark.parametrize("name", ["en", "EN", "english", "English", " English "])
def test_codes_and_names_in_any_case(name):
    assert stop_words(name) == stop_words("en")


def test_there_are_many_languages():
    assert languages() == sorted(set(languages()))
    wanted = "ar bg cs da de el en es fi fr he hi hu id it ja ko nl no pl pt ro ru sv tr uk vi zh"
    assert set(wanted.split()) <= set(languages())
    assert stop_words("german") == stop_words("de")
    assert stop_words("chinese") == stop_words("zh")


@pytest.mark.parametrize("language", ["xx", "", "klingon", "e n", None])
def test_an_unknown_language_is_a_usage_error_that_lists_the_known(language):
    with pytest.raises(UsageError, match=r"en \(english\).*zh \(chinese\)"):
        stop_words(language)


@pytest.mark.parametrize("language", languages())
def test_lists_are_words_of_a_sensible_number(language):
    found = stop_words(language)
    assert 30 <= len(found) <= 260
    for word in found:
        assert all(unicodedata.category(character)[0] in "LM" for character in word), word
        assert unicodedata.is_normalized("NFC", word), word


SCRIPTS = {
    "ARABIC": ["ar", "fa"],
    "CYRILLIC": ["bg", "ru", "uk"],
    "GREEK": ["el"],
    "HEBREW": ["he"],
    "DEVANAGARI": ["hi"],
    "HANGUL": ["ko"],
    "CJK": ["zh"],
}


@pytest.mark.parametrize("language", languages())
def test_lists_are_in_their_own_script(language):
    # A list in a wrong encoding shows as letters of another script.
    script = next((script for script, codes in SCRIPTS.items() if language in codes), "LATIN")
    if language == "ja":
        assert all(unicodedata.name(w).startswith(("HIRAGANA", "CJK")) for w in stop_words("ja"))
        return
    for word in stop_words(language):
        letters = [c for c in word if unicodedata.category(c)[0] == "L"]
        assert all(unicodedata.name(c).startswith(script) for c in letters), word


@pytest.mark.parametrize("language", ["zh", "ja"])
def test_scripts_whose_characters_are_tokens_have_single_characters(language):
    assert {len(word) for word in stop_words(language)} == {1}


SENTENCES = {
    # "Würde" (dignity) folds to "würde" (would), as WHO does to who.
    "de": ("Alle Menschen sind frei und gleich an Würde und Rechten geboren", 6),
    "fr": ("Tous les êtres humains naissent libres et égaux en dignité et en droits", 6),
    "es": ("Todos los seres humanos nacen libres e iguales en dignidad y derechos", 5),
    "it": ("Tutti gli esseri umani nascono liberi ed eguali in dignità e diritti", 5),
    "nl": ("Alle mensen worden vrij en gelijk in waardigheid en rechten geboren", 5),
    "sv": ("Alla människor är födda fria och lika i värde och rättigheter", 5),
    "pl": ("Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw", 6),
    "ru": ("Все люди рождаются свободными и равными в своем достоинстве и правах", 4),
    "tr": ("Bütün insanlar hür haysiyet ve haklar bakımından eşit doğarlar", 2),
    "id": ("Semua orang dilahirkan merdeka dan mempunyai martabat dan hak yang sama", 4),
}


@pytest.mark.parametrize("language", SENTENCES)
def test_running_text_has_stop_words(language):
    sentence, count = SENTENCES[language]
    assert sum(word in stop_words(language) for word in words(sentence)) == count
