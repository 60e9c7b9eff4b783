"""Which motion of the vocabulary a captioned clip shows, by a table of patterns over its verb phrase."""

import re

Table = tuple[tuple[str, str], ...]
"""Names of motions ("" leaves a clip out) and patterns of the phrases that mean them; the first found counts."""

CAPTIONS: Table = (
    # Parts of an action, two actions at once, and what only a seat, a vehicle or an opponent would explain.
    ("", r"wheelchair|car door|airplane|transforms|recovers|lowers the hand|chopping$|to chop|to work|(up|down) a pan"
         r"|from a table$|shifts to|out of the ground|from the air|in the air in a|tucks up|^lands|starts|stops"
         r"|takes off|and (stands|gets) up$|lies (down|on the back) and gets|carries it|sets it down"),
    ("", r"runs (and|with arms|injured|backward)|runs, |jumps and (grabs|strikes|chops|balances|clicks)|^dashes"
         r"|^holds (something|a spell)|stands holding|sits and |leans on|rejects|invites|takes a picture|coughs|dusts"
         r"|thinks|listens at|knocks|reloads|bobs up|grows strong|awakens standing|hangs|climbs (on|and|up,|back)"
         r"|behind a shield$|through the air|punches and kicks|slide$|ninja|sways dizzily|in defeat"
         r"|(runs|sneaks|jumps) sideways"),
    ("", r"(moves|acts|crawls|swims|jumps around|gallops|stomps|prowls|waddles|floats and scares|scurries|flutters)"
         r".* like|flaps|cartwheel|handstand|upside down|kick flip|balances|basket|hopscotch|peekaboo|high five"
         r"|shakes hands|stairs|paces up|kata$|swims (breast|free|back|butter)|club|bat$|\brows|fishing|violin"
         r"|drums|piano|swats|bangs|steps carefully|pokes|turns in the air|twists|surprise|scared|is sad|^lunges$"
         r"|swing$|on ropes|poses|turns (left|right)|on all fours|elephant|helicopter"),
    # Fighting
    ("attack", r"strikes with a shield"),
    ("dodge", r"dodges|ducks( to avoid.*)?$"),
    ("run", r"^runs with"),
    ("roll", r"\brolls (forward|over)"),
    ("ride", r"on a skateboard"),
    ("block", r"\bblocks?\b|shield|to defend"),
    ("guard", r"ready to|^stands with a (two-handed )?sword|defensive guard"),
    ("aim", r"\baims?\b|draws a bow|pulls a gun|stands with a (gun|pistol|bow)"),
    ("cast", r"spell|summons|blasts"),
    ("shoot", r"shoots"),
    ("chop", r"chops (a tree|wood)"),
    ("sword", r"sword|two-handed|two weapons"),
    ("punch", r"punch|\bjabs?\b|strikes with the|bangs"),
    ("throw", r"throws|pitches|tosses"),
    ("kick", r"kicks?\b"),
    ("tail_whip", r"with the tail$"),
    ("headbutt", r"headbutt"),
    ("peck", r"beak|pecks"),
    ("bite", r"bites"),
    ("attack", r"attack|like a zombie$(?<=scratches like a zombie)"),
    # Ends
    ("die", r"\bdies?\b|dead in the water|into bones|switches off"),
    ("hit", r"flinch|is hit|knocked"),
    ("get_up", r"gets up( from (lying|the floor).*)?$|rises (from the floor|again)|up from the floor"),
    ("stand_up", r"stands up|gets up from a"),
    ("fall", r"^falls|slips"),
    ("flop", r"flops"),
    # Down and up again
    ("drive", r"driving"),
    ("meditate", r"meditates"),
    ("sit_chair", r"sits .*(chair|seat|stool)"),
    ("sit", r"^sits"),
    ("work", r"works|repairs|hammers|saws|food|cooks|plants|wipes|sweeps|rakes"),
    ("kneel", r"kneels"),
    ("coil", r"coiled"),
    ("rear", r"head up and sways"),
    ("sleep", r"asleep"),
    ("lie", r"^lies"),
    ("sneak", r"sneaks|creeps carefully|tiptoes|crouched"),
    ("crouch", r"^crouches( down| and gestures)?$|ducks down"),
    # Gestures and moods
    ("cheer", r"cheers|for joy"),
    ("dance", r"danc|dabs|moonwalk|pirouette|high and leaps|leaps and spins"),
    ("wave", r"waves"),
    ("bow", r"bows|curtseys"),
    ("clap", r"claps"),
    ("point", r"pointing"),
    ("nod", r"nods"),
    ("shake_head", r"shakes the head"),
    ("shrug", r"shrugs"),
    ("laugh", r"laughs"),
    ("cry", r"cries"),
    ("yawn", r"yawns"),
    ("stretch", r"stretches|rolls the head|shakes out"),
    ("scratch", r"scratches the head"),
    ("shiver", r"shivers"),
    ("talk", r"talks"),
    ("taunt", r"taunts|flexes|powers up|beating the chest"),
    ("stomp", r"stamps"),
    ("look", r"looks around"),
    ("stand", r"^stands"),
    # Exercise and daily life
    ("push_ups", r"push-ups"),
    ("sit_ups", r"sit-ups"),
    ("jumping_jacks", r"jumping jacks"),
    ("squats", r"squats$"),
    ("yoga", r"yoga"),
    ("ride", r"skateboard"),
    ("pick_up", r"picks|fetches|scoops"),
    ("lift", r"lifts"),
    ("push", r"pushes"),
    ("pull", r"pulls|drags a heavy"),
    ("carry", r"carrying|holding something|heavy box"),
    ("reach", r"reaches|in the hand|opens a chest"),
    ("eat", r"\beats"),
    ("drink", r"drinks"),
    ("dig", r"digs"),
    ("roar", r"roars"),
    ("howl", r"howls"),
    ("bark", r"barks"),
    # In the air, in water, on the ground
    ("flip", r"flip|handspring|somersault"),
    ("slide", r"slides"),
    ("float", r"hovers|levitates"),
    ("glide", r"glides"),
    ("fly", r"flies"),
    ("swim_fast", r"swims (fast|with a burst)"),
    ("swim", r"swims|treads water"),
    ("sidewind", r"sidewinding"),
    ("crawl", r"crawls"),
    ("climb", r"climbs"),
    ("jump", r"jumps?\b"),
    ("limp", r"limps?$|injured|hurt|bad leg"),
    ("stagger", r"staggers(?! with)"),
    ("shamble", r"shambles|zombie|mummy|Frankenstein|arms out$"),
    ("turn_around", r"^turns around"),
    ("walk_back", r"walks backward"),
    ("march", r"marches"),
    ("jog", r"jogs"),
    ("gallop", r"gallop"),
    ("run", r"runs|sprints"),
    ("hop", r"hops"),
    ("walk", r"walks|strolls"),
)  # fmt: skip
"""Phrases in the third person, without the noun: "lunges forward and bites"."""

