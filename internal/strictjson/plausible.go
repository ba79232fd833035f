package strictjson

// headRead is the number of bytes that Plausible reads of a long document.
const headRead = 4 << 10

// Plausible reports whether Decode may accept a document. It judges a document of more than 4 KiB by its first 4 KiB and its last byte,
// and returns false if it is neither a list nor an object. It is for callers that pass a document on without reading it.
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
			if depth--; c.Failed() || depth == 0 { // if the document is closed, only white space may follow
				return !c.Failed() && c.Complete()
			}
		}
	}
	return !c.Failed() && document[len(document)-1] == open[0]+2 // in ASCII, ] and } are two above [ and {
}

// toNext moves to the next value of the open list or object. It returns false if that was closed, or is malformed.
func toNext(c *Cursor, kind byte) bool {
	if kind == '{' {
		return c.Member()
	}
	return c.Item()
}
