package strictjson

import (
	"encoding/hex"
	"encoding/json"
	"time"
)

// A Writer appends one JSON object, member by member. Its output is byte for byte that of json.Marshal for a struct with these members.
//
//	w := strictjson.NewWriter(line)
//	w.Text("decision", "permit")
//	w.Optional("rule", rule)
//	line, err := w.End()
type Writer struct {
	out     []byte
	started bool
	err     error
}

// NewWriter returns a Writer that appends an object to out.
func NewWriter(out []byte) Writer { return Writer{out: append(out, '{')} }

// End completes the object, and returns out with the object appended. The error is that of the first value that could not be encoded.
func (w *Writer) End() ([]byte, error) { return append(w.out, '}'), w.err }

func (w *Writer) name(name string) {
	if w.started {
		w.out = append(w.out, ',')
	}
	w.started = true
	w.text(name)
	w.out = append(w.out, ':')
}

func (w *Writer) text(s string) {
	out, err := forHTML.text(w.out, s)
	w.note(out, err)
}

func (w *Writer) note(out []byte, err error) {
	w.out = out
	if w.err == nil {
		w.err = err
	}
}

// Text writes a member that is a string.
func (w *Writer) Text(name, s string) {
	w.name(name)
	w.text(s)
}

// Optional is like Text, but omits an empty string.
func (w *Writer) Optional(name, s string) {
	if s != "" {
		w.Text(name, s)
	}
}

// Hex writes a member that is a string of hexadecimal digits.
func (w *Writer) Hex(name string, of []byte) {
	w.name(name)
	w.out = append(hex.AppendEncode(append(w.out, '"'), of), '"')
}

// True writes a member that is true. It writes nothing if value is false.
func (w *Writer) True(name string, value bool) {
	if value {
		w.name(name)
		w.out = append(w.out, "true"...)
	}
}

// Texts writes a member that is a list of strings. It writes nothing if the list is empty.
func (w *Writer) Texts(name string, list []string) {
	if len(list) == 0 {
		return
	}
	w.name(name)
	for i, s := range list {
		w.out = append(w.out, "[,"[min(i, 1)])
		w.text(s)
	}
	w.out = append(w.out, ']')
}

// Time writes a member that is a time in the format of RFC 3339 5.6.
func (w *Writer) Time(name string, at time.Time) {
	w.name(name)
	w.out = append(at.AppendFormat(append(w.out, '"'), time.RFC3339Nano), '"')
}

// Object writes a member that is an object of values that Decode makes, or that json.Marshal accepts. It writes nothing if the object has
// no members.
func (w *Writer) Object(name string, members map[string]any) {
	if len(members) == 0 {
		return
	}
	w.name(name)
	out, err := forHTML.object(w.out, members)
	if err == nil {
		w.out = out
		return
	}
	text, err := json.Marshal(members)
	w.note(append(w.out, text...), err)
}

// JSON writes a member whose value is already JSON. It writes nothing if text is nil.
func (w *Writer) JSON(name string, text []byte) {
	if text != nil {
		w.name(name)
		w.out = append(w.out, text...)
	}
}

// Append writes a member. The function value appends its value, encoded as JSON.
func (w *Writer) Append(name string, value func([]byte) ([]byte, error)) {
	w.name(name)
	out, err := value(w.out)
	w.note(out, err)
}
