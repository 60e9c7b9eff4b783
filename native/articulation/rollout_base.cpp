#define KINEMA_ISA base
#include "rollout.h"
