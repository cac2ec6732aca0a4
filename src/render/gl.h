/* gl: an off-screen OpenGL context, from EGL or OSMesa, whichever this machine has. Both are looked for at
 * run time, so that nothing links to OpenGL. MUJOCO_GL=egl or osmesa in the environment allows only that
 * one. */
#ifndef RENDER_GL_H
#define RENDER_GL_H

#include "status.h"

struct gl;

/* The context is current in the calling thread, and only used there, until gl_close. */
dqs_status gl_open(struct gl **gl, dqs_error *error);
const char *gl_name(const struct gl *gl); /* "EGL" or "OSMesa" */
void gl_close(struct gl *gl);             /* NULL is allowed */

#endif
