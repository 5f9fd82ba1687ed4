/* Inside room rgpu: a graph in which one node is there several times, each for some of its readers.
 */
#ifndef BF_RGPU_SPLIT_H
#define BF_RGPU_SPLIT_H

#include "rgpu/graph.h"

/* The other nodes that read a node, each once; returns how many. */
unsigned rgpu_readers(const bf_rgpu_graph *graph, unsigned node,
                      unsigned readers[BF_RGPU_MOST_NODES]);
/* Whether a node needs nothing but itself, so that it can be computed anew anywhere. */
bool rgpu_is_source(const bf_rgpu_graph *graph, unsigned node);
/* Reader number i of the node (as rgpu_readers lists them) reads instance group[i]; instance 0 is
 * the node itself, the others are added behind the nodes of the graph. The result borrows from
 * `graph`, which must outlive it. */
int rgpu_split(const bf_rgpu_graph *graph, unsigned node, const unsigned *group,
               bf_rgpu_graph **split);

#endif
