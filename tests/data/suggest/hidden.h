// A use of an array that the source does not show.
#define READ(y, x) hidden[y][x]
