package strictjson

import "math"

// Explain is Decode by the reader of tokens of a library.
func Explain(data []byte) (any, error) { return explain(data, math.MaxInt) }
