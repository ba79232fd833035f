package fetch

import "bytes"

// Events returns, from a stream (text/event-stream), the data of each complete event that has data. See section 9.2.6 of the HTML standard
// (Interpreting an event stream).
func Events(stream []byte) [][]byte {
	var list [][]byte
	var data []byte
	stream = bytes.TrimPrefix(stream, []byte("\ufeff"))
	stream = bytes.ReplaceAll(stream, []byte("\r\n"), []byte("\n"))
	stream = bytes.ReplaceAll(stream, []byte("\r"), []byte("\n"))
	for line := range bytes.Lines(stream) {
		text, whole := bytes.CutSuffix(line, []byte("\n"))
		switch {
		case !whole: // an incomplete line
		case len(text) == 0:
			if data != nil {
				list = append(list, bytes.TrimSuffix(data, []byte("\n")))
			}
			data = nil
		default:
			name, value, _ := bytes.Cut(text, []byte(":"))
			if value = bytes.TrimPrefix(value, []byte(" ")); string(name) == "data" && (len(value) > 0 || data != nil) {
				data = append(append(data, value...), '\n')
			}
		}
	}
	return list
}
