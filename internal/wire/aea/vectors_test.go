package aea_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	aeavectors "github.com/uimgate/uimgate/internal/test/aea/vectors"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
)

const vectors = "testdata/vectors.txt"

var (
	defaultID = wire.PublicID{Author: "fetchai", Name: "default", Version: "1.0.0"}
	fipaID    = wire.PublicID{Author: "fetchai", Name: "fipa", Version: "1.0.0"}
)

func TestMessageVectors(t *testing.T) {
	heads := map[string]wire.Message{ // without content
		"default-bytes":         {ID: 1, StarterRef: "a1"},
		"default-error":         {ID: 1},
		"cfp":                   {ID: 1, StarterRef: "a1"},
		"cfp-and-not-range":     {ID: 1, StarterRef: "a1"},
		"propose":               {ID: -1, StarterRef: "a1", ResponderRef: "b1", Target: 1},
		"accept":                {ID: 2, StarterRef: "a1", ResponderRef: "b1", Target: -1},
		"accept-w-inform":       {ID: 2, StarterRef: "a1", ResponderRef: "b1", Target: -1},
		"match-accept":          {ID: -2, StarterRef: "a1", ResponderRef: "b1", Target: 2},
		"match-accept-w-inform": {ID: -2, StarterRef: "a1", ResponderRef: "b1", Target: 2},
		"inform":                {ID: 3, StarterRef: "a1", ResponderRef: "b1", Target: -2},
		"decline":               {ID: -1, StarterRef: "a1", ResponderRef: "b1", Target: 1},
		"end":                   {ID: 3, StarterRef: "a1", ResponderRef: "b1", Target: -2},
		"http-request":          {ID: 1, StarterRef: "a1"},
		"http-response":         {ID: -1, StarterRef: "a1", ResponderRef: "b1", Target: 1},
	}
	found := aeavectors.Vectors(t, vectors, "message/")
	if len(found) != len(heads) {
		t.Errorf("%d vectors, %d expected", len(found), len(heads))
	}
	for name, data := range found {
		t.Run(name, func(t *testing.T) {
			m, err := wire.DecodeMessage(data)
			if err != nil {
				t.Fatal(err)
			}
			back, err := m.Encode()
			if err != nil || !bytes.Equal(back, data) {
				t.Errorf("got %x, %v; want %q, nil", back, err, data)
			}
			m.Content = nil
			if diff := cmp.Diff(heads[name], m); diff != "" {
				t.Errorf("differs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEnvelopeVectors(t *testing.T) {
	hello := aeavectors.Vector(t, vectors, "message/default-bytes")
	for name, want := range map[string]wire.Envelope{
		"default-bytes":     {To: "gw", Sender: "me", Protocol: defaultID, Message: hello},
		"default-bytes-uri": {To: "gw", Sender: "me", Protocol: defaultID, Message: hello, URI: "http://x/y"},
		"cfp": {
			To: "gw", Sender: "fetch1x9v67meyfq4pkgy2n2yf6797cfkul327kpclqr", Protocol: fipaID,
			Message: aeavectors.Vector(t, vectors, "message/cfp"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			data := aeavectors.Vector(t, vectors, "envelope/"+name)
			e, err := wire.DecodeEnvelope(data)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, e); diff != "" {
				t.Errorf("differs (-want +got):\n%s", diff)
			}
			back, err := e.Encode()
			if err != nil || !bytes.Equal(back, data) {
				t.Errorf("got %x, %v; want %q, nil", back, err, data)
			}
		})
	}
}

func TestFrameVectors(t *testing.T) {
	for name, want := range map[string][]byte{
		"tcp/hello":    []byte("me"),
		"tcp/envelope": aeavectors.Vector(t, vectors, "envelope/default-bytes"),
	} {
		data := aeavectors.Vector(t, vectors, name)
		frame, err := wire.TCP.Read(bytes.NewReader(data))
		if err != nil || !bytes.Equal(frame, want) {
			t.Errorf("%s: %x, %v; want %q, nil", name, frame, err, want)
		}
		back, err := wire.TCP.Append(nil, want)
		if err != nil || !bytes.Equal(back, data) {
			t.Errorf("%s: %x, %v; want %q, nil", name, back, err, data)
		}
	}
}

func TestRecordVector(t *testing.T) {
	data := aeavectors.Vector(t, vectors, "stub/default-bytes")
	want := wire.Envelope{To: "gw", Sender: "me", Protocol: defaultID, Message: aeavectors.Vector(t, vectors, "message/default-bytes")}
	e, rest, err := wire.ReadRecord(data)
	if err != nil || len(rest) != 0 {
		t.Fatalf("got %v, %v; want none, nil", rest, err)
	}
	if diff := cmp.Diff(want, e); diff != "" {
		t.Errorf("differs (-want +got):\n%s", diff)
	}
	back, err := wire.AppendRecord(nil, e)
	if err != nil || !bytes.Equal(back, append(data, '\n')) {
		t.Errorf("got %q, %v", back, err)
	}
}

func TestUndecodableMessageVectors(t *testing.T) {
	for name, data := range aeavectors.Vectors(t, vectors, "undecodable-message/") {
		if m, err := wire.DecodeMessage(data); !errors.Is(err, wire.ErrUndecodable) {
			t.Errorf("%s: %+v, %v, want %v", name, m, err, wire.ErrUndecodable)
		}
	}
}
