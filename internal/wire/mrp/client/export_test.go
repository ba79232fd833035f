package client

import (
	"net/http"

	wire "github.com/uimgate/uimgate/internal/wire/mrp"
)

func ReadError(status int, body []byte) error {
	return readError(answer{status: status, header: http.Header{}, body: body})
}
func (c *Client) Checked(document []byte) (wire.Message, bool) { return c.checked(document) }
func ReadProgress(body []byte) wire.Progress                   { return readProgress(body) }
