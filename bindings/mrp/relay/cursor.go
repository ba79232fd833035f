package relay

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strconv"
	"time"

	wire "github.com/uimgate/uimgate/internal/wire/mrp"
	"github.com/uimgate/uimgate/store/mail"
)

// A cursor is the end of a page in the form for callers: opaque, and useful only to continue there.

func writeCursor(place any, more bool) *string {
	if !more {
		return nil
	}
	text, err := json.Marshal(place)
	if err != nil {
		return nil // positions have numbers and strings
	}
	cursor := base64.RawURLEncoding.EncodeToString(text)
	return &cursor
}

// maxCursor bounds a cursor, in characters.
const maxCursor = 512

// readCursor reads a cursor of a query into place; false if there is none.
func readCursor(q url.Values, place any) (there bool, _ *wire.Error) {
	text := q.Get("cursor")
	if text == "" {
		return false, nil
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if len(text) > maxCursor || err != nil || d.Decode(place) != nil {
		return false, wire.Refuse(wire.BadRequest, "cursor does not belong to this relay: take next_cursor of the page before")
	}
	return true, nil
}

// A mark is a position among messages, in a cursor.
type mark struct {
	At int64  `json:"t"` // nanoseconds since 1970
	ID string `json:"i"`
}

func readPlace(q url.Values) (*mail.Place, *wire.Error) {
	var m mark
	there, refused := readCursor(q, &m)
	if !there {
		return nil, refused
	}
	return &mail.Place{CreatedAt: time.Unix(0, m.At).UTC(), ID: m.ID}, nil
}

// readLimit reads how many items a page may have.
func readLimit(q url.Values, otherwise int) (int, *wire.Error) {
	text := q.Get("limit")
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > wire.MaxPage {
		return 0, wire.Refuse(wire.BadRequest, "limit must be a whole number from 1 to "+strconv.Itoa(wire.MaxPage))
	}
	return n, nil
}

// readQuery reads the query of a target strictly: it rejects what it cannot read instead of ignoring it.
func readQuery(raw string) (url.Values, *wire.Error) {
	q, err := url.ParseQuery(raw)
	if err != nil {
		return nil, wire.Refuse(wire.BadRequest, "the query cannot be read")
	}
	for _, values := range q {
		for _, v := range values {
			if len(v) > 4*wire.MaxQuery || !wire.Shown(v) {
				return nil, wire.Refuse(wire.BadRequest, "a value of the query is too long, or has characters that cannot be shown")
			}
		}
	}
	return q, nil
}
