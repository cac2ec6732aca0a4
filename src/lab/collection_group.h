/* collection_group: which runs belong together. Only collection.c calls it. */
#ifndef LAB_COLLECTION_GROUP_H
#define LAB_COLLECTION_GROUP_H

#include "collection.h"

/* Fills tasks, methods and cells from the runs, and leaves out doubles. */
void collection_group(struct collection *collection, collection_warning *warn, void *user);

#endif
