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
    **dict.fromkeys(("ohne", "durch", "um", "gegen", "über", "auf"), "accusative"),
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
    "dog": {"Hund"},
    "men": {"Männer", "Männern"},
    "he": {"er"},
    "they": {"sie"},
    "because": {"weil"},
    "and": {"und"},
    "must": {"muss", "müssen", "musst"},
    "calls": {"ruft", "an", "anruft"},
    "called": {"hat", "haben", "habe", "hast", "angerufen"},
    "gives": {"gibt", "zurück", "zurückgibt"},
    "houses": {"Häuser", "Häusern"},
    "old": {"so", "wie", "alt", "alte", "alten", "alter", "altes", "altem"},
}
GOVERNED = {
    **dict.fromkeys(listed("with near from of opposite behind beside without"), "preposition"),
    **dict.fromkeys(listed("through around against at for after"), "preposition"),
    **dict.fromkeys(listed("thank thanks thanked help helps helped trust trusts"), "dative"),
    **dict.fromkeys(listed("trusted follow follows"), "dative"),
    **dict.fromkeys(listed("love loved carry carried visit visited bought cleaned"), "accusative"),
    **dict.fromkeys(listed("need needs needed has had find found like liked"), "accusative"),
}
"""English word -> the case of the German noun phrase after it, if it decides that."""
ENDINGS = {adjective + end: end for adjective in ADJECTIVES for end in ("e", "en", "er", "es")}
DETERMINERS = listed("der die das den dem ein eine einen einem einer")
ADVERBS = listed("heute gestern morgen bald jetzt neulich nachts")
CONJUNCTIONS = listed("weil obwohl wenn während bevor bis sobald dass ob")
AUXILIARIES = listed(
    "hat haben habe hast ist sind bin bist war waren warst hatte hatten hattest gab wird werden "
    "werde wirst kann können kannst muss müssen musst sollte sollten solltest darf dürfen darfst "
    "will wollen willst konnte konnten konntest würde würden würdest "
    "musste mussten musstest"
)
PERSONS = {
    "ich": "[a-zäöüß]+e|bin|war|kann|muss|darf|will|weiß|mag",
    "du": "[a-zäöüß]+(st|[sßz]t)",
    "er|es|niemand|jemand|kein Mann|das Kind": "[a-zäöüß]+t|"
    "war|gab|kann|muss|darf|will|wird|weiß|mag|hatte|sollte|konnte|musste|würde",
    "wir|\\w+ und + \\w+": "[a-zäöüß]+n|sind|waren",
}
"""Subjects (+: perhaps an article) -> the finite verbs that agree with them."""
