#define KINEMA_ISA avx2
#include "kernels.h"
