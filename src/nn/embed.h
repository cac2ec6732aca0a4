/* embed: sines and cosines of a number at geometrically spaced frequencies. */
#ifndef NN_EMBED_H
#define NN_EMBED_H

/* out [2 half]: sin(f_j u), then cos(f_j u), f from 0.5 to 30 radians per unit. Resolves u in [0,1] to about
 * 1/60 without aliasing: higher frequencies make a score net jittery in tau. */
void embed_sinusoid(float *out, float u, int size);

/* Observation features: x itself, then for each frequency 2^j, j < octaves, sin(2^j x) and cos(2^j x) of
 * every entry. out [dim (1 + 2 octaves)] */
void embed_octaves(float *out, const float *x, int dim, int octaves);

#endif
