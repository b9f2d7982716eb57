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
# Article and ending of the adjective in each of CASES: first definite, then indefinite.
AGREEMENT = {
    "m": ["der e", "den en", "dem en", "ein er", "einen en", "einem en"],
    "f": ["die e", "die e", "der en", "eine e", "eine e", "einer en"],
    "n": ["das e", "das e", "dem en", "ein es", "ein es", "einem en"],
    "p": ["die en", "die en", "den en"],
}
CASES = ["nominative", "accusative", "dative"]
PREPOSITIONS = {
    **dict.fromkeys(("mit", "bei", "aus", "von", "gegenüber", "hinter", "neben", "vor"), "dative"),
    **dict.fromkeys(("ohne", "durch", "um", "gegen", "über", "auf", "an"), "accusative"),
}
RELATIVE = {"who", "whom", "which", "that"}
RELATIVE_FORMS = {"m": "der den dem", "f": "die der", "n": "das dem", "p": "die denen"}
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
