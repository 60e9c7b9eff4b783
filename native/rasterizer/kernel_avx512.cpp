#define KINEMA_WIDTH 16
#define KINEMA_KERNEL kernel_avx512
#include "kernel.inl"
