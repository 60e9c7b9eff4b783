#define KINEMA_ISA base
#include "kernels.h"
