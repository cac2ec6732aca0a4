/* manner: how a run learned and acted, where the paper's method does otherwise: what a verdict beside the
 * paper's numbers must not keep silent about. */
#ifndef LAB_MANNER_H
#define LAB_MANNER_H

#include "collection.h"
#include "document.h"

/* A line for each manner of these methods (NULL: of all) of which that is to be said. */
void manner_tell(struct document *document, const struct collection *collection, const int *methods, int n);

#endif
