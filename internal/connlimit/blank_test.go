//go:build unix

package connlimit_test

import (
	"io"
	"net/http"
	"testing"
)

// An empty line after a body, as old clients send it, is skipped even if the connection was parked before it arrived, but only as many
// characters as net/http skips.
func TestBlanksBeforeRequestsOnParkedConnections(t *testing.T) {
	for name, test := range map[string]struct {
		sent []string // the connection is parked after each but the last
		want int
	}{
		"none":                          {[]string{post("x")}, http.StatusOK},
		"a line":                        {[]string{"\r\n" + post("x")}, http.StatusOK},
		"two lines":                     {[]string{"\r\n\r\n" + post("x")}, http.StatusOK},
		"two lines with only LF":        {[]string{"\n\n" + post("x")}, http.StatusOK},
		"a separate line":               {[]string{"\r\n", post("x")}, http.StatusOK},
		"separate characters":           {[]string{"\r", "\n", post("x")}, http.StatusOK},
		"three lines":                   {[]string{"\r\n\r\n\r\n" + post("x")}, http.StatusBadRequest},
		"three lines, one at a time":    {[]string{"\r\n", "\r\n", "\r\n"}, http.StatusBadRequest},
		"a space":                       {[]string{"\r\n " + post("x")}, http.StatusBadRequest},
		"a NUL in place of a blank":     {[]string{"\x00" + post("x")}, http.StatusBadRequest},
		"what a header begins with":     {[]string{"\r\nHost: x\r\n\r\n"}, http.StatusBadRequest},
		"a request whose body is blank": {[]string{post("\r\n\r\n\r\n")}, http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			h := newListenerTest(t, nil)
			v := h.dial()
			for range 3 { // after a request, blanks are skipped again
				v.send(post("before"))
				v.receive()
				h.parked(1)
				v.send("\r\n" + post("between"))
				v.receive()
				h.parked(1)
			}
			for i, part := range test.sent {
				_, before := h.l.Parked()
				v.send(part)
				if i < len(test.sent)-1 {
					h.until("parked again", func() bool { now, ever := h.l.Parked(); return now == 1 && ever > before })
				}
			}
			got, err := http.ReadResponse(v.r, nil)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, got.Body)
			if got.StatusCode != test.want {
				t.Errorf("%s, want %d", got.Status, test.want)
			}
		})
	}
}
