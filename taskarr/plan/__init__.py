"""Planning: what one rank will do, as a pure function of (graph, rank, number of ranks)."""
