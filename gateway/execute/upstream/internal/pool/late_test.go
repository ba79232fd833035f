package pool_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
)

// A 204 response has no body. If the service announces one and sends it late, it must not become the next response.
func TestLateBytesAfterNoContentAreNoResponse(t *testing.T) {
	for name, head := range map[string]string{
		"204 chunked": "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n",
		"204 length":  "HTTP/1.1 204 No Content\r\nContent-Length: 40\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			p := open(t, listen(t, func(_ int, c net.Conn, in *bufio.Reader) {
				for n := 0; ; n++ {
					if _, err := http.ReadRequest(in); err != nil {
						return
					}
					if n == 0 {
						_, _ = io.WriteString(c, head)
						continue
					}
					// The body of the first response, then the second response.
					_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno")
					_, _ = fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes")
				}
			}, nil), nil)
			if _, _, err := ask(t.Context(), p, get()); err != nil {
				t.Fatal(err)
			}
			if _, body, err := ask(t.Context(), p, get()); err != nil || body == "no" {
				t.Errorf("the next answer: %q, %v", body, err)
			}
		})
	}
}
