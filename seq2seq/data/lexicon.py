"""The words of the embedded English-German grammar, as tables, with their forms.

A row is one dictionary entry: English left, German right. Regular forms are derived from the row
(plural -s, dative plural -n, adjective endings); irregular ones stand in it. Words were chosen
so that each English form has one German counterpart and the other way round.
"""

from dataclasses import dataclass
from enum import IntEnum
from itertools import combinations

Words = tuple[str, ...]


class Case(IntEnum):
    """The German cases in use; also an index into tables of forms."""

    NOMINATIVE = 0
    ACCUSATIVE = 1
    DATIVE = 2


class Number(IntEnum):
    """Singular or plural; also an index into pairs of forms."""

    SINGULAR = 0
    PLURAL = 1


class Kind(IntEnum):
    """What a noun stands for: decides which verbs and prepositions go with it."""

    PERSON = 0
    ANIMAL = 1
    THING = 2
    PLACE = 3


PLURAL_COLUMN = 3
"""In tables by gender, columns 0-2 are masculine, feminine, neuter; the plural has no gender."""


@dataclass(frozen=True)
class Noun:
    """A noun: ``english[number]``, ``german[number][case]``, gender 0-2 = der, die, das."""

    kind: Kind
    gender: int
    english: tuple[str, str]
    german: tuple[tuple[str, str, str], tuple[str, str, str]]

    def column(self, number: Number) -> int:
        """Column of this noun in tables by gender."""
        return PLURAL_COLUMN if number is Number.PLURAL else self.gender


@dataclass(frozen=True)
class Adjective:
    """An adjective: the German base form serves after "sein", the stem takes endings."""

    english: str
    german: str
    stem: str


@dataclass(frozen=True)
class Determiner:
    """A word before the noun: ``german[case][column]``; ``endings`` is what adjectives then take."""

    english: str
    german: tuple[Words, Words, Words]
    endings: tuple[Words, Words, Words]


@dataclass(frozen=True)
class Preposition:
    """A preposition and the case it governs in the sense at hand."""

    english: Words
    german: str
    case: Case


@dataclass(frozen=True)
class Verb:
    """A verb in the forms the grammar needs; pairs are indexed by number.

    ``finite`` is the verb-second form, whose separable ``prefix`` (or "") closes the clause;
    ``final`` the verb-final one ("ruft ... an", "anruft"). ``past`` holds German auxiliary and
    participle, the latter empty for the one verb with a simple past ("war").
    """

    english: Words
    english_present: tuple[Words, Words]
    english_past: tuple[Words, Words]
    infinitive: str
    finite: tuple[str, str]
    final: tuple[str, str]
    prefix: str
    past: tuple[str, str]
    participle: str
    to_infinitive: Words
    case: Case = Case.ACCUSATIVE
    preposition: Preposition | None = None


@dataclass(frozen=True)
class Modal:
    """An auxiliary before the infinitive; pairs are indexed by number."""

    english: tuple[Words, Words]
    german: tuple[str, str]


Linked = tuple[tuple[Words, Words], ...]
"""A fixed phrase as groups of words that translate each other."""


def _rows(table: str) -> list[list[str]]:
    return [line.split() for line in table.strip().splitlines()]


def _words(entry: str) -> Words:
    return tuple(entry.split("_"))


def _with_s(word: str) -> str:
    """English -s of plurals and of the third person."""
    if word.endswith(("s", "x", "ch", "sh", "go")):
        return word + "es"
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + "s"


def _nouns(kind: Kind, table: str) -> tuple[Noun, ...]:
    """Rows: English singular [plural] der|die|das singular[/its accusative and dative] plural."""
    nouns = []
    for row in _rows(table):
        *english, article, singular, plural = row
        nominative, _, oblique = singular.partition("/")
        oblique = oblique or nominative
        dative = plural if plural.endswith(("n", "s")) else plural + "n"
        nouns.append(
            Noun(
                kind,
                ("der", "die", "das").index(article),
                (english[0], english[-1] if len(english) == 2 else _with_s(english[0])),
                ((nominative, oblique, oblique), (plural, plural, dative)),
            )
        )
    return tuple(nouns)


