package strictjson

import "bytes"

// The memory that the parts of a tree take, in bytes, including the garbage that their growth leaves, and the table of names.
const (
	costOfDocument = 4096 // the reader itself
	costOfValue    = 112  // a slot in a growing array, and the header of a string
	costOfArray    = 24
	costOfObject   = 32
	costOfMembers  = 336 // the first eight slots, which a map allocates together
	costOfName     = 214 // a slot in a growing object, and one in the table of names
)

// Cost returns an upper bound for the memory that Decode allocates for a document, in bytes, in addition to the document itself. It counts
// the characters that start values, so it is fast and allocates nothing. It also counts such characters inside strings, which makes the
// bound higher.
func Cost(data []byte) int64 {
	count := func(text string) int64 { return int64(bytes.Count(data, []byte(text))) }
	objects, arrays := count("{"), count("[")
	values := 1 + objects + arrays + count(",")
	return costOfDocument + 2*int64(len(data)) + values*costOfValue + arrays*costOfArray + objects*costOfObject +
		(objects-count("{}"))*costOfMembers + count(":")*costOfName
}
