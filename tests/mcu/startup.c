/* startup: a Cortex-M from reset to main, for QEMU's boards mps2-an385, an386 and an500: a table of vectors,
 * the floating-point unit switched on, and newlib's semihosting for files and printing. QEMU has loaded data
 * and cleared the rest. */
#include <stdint.h>
#include <stdlib.h>

#define CPACR (*(volatile uint32_t *)0xE000ED88u)

extern uint32_t stack_top; /* of the linker script */
extern void initialise_monitor_handles(void);
extern int main(int argc, char **argv);
void _init(void);
void _fini(void);

void _init(void)
{
}

void _fini(void)
{
}

static void reset(void)
{
    static char program[] = "parity", data[] = "parity.bin";
    char *argv[] = {program, data, NULL};
    CPACR |= 0xFu << 20; /* coprocessors 10 and 11 */
    __asm volatile("dsb\n isb");
    initialise_monitor_handles();
    exit(main(2, argv));
}

static void fault(void)
{
    exit(99);
}

__attribute__((section(".vectors"), used)) static void (*const vectors[8])(void) = {
    (void (*)(void))(uintptr_t)&stack_top, reset, fault, fault, fault, fault, fault, fault};
