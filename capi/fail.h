// s4d_fail stores the text of an error for the calling thread, truncated to 1023 bytes, and returns code.
#include "s4d.h"

s4d_status s4d_fail(s4d_status code, const char *text, size_t n);
