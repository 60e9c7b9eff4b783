"""The body plan of ants and spiders: a row of segments and pairs of arched legs."""


from kinema.asset.creatures.field import Body
from kinema.asset.creatures.proportions import Arthropod


def arthropod(p: Arthropod) -> Body:
    raise NotImplementedError
