/* schedule: the geometric variance-exploding noise of the paper, with r = sigma_max / sigma_min and diffusion
 * time t in [0,1]:
 *     h(t)   = sigma_min^2 (r^(2t) - 1)              variance of the noise added up to time t, h(0) = 0
 *     g(t)^2 = dh/dt = 2 ln r sigma_min^2 r^(2t)     rate at which it is added */
#ifndef DIFFUSION_SCHEDULE_H
#define DIFFUSION_SCHEDULE_H

struct schedule {
    double sigma_min, sigma_max;
};

double schedule_h(const struct schedule *s, double t);
double schedule_g2(const struct schedule *s, double t);

#endif
