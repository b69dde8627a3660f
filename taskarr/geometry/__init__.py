"""Who owns what, as values: grids, layouts, views and regions, with no data and no communicator."""