def _verbs(table: str, case: Case = Case.ACCUSATIVE) -> tuple[Verb, ...]:
    """Rows: English base and past (_ joins words) [preposition], infinitive with prefix|, third
    person, participle (+ if with "sein") [preposition and its case]."""
    verbs = []
    for row in _rows(table):
        preposition = None
        if len(row) == 8:
            base, past, english, infinitive, third, participle, german, governed = row
            preposition = Preposition((english,), german, Case[governed.upper()])
        else:
            base, past, infinitive, third, participle = row
        prefix, _, stem = infinitive.rpartition("|")
        head, *particles = _words(base)
        verbs.append(
            Verb(
                english=_words(base),
                english_present=((_with_s(head), *particles), _words(base)),
                english_past=(_words(past), _words(past)),
                infinitive=prefix + stem,
                finite=(third, stem),
                final=(prefix + third, prefix + stem),
                prefix=prefix,
                past=("ist", "sind") if participle.startswith("+") else ("hat", "haben"),
                participle=participle.removeprefix("+"),
                to_infinitive=(f"{prefix}zu{stem}",) if prefix else ("zu", stem),
                case=case,
                preposition=preposition,
            )
        )
    return tuple(verbs)


def _adjectives(table: str) -> tuple[Adjective, ...]:
    """Rows of entries english=german[/stem before endings]."""
    adjectives = []
    for entry in table.split():
        english, _, german = entry.partition("=")
        base, _, stem = german.partition("/")
        adjectives.append(Adjective(english, base, stem or base))
    return tuple(adjectives)


def _phrases(table: str) -> tuple[Linked, ...]:
    """Lines of groups english=german; _ joins the words of a group."""
    return tuple(
        tuple((_words(english), _words(german)) for english, german in (g.split("=") for g in row))
        for row in _rows(table)
    )


NOUNS: tuple[tuple[Noun, ...], ...] = (  # indexed by Kind
    _nouns(
        Kind.PERSON,
        """
        man men        der Mann Männer
        woman women    die Frau Frauen
        child children das Kind Kinder
        girl           das Mädchen Mädchen
        boy            der Junge/Jungen Jungen
        baby           das Baby Babys
        teacher        der Lehrer Lehrer
        doctor         der Arzt Ärzte
        nurse          die Krankenschwester Krankenschwestern
        student        der Student/Studenten Studenten
        neighbour      der Nachbar/Nachbarn Nachbarn
        friend         der Freund Freunde
        sister         die Schwester Schwestern
        brother        der Bruder Brüder
        mother         die Mutter Mütter
        uncle          der Onkel Onkel
        aunt           die Tante Tanten
        daughter       die Tochter Töchter
        king           der König Könige
        queen          die Königin Königinnen
        soldier        der Soldat/Soldaten Soldaten
        singer         die Sängerin Sängerinnen
        judge          der Richter Richter
        guest          der Gast Gäste
        thief thieves  der Dieb Diebe
        """,
    ),
    _nouns(
        Kind.ANIMAL,
        """
        dog         der Hund Hunde
        cat         die Katze Katzen
        bird        der Vogel Vögel
        horse       das Pferd Pferde
        mouse mice  die Maus Mäuse
        cow         die Kuh Kühe
        pig         das Schwein Schweine
        bear        der Bär/Bären Bären
        goat        die Ziege Ziegen
        monkey      der Affe/Affen Affen
        fox         der Fuchs Füchse
        camel       das Kamel Kamele
        owl         die Eule Eulen
        crocodile   das Krokodil Krokodile
        """,
    ),
    _nouns(
        Kind.THING,
        """
        book           das Buch Bücher
        table          der Tisch Tische
        lamp           die Lampe Lampen
        letter         der Brief Briefe
        bag            die Tasche Taschen
        hat            der Hut Hüte
        coat           der Mantel Mäntel
        key            der Schlüssel Schlüssel
        bottle         die Flasche Flaschen
        knife knives   das Messer Messer
        picture        das Bild Bilder
        chair          der Stuhl Stühle
        bicycle        das Fahrrad Fahrräder
        car            das Auto Autos
        clock          die Uhr Uhren
        flower         die Blume Blumen
        umbrella       der Regenschirm Regenschirme
        box            die Kiste Kisten
        newspaper      die Zeitung Zeitungen
        shirt          das Hemd Hemden
        ring           der Ring Ringe
        boat           das Boot Boote
        guitar         die Gitarre Gitarren
        suitcase       der Koffer Koffer
        """,
    ),
    _nouns(
        Kind.PLACE,
        """
        garden    der Garten Gärten
        house     das Haus Häuser
        school    die Schule Schulen
        church    die Kirche Kirchen
        town      die Stadt Städte
        village   das Dorf Dörfer
        forest    der Wald Wälder
        park      der Park Parks
        hotel     das Hotel Hotels
        kitchen   die Küche Küchen
        library   die Bibliothek Bibliotheken
        hospital  das Krankenhaus Krankenhäuser
        station   der Bahnhof Bahnhöfe
        shop      der Laden Läden
        castle    das Schloss Schlösser
        factory   die Fabrik Fabriken
        """,
    ),
)

