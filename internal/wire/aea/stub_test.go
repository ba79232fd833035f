package aea_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	wire "github.com/uimgate/uimgate/internal/wire/aea"
)

// message encodes a message with some content.
func message(tb testing.TB, content string) []byte {
	tb.Helper()
	out, err := wire.Message{ID: 1, StarterRef: "a1", Content: []byte(content)}.Encode()
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// Commas and line feeds in a message do not end it, because the record has the length of the message.
func TestSeveralRecords(t *testing.T) {
	var file []byte
	var want []wire.Envelope
	for _, content := range []string{"one", "a,b,c,\n", "two\nlines,", ",,,,", strings.Repeat("long,", 1000)} {
		e := wire.Envelope{To: "gw", Sender: "did:web:me", Protocol: defaultID, Message: message(t, content)}
		want = append(want, e)
		var err error
		if file, err = wire.AppendRecord(file, e); err != nil {
			t.Fatal(err)
		}
		if len(want)%2 == 0 { // agents write no line feed
			file = file[:len(file)-1]
		}
	}
	var got []wire.Envelope
	for len(file) > 0 {
		e, rest, err := wire.ReadRecord(file)
		if err != nil {
			t.Fatal(err)
		}
		got, file = append(got, e), rest
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("differs (-want +got):\n%s", diff)
	}
}

// Every part of a record up to its end is incomplete, and not invalid.
func TestIncompleteRecord(t *testing.T) {
	long := message(t, strings.Repeat("x", 300))
	record, err := wire.AppendRecord(nil, wire.Envelope{To: "gw", Sender: "me", Protocol: defaultID, Message: long})
	if err != nil {
		t.Fatal(err)
	}
	for n := range len(record) - 1 { // complete even without the line feed
		if e, _, err := wire.ReadRecord(record[:n]); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("%d bytes: %+v, %v, want %v", n, e, err, io.ErrUnexpectedEOF)
		}
	}
}

func TestReadRecordErrors(t *testing.T) {
	m := string(message(t, "c"))
	for name, data := range map[string]string{
		"empty names":             ",,,",
		"no names":                strings.Repeat("x", wire.MaxAddress+1),
		"protocol without author": "gw,me,x," + m + ",",
		"no message":              "gw,me,a/b:1.0.0,,",
		"legacy message":          "gw,me,a/b:1.0.0,\x0a\x01x,",
		"message of 4 GB":         "gw,me,a/b:1.0.0,\x12\xff\xff\xff\xff\x0f",
		"length -1":               "gw,me,a/b:1.0.0,\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
		"length without end":      "gw,me,a/b:1.0.0,\x12" + strings.Repeat("\xff", 11),
		"no comma after it":       "gw,me,a/b:1.0.0," + m + ";",
		"a comma in an address":   "gw,me,too,a/b:1.0.0," + m + ",",
		"line feed in an address": "\ngw,me,a/b:1.0.0," + m + ",",
		"from agent to component": "a/b,me,a/b:1.0.0," + m + ",",
		"address is not UTF-8":    "g\xff,me,a/b:1.0.0," + m + ",",
	} {
		if e, rest, err := wire.ReadRecord([]byte(data)); !errors.Is(err, wire.ErrUndecodable) || e.To != "" || rest != nil {
			t.Errorf("%s: got %+v, %q, %v; want %v, To empty and nil", name, e, rest, err, wire.ErrUndecodable)
		}
	}
}

func TestAppendRecordErrors(t *testing.T) {
	good := wire.Envelope{To: "gw", Sender: "me", Protocol: defaultID, Message: message(t, "c")}
	for name, change := range map[string]func(*wire.Envelope){
		"comma in an address": func(e *wire.Envelope) { e.To = "g,w" },
		"empty address":       func(e *wire.Envelope) { e.Sender = "" },
		"no protocol":         func(e *wire.Envelope) { e.Protocol = wire.PublicID{} },
		"escape in a message": func(e *wire.Envelope) { e.Message = message(t, `a\xb`) },
		"two messages":        func(e *wire.Envelope) { e.Message = bytes.Repeat(e.Message, 2) },
		"part of a message":   func(e *wire.Envelope) { e.Message = e.Message[:3] },
		"no message":          func(e *wire.Envelope) { e.Message = nil },
	} {
		e := good
		change(&e)
		if out, err := wire.AppendRecord(nil, e); !errors.Is(err, wire.ErrUnsendable) || out != nil {
			t.Errorf("%s: %q, %v; want nil, %v", name, out, err, wire.ErrUnsendable)
		}
	}
}
