// A child that never answers: it loops, as a damaged file makes the HDF5 library loop.
for (;;);
