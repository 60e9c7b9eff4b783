// Compiled with -mavx2 -mfma on x86-64; elsewhere a second copy of the base code, which is never chosen.
#define KINEMA_ISA avx2
#include "rollout.h"
