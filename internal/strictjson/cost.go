package strictjson

import "bytes"

// The memory of the parts of a tree, in bytes, including the garbage of its growth and the table of names.
const (
	costOfDocument = 4096 // the reader itself
	costOfValue    = 112  // a place in an array, as it grows, and the header of a text
	costOfArray    = 24
	costOfObject   = 32
	costOfMembers  = 336 // the first eight, which a map takes at once
	costOfName     = 214 // a place in an object, as it grows, and one in the table of names
)

// Cost returns an upper bound of the bytes of memory that Decode takes for a document, in addition to the document. It counts characters
// that start values, so it is fast and needs no memory; it also counts those inside strings, which makes it higher.
func Cost(data []byte) int64 {
	count := func(text string) int64 { return int64(bytes.Count(data, []byte(text))) }
	objects, arrays := count("{"), count("[")
	values := 1 + objects + arrays + count(",")
	return costOfDocument + 2*int64(len(data)) + values*costOfValue + arrays*costOfArray + objects*costOfObject +
		(objects-count("{}"))*costOfMembers + count(":")*costOfName
}
