"""German grammar as in a textbook, independent of the code under test."""


def listed(text: str) -> set[str]:
    return set(text.split())


GENDERS = {
    **dict.fromkeys(listed("Hund Mann Arzt König Vogel Fuchs Tisch Brief Hut Mantel Stuhl"), "m"),
    **dict.fromkeys(listed("Ring Garten Park Laden Bahnhof Wald"), "m"),
    **dict.fromkeys(listed("Frau Katze Krankenschwester Schwester Mutter Tante Königin"), "f"),
    **dict.fromkeys(listed("Kuh Eule Lampe Tasche Flasche Uhr Zeitung Schule Kirche Stadt"), "f"),
    **dict.fromkeys(listed("Kind Baby Pferd Schwein Buch Bild Auto Hemd Boot Haus Dorf"), "n"),
    **dict.fromkeys(listed("Hotel Krankenhaus Schloss"), "n"),
    **dict.fromkeys(listed("Hunde Männer Ärzte Könige Vögel Füchse Tische Briefe Hüte"), "p"),
    **dict.fromkeys(listed("Katzen Frauen Tanten Kühe Uhren Kinder Babys Bücher Häuser"), "p"),
    **dict.fromkeys(listed("Hunden Männern Ärzten Kindern Büchern Häusern Lehrern"), "p"),
}
CASES = ("nominative", "accusative", "dative")


def cases(*forms: str) -> dict[str, set[str]]:
    return {case: {*some.split(", ")} for case, some in zip(CASES, forms, strict=True)}


# Article and ending of the adjective: definite, indefinite.
AGREEMENT = {
    "m": cases("der e, ein er", "den en, einen en", "dem en, einem en"),
    "f": cases("die e, eine e", "die e, eine e", "der en, einer en"),
    "n": cases("das e, ein es", "das e, ein es", "dem en, einem en"),
    "p": cases("die en", "die en", "den en"),
}
PREPOSITIONS = {
    **dict.fromkeys(("mit", "bei", "aus", "von", "gegenüber", "hinter", "neben", "vor"), "dative"),
    **dict.fromkeys(("ohne", "durch", "um", "gegen", "über", "auf", "an"), "accusative"),
}
RELATIVE = {"who", "whom", "which", "that"}
RELATIVE_PRONOUNS = listed("der die das den dem denen")
RELATIVE_FORMS = {
    **{"m": listed("der den dem"), "f": listed("die der")},
    **{"n": listed("das dem"), "p": listed("die denen")},
}
ADJECTIVES = listed(
    "klein groß winzig riesig schwer alt jung neu müd hungrig schmutzig schön berühmt wunderbar "
    "freundlich klug seltsam hässlich blau grün schwarz deutsch russisch englisch französisch"
)
DICTIONARY = {
    "dog": {"Hund"}, "cats": {"Katzen"}, "men": {"Männer", "Männern"}, "boy": {"Junge", "Jungen"},
    "he": {"er"}, "they": {"sie"}, "seven": {"sieben"}, "because": {"weil"}, "Monday": {"Montag"},
    "and": {"und"}, "often": {"oft"}, "whether": {"ob"}, "must": {"muss", "müssen"},
    "calls": {"ruft", "an", "anruft"}, "called": {"hat", "haben", "angerufen"},
    "arrived": {"ist", "sind", "angekommen"}, "gives": {"gibt", "zurück", "zurückgibt"},
    "was": {"war"}, "Paris": {"Paris"}, "woman": {"Frau"}, "houses": {"Häuser", "Häusern"},
    "old": {"alt", "alte", "alten", "alter", "altes"},
    "hungry": {"hungrig", "hungrige", "hungrigen", "hungriger", "hungriges"},
    "green": {"grün", "grüne", "grünen", "grüner", "grünes"},
}  # fmt: skip
PREPOSITION_WORDS = listed(
    "with near from of opposite behind beside without through around against at for after"
)
ENDINGS = {adjective + end: end for adjective in ADJECTIVES for end in ("e", "en", "er", "es")}
DETERMINERS = listed("der die das den dem ein eine einen einem einer")
OBLIQUE = listed("den dem einen einem einer diesen diesem meinen meinem unseren unserem")
ARTICLES = listed("the a an this these every all many my his our")
DATIVE_VERBS = listed("thank thanks thanked help helps helped trust trusts trusted follow follows")
DATIVES = listed(
    "dem der den einem einer diesem dieser diesen jedem jeder allen vielen meinem meiner meinen "
    "seinem seiner seinen unserem unserer unseren"
)
ADVERBS = listed("heute gestern morgen bald jetzt neulich nachts")
CONJUNCTIONS = listed("weil obwohl wenn während bevor bis sobald dass ob")
AUXILIARIES = listed(
    "hat haben ist sind war waren wird werden kann können muss müssen sollte sollten darf dürfen "
    "will wollen"
)
