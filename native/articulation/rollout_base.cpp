#include "rollout.h"
#define KINEMA_ISA base
#include "dynamics.h"