ARTISTS_NAMES: Table = (
    ("", r"gallop_jump|jump_(idle|land)|run_|walk_(?!$)(gun|shoot)"),
    ("headbutt", r"headbutt"),
    ("kick", r"kick"),
    ("die", r"death"),
    ("eat", r"eating"),
    ("gallop", r"gallop"),
    ("hit", r"hitreact"),
    ("look", r"idle_2(?!_)|survey"),
    ("aim", r"idle_gun"),
    ("shoot", r"shoot"),
    ("stand", r"idle"),
    ("jump", r"jump"),
    ("walk", r"walk"),
    ("run", r"run"),
    ("swim", r"swim"),
    ("crouch", r"duck"),
    ("shake_head", r"^no$"),
    ("nod", r"^yes$"),
    ("punch", r"punch"),
    ("wave", r"wave"),
    ("attack", r"attack"),
)
"""Names of clips as artists give them: "Idle_HitReact_Left"."""

CAPTURES: Table = (
    ("", r"crawl|to sneak|on left foot|stop|cartwheel|bear|backflip|drag|ladder|sit"),
    ("limp", r"limp"),
    ("shamble", r"zombie"),
    ("walk", r"walk|stride"),
    ("run", r"run"),
    ("jump", r"jump"),
    ("kick", r"kick"),
    ("punch", r"boxing"),
    ("dance", r"dance"),
)
"""Descriptions of motion capture: "slow walk/stride"."""

OF_KIND = {("snake", "crawl"): "slither"}
"""What a kind of body does instead."""
CYCLES = frozenset(
    (
        "walk", "run", "jog", "trot", "pace", "canter", "gallop", "sneak", "limp", "stagger", "shamble", "hop", "skip",
        "march", "turn_left", "turn_right", "walk_back", "sidle", "carry", "crawl", "swim", "swim_fast", "fly", "flap",
        "slither", "sidewind", "glide",
    )
)  # fmt: skip
"""Motions that repeat."""
STATES = frozenset(["stand", "sleep", "float", "guard", "aim", "drive", "ride", "meditate", "shiver"])
"""Motions without beginning and end."""
HELD = frozenset(["sit", "sit_chair", "lie", "kneel", "crouch", "coil", "block", "rear"])
"""Actions whose end is held, so that a clip may show nothing but that end."""


def motion_of(phrase: str, table: Table = CAPTIONS, *, kind: str = "") -> str | None:
    """The motion that a phrase means on that kind of body; "" for clips that are left out, None if no row knows it."""
    name = next((name for name, pattern in table if re.search(pattern, phrase)), None)
    return name if name is None else OF_KIND.get((kind, name), name)


def is_held(phrase: str) -> bool:
    """Does the phrase tell of nothing but an action's end ("sits on the floor", not "sits down")?"""
    return bool(re.search(r"^(sits|lies|crouches|kneels|holds|floats dead)\b", phrase)) and not re.search(
        r"\bdown\b|driving|asleep|meditates|sways", phrase
    )
