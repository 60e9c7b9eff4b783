// Compiled with -mavx2 -mfma on x86-64 only; elsewhere it is a second copy of the base code, never chosen.
#include "rollout.h"
#define KINEMA_ISA avx2
#include "dynamics.h"
