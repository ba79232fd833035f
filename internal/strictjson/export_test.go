package strictjson

import "math"

// Explain is like Decode, but always uses the tokenizer of the library.
func Explain(data []byte) (any, error) { return explain(data, math.MaxInt) }
