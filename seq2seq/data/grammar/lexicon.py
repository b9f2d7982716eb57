"""The words of the embedded English-German grammar, as tables.

A row is one dictionary entry, English left, German right; the functions that read a table say
what its columns are. Words were chosen so that each English form has one German counterpart and
the other way round; verbs whose English past looks like their present ("read") stay out.
"""

from itertools import combinations

from seq2seq.data.grammar.forms import (
    ARTICLE,
    STRONG,
    WEAK,
    Adjective,
    Case,
    Determiner,
    Kind,
    Modal,
    Noun,
    Number,
    Preposition,
    Verb,
    adjectives,
    like_dieser,
    like_ein,
    nouns,
    phrases,
    verbs,
    words,
)

NOUNS: tuple[tuple[Noun, ...], ...] = (  # indexed by Kind
    nouns(
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
    nouns(
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
    nouns(
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
    nouns(
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

NAMES = words(
    """
    Anna Peter Maria Paul Julia Thomas Lena Felix Sophie Jonas Laura Martin Clara Simon
    Emma Oskar Nina Max Eva Daniel Lisa Robert Helena Anton Katharina Viktor Rosa Emil
    """
)
CITIES = words("Berlin Hamburg Paris London Madrid Dresden Leipzig Bonn Oslo Bern Budapest Rostock")
PRONOUNS: tuple[tuple[str, str, Number], ...] = (
    ("he", "er", Number.SINGULAR),
    ("she", "sie", Number.SINGULAR),
    ("we", "wir", Number.PLURAL),
    ("they", "sie", Number.PLURAL),
)
"""Subjects of one word; "sie" is told apart by the number of its verb."""

_COLOURS = "red=rot blue=blau green=grün black=schwarz white=weiß brown=braun grey=grau"
_ORIGINS = "German=deutsch French=französisch Russian=russisch English=englisch"
ADJECTIVES: tuple[tuple[tuple[Adjective, ...], ...], ...] = (
    # By Kind; then by class, in the order in which they precede a noun: the last is not for "is".
    adjectives(
        """famous=berühmt important=wichtig wonderful=wunderbar friendly=freundlich clever=klug
        funny=lustig""",
        "small=klein big=groß",
        "old=alt young=jung tired=müde/müd hungry=hungrig",
        _ORIGINS,
    ),
    adjectives(
        """beautiful=schön strange=seltsam wonderful=wunderbar dangerous=gefährlich clever=klug
        funny=lustig""",
        "small=klein big=groß tiny=winzig huge=riesig",
        "old=alt young=jung tired=müde/müd hungry=hungrig dirty=schmutzig",
        _COLOURS,
    ),
    adjectives(
        """beautiful=schön strange=seltsam wonderful=wunderbar important=wichtig ugly=hässlich
       """,
        "small=klein big=groß tiny=winzig heavy=schwer",
        "old=alt new=neu dirty=schmutzig cold=kalt",
        _COLOURS,
        _ORIGINS,
    ),
    adjectives(
        """beautiful=schön strange=seltsam famous=berühmt dangerous=gefährlich ugly=hässlich
       """,
        "small=klein big=groß tiny=winzig huge=riesig",
        "old=alt new=neu dirty=schmutzig dark=dunkel/dunkl cold=kalt",
        _ORIGINS,
    ),
)
ADJECTIVE_CLASSES = tuple(
    tuple(tuple(combinations(range(len(classes)), n)) for n in range(4)) for classes in ADJECTIVES
)
"""By Kind: the choices of 0-3 different classes, each in their order."""
PREDICATIVES = tuple(sum(classes[:-1], ()) for classes in ADJECTIVES)

INTENSIFIERS = phrases("very=sehr\nquite=ziemlich\nespecially=besonders\nunusually=ungewöhnlich")
NUMERALS = phrases(
    "two=zwei\nthree=drei\nfour=vier\nfive=fünf\nsix=sechs\nseven=sieben\neight=acht\nnine=neun\n"
    "ten=zehn\neleven=elf\ntwelve=zwölf\ntwenty=zwanzig"
)
ADVERBS_OF_THINGS = phrases(
    """
    often=oft
    always=immer
    rarely=selten
    never=nie
    sometimes=manchmal
    suddenly=plötzlich
    probably=wahrscheinlich
    certainly=bestimmt
    finally=endlich
    """
)
ADVERBS = ADVERBS_OF_THINGS + phrases(
    """
    quietly=leise
    slowly=langsam
    quickly=schnell
    carefully=vorsichtig
    secretly=heimlich
    happily=fröhlich
    gladly=gern
    proudly=stolz
    patiently=geduldig
    """
)

_ANY_TIME = phrases(
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
PRESENT_TIMES = _ANY_TIME + phrases("now=jetzt\nevery=jeden day=Tag\nevery=jede week=Woche")
PAST_TIMES = _ANY_TIME + phrases(
    "yesterday=gestern\nrecently=neulich\nlast=letzte week=Woche\nlast=letztes year=Jahr"
)
FUTURE_TIMES = _ANY_TIME + phrases(
    "tomorrow=morgen\nsoon=bald\nnext=nächste week=Woche\nnext=nächstes year=Jahr"
)

THE = Determiner("the", ARTICLE, WEAK)
A = like_ein("a", "ein")
THESE = like_dieser("these", "dies", WEAK)
POSSESSIVES = (like_ein("my", "mein"), like_ein("his", "sein"), like_ein("our", "unser"))
NO_ARTICLE = Determiner("", (("",) * 4, ("",) * 4, ("",) * 4), STRONG)

# Repeated entries are more frequent.
SINGULAR_DETERMINERS = (
    *(THE,) * 5,
    *(A,) * 4,
    like_dieser("this", "dies", WEAK),
    like_dieser("every", "jed", WEAK),
    *POSSESSIVES,
)
COUNTABLE_DETERMINERS = (*(THE,) * 3, THESE, *POSSESSIVES)
"""Plural determiners that a numeral may follow ("die drei alten Hunde")."""
PLURAL_DETERMINERS = (
    *COUNTABLE_DETERMINERS,
    like_dieser("all", "all", WEAK),
    like_dieser("many", "viel", STRONG),
    like_dieser("some", "einig", STRONG),
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
IN_WHICH = AT_PLACES[:4]
"""Those of one word that a relative clause may begin with."""
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

COORDINATORS = phrases(",=, and=und\n,=, but=aber\n,=, or=oder\n;=;")
CONJUNCTIONS = phrases(
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
INTRANSITIVE = verbs(
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
INTRANSITIVE_SIMPLE = tuple(verb for verb in INTRANSITIVE if len(verb.english) == 1)
INTRANSITIVE_OF_THINGS = verbs(
    """
    fall fell              fallen fällt +gefallen
    burn burned            brennen brennt gebrannt
    disappear disappeared  verschwinden verschwindet +verschwunden
    """
)
MOTION = verbs(
    """
    go went             gehen geht +gegangen
    run ran             laufen läuft +gelaufen
    come came           kommen kommt +gekommen
    travel travelled    reisen reist +gereist
    """
)
TRANSITIVE = verbs(
    """
    see saw                sehen sieht gesehen
    find found             finden findet gefunden
    love loved             lieben liebt geliebt
    carry carried          tragen trägt getragen
    watch watched          beobachten beobachtet beobachtet
    look_for looked_for    suchen sucht gesucht
    hide hid               verstecken versteckt versteckt
    forget forgot          vergessen vergisst vergessen
    lose lost              verlieren verliert verloren
    look_at looked_at      an|sehen sieht angesehen
    """
)
TRANSITIVE_OF_PERSONS = verbs(
    """
    call called            an|rufen ruft angerufen
    invite invited         ein|laden lädt eingeladen
    visit visited          besuchen besucht besucht
    kiss kissed            küssen küsst geküsst
    meet met               treffen trifft getroffen
    pick_up picked_up      ab|holen holt abgeholt
    """
)
TRANSITIVE_OF_THINGS = verbs(
    """
    buy bought             kaufen kauft gekauft
    repair repaired        reparieren repariert repariert
    open opened            auf|machen macht aufgemacht
    close closed           zu|machen macht zugemacht
    throw_away threw_away  weg|werfen wirft weggeworfen
    """
)
DATIVE_VERBS = verbs(
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
DATIVE_VERBS_OF_THINGS = verbs("belong_to belonged_to  gehören gehört gehört", Case.DATIVE)
DITRANSITIVE = verbs(
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
PREPOSITIONAL_OF_THINGS = verbs(
    """
    wait waited for        warten wartet gewartet auf accusative
    dream dreamed of       träumen träumt geträumt von dative
    think thought of       denken denkt gedacht an accusative
    play played with       spielen spielt gespielt mit dative
    laugh laughed at       lachen lacht gelacht über accusative
    """
)
PREPOSITIONAL = PREPOSITIONAL_OF_THINGS + verbs(
    """
    speak spoke with       sprechen spricht gesprochen mit dative
    fight fought against   kämpfen kämpft gekämpft gegen accusative
    look looked after      auf|passen passt aufgepasst auf accusative
    """
)
SAYING = verbs(
    """
    say said               sagen sagt gesagt
    know knew              wissen weiß gewusst
    think thought          denken denkt gedacht
    believe believed       glauben glaubt geglaubt
    hope hoped             hoffen hofft gehofft
    explain explained      erklären erklärt erklärt
    notice noticed         bemerken bemerkt bemerkt
    """
)
"""These take "that"."""
ASKING = verbs(
    """
    ask asked              fragen fragt gefragt
    know knew              wissen weiß gewusst
    find_out found_out     heraus|finden findet herausgefunden
    """
)
"""These take "whether"."""
TRYING = verbs(
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