NAMES: Words = tuple(
    ["Anna", "Peter", "Maria", "Paul", "Julia", "Thomas", "Lena", "Felix", "Sophie", "Jonas", "Laura", "Martin", "Clara", "Simon", "Emma", "Oskar", "Nina", "Max", "Eva", "Daniel", "Lisa", "Robert", "Helena", "Anton", "Katharina", "Viktor", "Rosa", "Emil"]
)
CITIES: Words = tuple(
    ["Berlin", "Hamburg", "Paris", "London", "Madrid", "Dresden", "Leipzig", "Bonn", "Oslo", "Amsterdam", "Bern", "Budapest"]
)
PRONOUNS: tuple[tuple[str, str, Number], ...] = (
    ("he", "er", Number.SINGULAR),
    ("she", "sie", Number.SINGULAR),
    ("we", "wir", Number.PLURAL),
    ("they", "sie", Number.PLURAL),
)
"""Subjects of one word; "sie" is told apart by the number of its verb."""

ADJECTIVES: tuple[tuple[Adjective, ...], ...] = (  # in the order in which they precede a noun
    _adjectives(
        """beautiful=schön famous=berühmt strange=seltsam dangerous=gefährlich ugly=hässlich
        wonderful=wunderbar important=wichtig unknown=unbekannt boring=langweilig"""
    ),
    _adjectives("small=klein big=groß tiny=winzig huge=riesig thin=dünn heavy=schwer"),
    _adjectives("old=alt new=neu clean=sauber dark=dunkel/dunkl dirty=schmutzig cold=kalt"),
    _adjectives("red=rot blue=blau green=grün black=schwarz white=weiß brown=braun grey=grau"),
    _adjectives("German=deutsch French=französisch Russian=russisch English=englisch"),
)
ADJECTIVE_CLASSES = tuple(tuple(combinations(range(len(ADJECTIVES)), n)) for n in range(4))
"""Choices of 0-3 different classes of adjectives, each in their order."""
PREDICATIVES: tuple[Adjective, ...] = ADJECTIVES[0] + ADJECTIVES[1] + ADJECTIVES[2]

