#define KINEMA_WIDTH 8
#define KINEMA_KERNEL kernel_avx2
#include "kernel.inl"
