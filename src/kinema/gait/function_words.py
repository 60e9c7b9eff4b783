"""Lists of small words that tell the parts of an English sentence, and other languages, apart."""

import re


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


DETERMINERS = _set("a an the its his her their my your our this these those some any own one's")
BE = _set("is are was were am be been being")
MODALS = _set("will would shall should can could may might must")
PHASES = _set("start begin keep continue try want need attempt proceed decide prefer")
"""Verbs that only lead to the verb: "starts to run", "keeps running"."""
LIGHT = _set("do make give take have perform go get execute practise practice be")
"""Verbs that mean nothing by themselves: "does a backflip"."""
PREPOSITIONS = _set("""
    in on at across through over under along around into toward towards to from past near by beside behind down up off
    onto outside inside above below during after for with against between beneath about among like as out away before
    without
""")
NOT_GERUNDS = _set("""
    king ring string thing something nothing everything anything morning evening wing spring ceiling building sling
    swing viking being during sibling duckling gosling hatchling dumpling lightning earthling clothing wedding bling
    ping fling sting sing bring cling starling darling pudding railing opening meeting
""")
NOT_ADVERBS = _set("""
    fly belly family bully jelly lily rely reply apply supply early butterfly folly gully grizzly elderly ugly silly
    lonely smelly woolly curly ally
""")
NOT_THIRD_PERSON = _set("""
    its his this always perhaps sometimes across towards is was has does as plus less us yes glasses legs arms eyes
    wings hands feet clothes trousers shorts jeans pants shoes boots pajamas tentacles horns ears spots stripes
""")
WHERE = _set("""
    home outside inside away forward forwards upward upwards downward ahead back left right there here and alone
    together
""")
"""Words that tell a place without a preposition."""
NUMBERS = _set("""
    two three four five six seven eight nine ten several many few various multiple numerous fifteen twenty thirty
    fifty hundred dozen
""")
GROUPS = _set("group pack herd crowd flock team couple pair swarm gang army bunch school band trio duo squad line")
PLURALS = _set("people men women children wolves mice geese oxen guys folks they we")
NEGATIONS = _set("not never no without cannot neither nor nobody hardly")
FAST = _set("""
    fast faster quick quickly rapidly swiftly hurriedly briskly speedily energetically hastily vigorously rapid brisk
    frantically hurrying
""")
SLOW = _set("""
    slow slower slowly leisurely lazily unhurriedly calmly gently tiredly wearily carefully sluggishly cautiously
    gradually tired
""")
PACE = re.compile(
    r"\b(?:(?:at|with) (?:an? )?(?:\w+ )?(?:pace|speed|tempo)|in (?:a|no) (?:hurry|rush)"
    r"|as (?:fast|quickly|slowly) as (?:possible|it can|he can|she can|they can)|at full tilt|flat out)\b"
)
ASIDE = re.compile(
    r" ,? ?(?:because|since|so that|when|whenever|although|though|unless|if|as (?:it|he|she|they)"
    r"|as (?:fast|quickly|slowly|hard|quietly) as(?! possible)) .*$"
)
"""What is said behind the verb phrase about why and when: "because he does not know"."""
OPENING = re.compile(
    r"^(?:\w{3,}ing|\w+ed|\w+ly|once|in|on|at|with|under|over|after|during|by|near|from|as|hands)\b[^,]* , "
    r"(?=(?:an?|the|he|she|it|someone) \w)"
)
"""What is said before the subject: "in the forest, a fox"."""
LABELS = re.compile(r" (?:animation|anim|cycle|loop|clip|motion|animations)$")
"""What game developers say behind the name of a motion: "idle animation"."""
INTENSIFIERS = _set("very really quite so rather just simply too extremely still now again slightly")
LIMB_WORDS = _set("hand leg paw arm foot fist side ear eye knee wing shoulder hoof claw legs hook jab leg's lead")
"""After left or right they name a part of the body and no direction."""
CAMERA = re.compile(
    r"^(?:please |can you |could you |i want (?:to see )?|i would like (?:to see )?|show me |show |generate |create "
    r"|render |animate |let |have |make |watch |imagine )*"
    r"(?:(?:an? |the |some )?(?:[\w-]+ ){0,2}?(?:video|animation|clip|footage|film|movie|picture|image|shot|scene|gif"
    r"|close-up|closeup|view|render|rendering|recording|photo)\b(?: (?:of|showing|with|where|in which|that shows))? ?)?"
)
"""What directors say before the sentence: "a video of", "please show me"."""
TRAILERS = re.compile(
    r"\b(?:in (?:super )?slow motion|slow-motion|4k|8k|hd|high quality|photorealistic|cinematic(?: shot)?"
    r"|seen from the (?:side|front|back)|(?:side|front|back) view|viewed from the (?:side|front|back)"
    r"|(?:on|against) a (?:white|black|green|plain) background|in an? (?:endless|seamless|perfect) loop)\b"
)
SEQUENCES = re.compile(
    r"\b(?:then|before (?=\w+ing\b|it |he |she |they )|afterwards?|followed by|until|finally|after (?:that|which)|later"
    r"|eventually|(?<!the )next(?! to))\b"
)
TOGETHER = re.compile(
    r"\b(?:each other|one another|together with|side by side|with (?:a|his|her|its) (?:friend|partner))\b"
)
LANGUAGES = {
    "German": _set("""
        der die das ein eine einer einem einen ist und nicht mit auf den dem läuft geht rennt springt tanzt schläft im
        wie sich über durch langsam schnell mann frau hund pferd mensch macht fliegt schwimmt sitzt steht
    """),
    "French": _set("""
        le la les un une est et dans avec sur des du qui marche court saute danse il elle ne pas homme femme chien
        cheval lentement rapidement nage vole dort mange renard chat train
    """),
    "Spanish": _set("""
        el la los las un una está y en con que corre camina salta baila del por se hombre mujer perro caballo zorro
        gato lentamente rápido nada vuela duerme come corriendo caminando bailando saltando
    """),
    "Italian": _set("""
        il lo la gli un una è con che sta corre cammina salta balla della non si uomo donna cane cavallo volpe gatto
        lentamente nuota vola dorme mangia correndo camminando ballando
    """),
    "Portuguese": _set("""
        o os um uma é está em com que corre anda pula dança do da não se homem mulher cão cachorro cavalo raposa gato
        devagar nada voa dorme come correndo andando dançando
    """),
}  # fmt: skip
ENGLISH = _set("the a an is are was and with on of to its his her in it that at from up down around like as while for")
