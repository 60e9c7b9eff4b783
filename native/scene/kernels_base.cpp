// The loops are plain, so that the compiler vectorises them as wide as this file's flags allow.
#define KINEMA_ISA base
#include "paint.h"
#include "pose.h"
#include "shadow.h"
