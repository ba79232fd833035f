package strictjson

// headRead is how many bytes of a long document Plausible reads.
const headRead = 4 << 10

// Plausible reports whether Decode may accept a document, judging by its first 4 KiB and its last byte. It is for callers that pass a
// document on without reading it. It returns false for longer documents other than lists and objects.
func Plausible(document []byte) bool {
	if len(document) <= headRead {
		return Valid(document)
	}
	c := Begin(document)
	defer c.End()
	var open [MaxDepth + 1]byte
	depth := 0
	for c.Offset() < headRead {
		switch next := c.Next(); {
		case next == '{' || next == '[':
			if !c.Open(next) {
				return false
			}
			open[depth] = next
			depth++
		case depth == 0 || !c.Skip():
			return false
		}
		for !toNext(c, open[depth-1]) {
			if depth--; c.Failed() || depth == 0 { // closed, where nothing but spaces may follow
				return !c.Failed() && c.Complete()
			}
		}
	}
	return !c.Failed() && document[len(document)-1] == open[0]+2 // in ASCII both pairs are two apart
}

// toNext moves to the next value of the open list or object; false: it is closed now, or malformed.
func toNext(c *Cursor, kind byte) bool {
	if kind == '{' {
		return c.Member()
	}
	return c.Item()
}
