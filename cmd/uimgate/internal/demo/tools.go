package demo

import (
	"fmt"
	"net/http"

	"github.com/uimgate/uimgate/agent/via"
	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// The tools of the shop.
const (
	searchTool = "search-products_v1"
	orderTool  = "place-order_v1"
)

// A reply is the result of a tool: an output, or a refusal.
type reply struct {
	output  []byte // JSON; nil if the call was refused
	reason  string // the reason of the refusal
	message string
	charge  string
	page    string // the address at which a person can confirm the call; empty if there is none
}

// readReply reads the response to the message with this id.
func readReply(id string, a fetch.Answer) (reply, error) {
	out, err := via.MCP{}.Read(id, a)
	if err != nil {
		return reply{}, err
	}
	if out.Status == http.StatusOK {
		return reply{output: out.Body, charge: out.Header.Get("Uim-Charge")}, nil
	}
	tree, err := strictjson.DecodeObject(out.Body)
	if err != nil {
		return reply{}, fmt.Errorf("reading the refusal: %w", err)
	}
	refusal := tree.Object("error")
	details := refusal.Object("details")
	return reply{reason: details.Text("reason"), message: refusal.Text("message"), page: details.Text("confirm_url")}, nil
}
