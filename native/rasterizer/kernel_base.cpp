#define KINEMA_WIDTH 4
#define KINEMA_KERNEL kernel_base
#include "kernel.inl"
