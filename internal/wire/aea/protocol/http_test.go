package protocol_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"

	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

// requestWith returns the content of a request with a block of headers.
func requestWith(header string) []byte {
	inner := protowire.AppendString(protowire.AppendTag(nil, 4, protowire.BytesType), header)
	return protowire.AppendBytes(protowire.AppendTag(nil, 5, protowire.BytesType), inner)
}

func TestHeaders(t *testing.T) {
	lines := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "A%d: b\n", i)
		}
		return b.String()
	}
	for name, row := range map[string]struct {
		text string
		want http.Header
	}{
		"none":                {"", nil},
		"an empty line":       {"\n", nil},
		"ended":               {"Content-Type: text/plain\nX-A: b\n\n", http.Header{"Content-Type": {"text/plain"}, "X-A": {"b"}}},
		"not ended":           {"content-type:text/plain", http.Header{"Content-Type": {"text/plain"}}},
		"carriage returns":    {"A: b\r\nC: d\r\n\r\n", http.Header{"A": {"b"}, "C": {"d"}}},
		"a name twice":        {"Authorization: Bearer a\nauthorization: Bearer b\n\n", http.Header{"Authorization": {"Bearer a", "Bearer b"}}},
		"an empty value":      {"A:\n\n", http.Header{"A": {""}}},
		"of the webhook":      {`{"Host": "x", "content-type": "text/plain"}`, http.Header{"Host": {"x"}, "Content-Type": {"text/plain"}}},
		"of the webhook, two": {`{"A": "b", "a": "c"}`, http.Header{"A": {"b", "c"}}},
		"an empty object":     {`{}`, nil},
	} {
		c, err := protocol.HTTP.Decode(requestWith(row.text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		m, _ := c.(protocol.HTTPMessage)
		if len(m.Header) == 0 {
			m.Header = nil
		}
		for _, values := range m.Header {
			if name == "of the webhook, two" && len(values) == 2 && values[0] == "c" { // members have no order
				values[0], values[1] = values[1], values[0]
			}
		}
		if diff := cmp.Diff(row.want, m.Header); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		again, err := protocol.HTTP.Decode(m.Encode())
		if diff := cmp.Diff(protocol.Content(m), again); err != nil || diff != "" {
			t.Errorf("%s: %v %s; want nil, an empty string", name, err, diff)
		}
	}
	for name, text := range map[string]string{
		"no colon":              "secret\n\n",
		"a blank in a name":     "A B: secret\n\n",
		"a blank at the start":  " A: secret\n\n",
		"no name":               ": secret\n\n",
		"lines after the end":   "A: b\n\nC: secret\n",
		"a control character":   "A: secret\x00\n\n",
		"not an object":         `{"A": "secret"`,
		"a list":                `{"A": ["secret"]}`,
		"a duplicate member":    `{"A": "secret", "A": "secret"}`,
		"a line feed in a text": `{"A": "secret\nB: c"}`,
		"an empty name":         `{"": "secret"}`,
		"too many lines":        lines(protocol.MaxHeaderLines + 1),
		"too long":              "A: " + strings.Repeat("b", protocol.MaxHeader) + "\n",
		"deep":                  `{"A": ` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}`,
	} {
		c, err := protocol.HTTP.Decode(requestWith(text))
		if !errors.Is(err, wire.ErrUndecodable) || c != nil {
			t.Errorf("%s: %+v, %v; want nil, %v", name, c, err, wire.ErrUndecodable)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error quotes the header: %v", name, err)
		}
	}
	if _, err := protocol.HTTP.Decode(requestWith(lines(protocol.MaxHeaderLines))); err != nil {
		t.Errorf("the maximum number of lines: %v", err)
	}
}

// A line feed in a handler's header value does not start a new header.
func TestNoHeaderInjection(t *testing.T) {
	m := protocol.HTTPMessage{Performative: protocol.HTTPResponse, Status: 200, Header: http.Header{"A": {"b\nC: d"}}}
	c, err := protocol.HTTP.Decode(m.Encode())
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := c.(protocol.HTTPMessage); len(got.Header) != 1 {
		t.Errorf("got %v, want length 1", got.Header)
	}
}
