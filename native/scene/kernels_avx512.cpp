#define KINEMA_ISA avx512
#include "kernels.h"
