/* box: [-1,1]^d, where the actions of every learner live. */
#ifndef MATH_BOX_H
#define MATH_BOX_H

/* What is not a number stays so: it is for the guards to find. */
static inline float into_box(float a)
{
    return a > 1 ? 1 : a < -1 ? -1 : a;
}

#endif