INTENSIFIERS = _phrases("very=sehr\nquite=ziemlich\nespecially=besonders\nunusually=ungewöhnlich")
NUMERALS = _phrases(
    "two=zwei\nthree=drei\nfour=vier\nfive=fünf\nsix=sechs\nseven=sieben\neight=acht\nnine=neun\n"
    "ten=zehn\neleven=elf\ntwelve=zwölf\ntwenty=zwanzig"
)
ADVERBS = _phrases(
    """
    often=oft
    always=immer
    rarely=selten
    never=nie
    sometimes=manchmal
    quietly=leise
    slowly=langsam
    quickly=schnell
    carefully=vorsichtig
    secretly=heimlich
    happily=fröhlich
    suddenly=plötzlich
    probably=wahrscheinlich
    certainly=bestimmt
    finally=endlich
    gladly=gern
    proudly=stolz
    patiently=geduldig
    """
)

_ANY_TIME = _phrases(
    """
    today=heute
    on=am Monday=Montag
    on=am Tuesday=Dienstag
    on=am Wednesday=Mittwoch
    on=am Thursday=Donnerstag
    on=am Friday=Freitag
    on=am Saturday=Samstag
    on=am Sunday=Sonntag
    in=im January=Januar
    in=im April=April
    in=im July=Juli
    in=im October=Oktober
    in=im summer=Sommer
    in=im winter=Winter
    in_the=am evening=Abend
    at_night=nachts
    """
)
PRESENT_TIMES = _ANY_TIME + _phrases("now=jetzt\nevery=jeden day=Tag\nevery=jede week=Woche")
PAST_TIMES = _ANY_TIME + _phrases(
    "yesterday=gestern\nrecently=neulich\nlast=letzte week=Woche\nlast=letztes year=Jahr"
)
FUTURE_TIMES = _ANY_TIME + _phrases(
    "tomorrow=morgen\nsoon=bald\nnext=nächste week=Woche\nnext=nächstes year=Jahr"
)

# Endings by case, then by column masculine, feminine, neuter, plural.
_WEAK = (("e", "e", "e", "en"), ("en", "e", "e", "en"), ("en", "en", "en", "en"))
_MIXED = (("er", "e", "es", "en"), ("en", "e", "es", "en"), ("en", "en", "en", "en"))
_STRONG = (("er", "e", "es", "e"), ("en", "e", "es", "e"), ("em", "er", "em", "en"))
_ARTICLE = (("der", "die", "das", "die"), ("den", "die", "das", "die"), ("dem", "der", "dem", "den"))


def _like_dieser(english: str, stem: str, adjectives: tuple[Words, Words, Words]) -> Determiner:
    forms = tuple(tuple(stem + ending for ending in row) for row in _STRONG)
    return Determiner(english, (forms[0], forms[1], forms[2]), adjectives)


def _like_ein(english: str, stem: str) -> Determiner:
    bare = (("", "e", "", "e"), ("en", "e", "", "e"), ("em", "er", "em", "en"))
    forms = tuple(tuple(stem + ending for ending in row) for row in bare)
    return Determiner(english, (forms[0], forms[1], forms[2]), _MIXED)


THE = Determiner("the", _ARTICLE, _WEAK)
A = _like_ein("a", "ein")
THESE = _like_dieser("these", "dies", _WEAK)
POSSESSIVES = (_like_ein("my", "mein"), _like_ein("his", "sein"), _like_ein("our", "unser"))
NO_ARTICLE = Determiner("", (("",) * 4, ("",) * 4, ("",) * 4), _STRONG)

# Repeated entries are more frequent.
SINGULAR_DETERMINERS = (
    *(THE,) * 5,
    *(A,) * 4,
    _like_dieser("this", "dies", _WEAK),
    _like_dieser("every", "jed", _WEAK),
    *POSSESSIVES,
)
COUNTABLE_DETERMINERS = (*(THE,) * 3, THESE, *POSSESSIVES)
"""Plural determiners that a numeral may follow ("die drei alten Hunde")."""
PLURAL_DETERMINERS = (
    *COUNTABLE_DETERMINERS,
    _like_dieser("all", "all", _WEAK),
    _like_dieser("many", "viel", _STRONG),
    _like_dieser("some", "einig", _STRONG),
)

