package aea_test

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"testing"
	"testing/iotest"

	wire "github.com/uimgate/uimgate/internal/wire/aea"
)

func TestReadFrameErrors(t *testing.T) {
	for name, row := range map[string]struct {
		data string
		want error
	}{
		"nothing":           {"", io.EOF},
		"part of a length":  {"\x02\x00", io.ErrUnexpectedEOF},
		"length 0":          {"\x00\x00\x00\x00rest", wire.ErrEmptyFrame},
		"length -1":         {"\xff\xff\xff\xffrest", wire.ErrLongFrame},
		"one byte too many": {"\x01\x00\x30\x00rest", wire.ErrLongFrame},
		"2 GB":              {"\x00\x00\x00\x80rest", wire.ErrLongFrame},
		"only the length":   {"\x02\x00\x00\x00", io.ErrUnexpectedEOF},
		"cut off":           {"\x02\x00\x00\x00m", io.ErrUnexpectedEOF},
	} {
		if frame, err := wire.TCP.Read(bytes.NewReader([]byte(row.data))); !errors.Is(err, row.want) || frame != nil {
			t.Errorf("%s: %q, %v, want %v", name, frame, err, row.want)
		}
	}
}

// An announced length takes no memory until its bytes arrive.
func TestAnnouncedLengthCostsNoMemory(t *testing.T) {
	announced := []byte("\x00\x00\x30\x00m") // announces 3 MiB and has one byte
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 100 {
		_, _ = wire.TCP.Read(bytes.NewReader(announced))
	}
	runtime.ReadMemStats(&after)
	perFrame := (after.TotalAlloc - before.TotalAlloc) / 100
	if perFrame > 64<<10 {
		t.Errorf("a frame of one byte takes %d bytes, want at most %v", perFrame, 64<<10)
	}
}

func TestFrameByteOrders(t *testing.T) {
	for name, f := range map[string]wire.FrameFormat{"tcp": wire.TCP, "acn": wire.ACN} {
		largest := bytes.Repeat([]byte("x"), wire.MaxEnvelope)
		data, err := f.Append(nil, []byte("first"))
		if err != nil {
			t.Fatal(err)
		}
		if data, err = f.Append(data, largest); err != nil {
			t.Fatal(err)
		}
		r := iotest.HalfReader(bytes.NewReader(data))
		first, err1 := f.Read(r)
		second, err2 := f.Read(r)
		_, end := f.Read(r)
		if string(first) != "first" || !bytes.Equal(second, largest) || err1 != nil || err2 != nil || !errors.Is(end, io.EOF) {
			t.Errorf("%s: %q, %d bytes, %v, %v, %v", name, first, len(second), err1, err2, end)
		}
		for _, n := range []int{0, wire.MaxEnvelope + 1} {
			if _, err := f.Append(nil, make([]byte, n)); !errors.Is(err, wire.ErrUnsendable) {
				t.Errorf("%s: a frame of %d bytes: %v, want %v", name, n, err, wire.ErrUnsendable)
			}
		}
	}
	big, _ := wire.ACN.Append(nil, []byte("me"))
	if string(big) != "\x00\x00\x00\x02me" {
		t.Errorf("got %q", big)
	}
}

// A reader skips an empty frame and reads the next one.
func TestEmptyFrame(t *testing.T) {
	r := bytes.NewReader([]byte("\x00\x00\x00\x00\x02\x00\x00\x00me"))
	_, first := wire.TCP.Read(r)
	frame, second := wire.TCP.Read(r)
	if !errors.Is(first, wire.ErrEmptyFrame) || second != nil || string(frame) != "me" {
		t.Errorf("got %v, %q, %v", first, frame, second)
	}
}
