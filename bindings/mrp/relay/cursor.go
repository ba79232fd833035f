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

// A cursor encodes the position where a page ends. Callers treat it as opaque, and use it only to request the next page.

func writeCursor(place any, more bool) *string {
	if !more {
		return nil
	}
	text, err := json.Marshal(place)
	if err != nil {
		return nil // cannot happen: positions consist of numbers and strings
	}
	cursor := base64.RawURLEncoding.EncodeToString(text)
	return &cursor
}

// maxCursor is the maximum length of a cursor, in characters.
const maxCursor = 512

// readCursor decodes the cursor in a query into place. there reports whether the query has a valid cursor. If the query has no cursor,
// readCursor returns no error.
func readCursor(q url.Values, place any) (there bool, _ *wire.Error) {
	text := q.Get("cursor")
	if text == "" {
		return false, nil
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if len(text) > maxCursor || err != nil || d.Decode(place) != nil {
		return false, wire.Refuse(wire.BadRequest, "cursor was not issued by this relay: use next_cursor of the previous page")
	}
	return true, nil
}

// A mark is a position among messages, in a cursor.
type mark struct {
	At int64  `json:"t"` // Unix time in nanoseconds
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

// readLimit returns the maximum number of items of a page. If the query does not set it, readLimit returns unset.
func readLimit(q url.Values, unset int) (int, *wire.Error) {
	text := q.Get("limit")
	if text == "" {
		return unset, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > wire.MaxPage {
		return 0, wire.Refuse(wire.BadRequest, "limit must be a whole number from 1 to "+strconv.Itoa(wire.MaxPage))
	}
	return n, nil
}

// readPage decodes a query string, and returns the maximum number of items of the page that it selects: see readQuery and readLimit.
func readPage(raw string, unset int) (q url.Values, limit int, refused *wire.Error) {
	if q, refused = readQuery(raw); refused == nil {
		limit, refused = readLimit(q, unset)
	}
	return q, limit, refused
}

// readQuery decodes a query string strictly: it rejects invalid parts instead of ignoring them.
func readQuery(raw string) (url.Values, *wire.Error) {
	q, err := url.ParseQuery(raw)
	if err != nil {
		return nil, wire.Refuse(wire.BadRequest, "the query string is not valid")
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