RELATIVE_PRONOUNS = (
    ("der", "die", "das", "die"),
    ("den", "die", "das", "die"),
    ("dem", "der", "dem", "denen"),
)
"""``[case][column]``."""

CONTRACTIONS = {
    ("in", "dem"): "im",
    ("in", "das"): "ins",
    ("bei", "dem"): "beim",
    ("von", "dem"): "vom",
    ("zu", "dem"): "zum",
    ("zu", "der"): "zur",
    ("an", "das"): "ans",
}

_IN = Preposition(("in",), "in", Case.DATIVE)
_NEAR = Preposition(("near",), "bei", Case.DATIVE)
_FROM = Preposition(("from",), "aus", Case.DATIVE)
AT_PLACES = (
    _IN,
    _NEAR,
    Preposition(("behind",), "hinter", Case.DATIVE),
    Preposition(("beside",), "neben", Case.DATIVE),
    Preposition(("opposite",), "gegenüber", Case.DATIVE),
    Preposition(("in", "front", "of"), "vor", Case.DATIVE),
)
AT_CITIES = (_IN, _NEAR)
OF_ORIGIN = _FROM
OF_BELONGINGS = (
    Preposition(("with",), "mit", Case.DATIVE),
    Preposition(("without",), "ohne", Case.ACCUSATIVE),
)
TO_PLACES = (
    Preposition(("to",), "zu", Case.DATIVE),
    Preposition(("into",), "in", Case.ACCUSATIVE),
    Preposition(("through",), "durch", Case.ACCUSATIVE),
    Preposition(("around",), "um", Case.ACCUSATIVE),
)
TO_CITIES = Preposition(("to",), "nach", Case.DATIVE)

COORDINATORS = _phrases(",=, and=und\n,=, but=aber\n,=, or=oder\n;=;")
CONJUNCTIONS = _phrases(
    "because=weil\nalthough=obwohl\nif=wenn\nwhile=während\nbefore=bevor\nuntil=bis\n"
    "as_soon_as=sobald"
)
"""Each opens a clause before or after the one it depends on."""

FUTURE = Modal((("will",), ("will",)), ("wird", "werden"))
MODALS = (
    Modal((("can",), ("can",)), ("kann", "können")),
    Modal((("must",), ("must",)), ("muss", "müssen")),
    Modal((("should",), ("should",)), ("sollte", "sollten")),
    Modal((("may",), ("may",)), ("darf", "dürfen")),
    Modal((("wants", "to"), ("want", "to")), ("will", "wollen")),
)

