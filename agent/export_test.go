package agent

import (
	"github.com/uimgate/uimgate/internal/fetch"
)

// Parsers for the fuzz targets in package agent_test.
var (
	ParseCharge    = parseCharge
	ParseRateLimit = parseRateLimit
	Clean          = clean
	PythonDumps    = pythonDumps
)

func ReadError(a fetch.Answer) *Error                               { return readError(a) }
func ReadResult(a fetch.Answer) (Result, error)                     { return readResult(a) }
func ReadPAT(c *Client, s Session, a fetch.Answer) (Session, error) { return c.readPAT(s, a) }
func Targets(s string) ([]string, string, error) {
	t, err := parseTarget(s)
	return t.urls, t.domain, err
}
func (s Session) Token() string   { return s.kept.Token.reveal() }
func (s Session) TokenID() string { return string(s.kept.TokenID) }

// NoJitter makes the waits of a client exact.
func (c *Client) NoJitter() { c.jitter = func() float64 { return 1 } }
