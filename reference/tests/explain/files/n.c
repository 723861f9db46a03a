int f(void) { return ENETUNREACH }