BE = Verb(
    english=("be",),
    english_present=(("is",), ("are",)),
    english_past=(("was",), ("were",)),
    infinitive="sein",
    finite=("ist", "sind"),
    final=("ist", "sind"),
    prefix="",
    past=("war", "waren"),
    participle="",
    to_infinitive=("zu", "sein"),
)
INTRANSITIVE = _verbs(
    """
    sleep slept       schlafen schläft geschlafen
    laugh laughed     lachen lacht gelacht
    sing sang         singen singt gesungen
    dance danced      tanzen tanzt getanzt
    work worked       arbeiten arbeitet gearbeitet
    swim swam         schwimmen schwimmt +geschwommen
    eat ate           essen isst gegessen
    arrive arrived    an|kommen kommt +angekommen
    wake_up woke_up   auf|wachen wacht +aufgewacht
    get_up got_up     auf|stehen steht +aufgestanden
    """
)
INTRANSITIVE_OF_THINGS = _verbs(
    """
    fall fell              fallen fällt +gefallen
    burn burned            brennen brennt gebrannt
    disappear disappeared  verschwinden verschwindet +verschwunden
    """
)
MOTION = _verbs(
    """
    go went             gehen geht +gegangen
    run ran             laufen läuft +gelaufen
    come came           kommen kommt +gekommen
    travel travelled    reisen reist +gereist
    hurry hurried       eilen eilt +geeilt
    """
)
TRANSITIVE = _verbs(
    """
    see saw                sehen sieht gesehen
    find found             finden findet gefunden
    love loved             lieben liebt geliebt
    carry carried          tragen trägt getragen
    watch watched          beobachten beobachtet beobachtet
    look_for looked_for    suchen sucht gesucht
    draw drew              zeichnen zeichnet gezeichnet
    hide hid               verstecken versteckt versteckt
    forget forgot          vergessen vergisst vergessen
    need needed            brauchen braucht gebraucht
    lose lost              verlieren verliert verloren
    describe described     beschreiben beschreibt beschrieben
    look_at looked_at      an|sehen sieht angesehen
    """
)
TRANSITIVE_OF_PERSONS = _verbs(
    """
    call called            an|rufen ruft angerufen
    invite invited         ein|laden lädt eingeladen
    visit visited          besuchen besucht besucht
    kiss kissed            küssen küsst geküsst
    meet met               treffen trifft getroffen
    pick_up picked_up      ab|holen holt abgeholt
    """
)
TRANSITIVE_OF_THINGS = _verbs(
    """
    buy bought             kaufen kauft gekauft
    repair repaired        reparieren repariert repariert
    open opened            auf|machen macht aufgemacht
    close closed           zu|machen macht zugemacht
    steal stole            stehlen stiehlt gestohlen
    throw_away threw_away  weg|werfen wirft weggeworfen
    wash washed            waschen wäscht gewaschen
    """
)
DATIVE_VERBS = _verbs(
    """
    help helped            helfen hilft geholfen
    thank thanked          danken dankt gedankt
    follow followed        folgen folgt +gefolgt
    trust trusted          vertrauen vertraut vertraut
    answer answered        antworten antwortet geantwortet
    listen_to listened_to  zu|hören hört zugehört
    """,
    Case.DATIVE,
)
DATIVE_VERBS_OF_THINGS = _verbs(
    "belong_to belonged_to  gehören gehört gehört", Case.DATIVE
)
DITRANSITIVE = _verbs(
    """
    give gave              geben gibt gegeben
    show showed            zeigen zeigt gezeigt
    send sent              schicken schickt geschickt
    sell sold              verkaufen verkauft verkauft
    lend lent              leihen leiht geliehen
    bring brought          bringen bringt gebracht
    give_back gave_back    zurück|geben gibt zurückgegeben
    """
)
PREPOSITIONAL = _verbs(
    """
    wait waited for        warten wartet gewartet auf accusative
    dream dreamed of       träumen träumt geträumt von dative
    think thought of       denken denkt gedacht an accusative
    speak spoke with       sprechen spricht gesprochen mit dative
    play played with       spielen spielt gespielt mit dative
    laugh laughed at       lachen lacht gelacht über accusative
    fight fought against   kämpfen kämpft gekämpft gegen accusative
    begin began with       an|fangen fängt angefangen mit dative
    """
)
SAYING = _verbs(
    """
    say said               sagen sagt gesagt
    know knew              wissen weiß gewusst
    think thought          denken denkt gedacht
    believe believed       glauben glaubt geglaubt
    hope hoped             hoffen hofft gehofft
    claim claimed          behaupten behauptet behauptet
    explain explained      erklären erklärt erklärt
    notice noticed         bemerken bemerkt bemerkt
    assume assumed         an|nehmen nimmt angenommen
    """
)
"""These take "that"."""
ASKING = _verbs(
    """
    ask asked              fragen fragt gefragt
    know knew              wissen weiß gewusst
    find_out found_out     heraus|finden findet herausgefunden
    """
)
"""These take "whether"."""
TRYING = _verbs(
    """
    try tried              versuchen versucht versucht
    hope hoped             hoffen hofft gehofft
    decide decided         beschließen beschließt beschlossen
    forget forgot          vergessen vergisst vergessen
    begin began            an|fangen fängt angefangen
    promise promised       versprechen verspricht versprochen
    """
)
"""These take an infinitive with "to"."""
