package agent

import (
	"errors"
	"strings"

	"github.com/uimgate/uimgate/internal/money"
)

// A Charge is the price of one call, as the service states it.
type Charge struct {
	money.Amount
	ExecutionID string // chosen by the service
	State       string // captured, released or pending
}

// String returns the charge in the form of the UIM-Charge header.
func (c *Charge) String() string {
	return c.Amount.String() + "; id=" + c.ExecutionID + "; state=" + c.State
}

var errCharge = errors.New("want a charge such as 0.01 USD; id=…; state=captured")

// parseCharge parses the UIM-Charge header: 0.01 USD; id=<execution id>; state=captured|released|pending. The header is not a
// structured field of RFC 9651. Every error is errCharge; the Charge is then nil. parseCharge ignores unknown parameters.
func parseCharge(s string) (*Charge, error) {
	if len(s) > maxHeaderText {
		return nil, errCharge
	}
	parts := strings.Split(s, ";")
	amount, err := money.Parse(parts[0])
	if err != nil {
		return nil, errCharge
	}
	c := &Charge{Amount: amount}
	for _, p := range parts[1:] {
		name, value, _ := strings.Cut(strings.TrimSpace(p), "=")
		switch name {
		case "id":
			c.ExecutionID = value
		case "state":
			c.State = value
		}
	}
	return c.check()
}

// chargeOf reads a charge from v, the value of meta.charge or details.charge in a response body. It returns nil if v is not a valid charge.
func chargeOf(v any) *Charge {
	m, _ := v.(map[string]any)
	text, _ := m["amount"].(string)
	code, _ := m["currency"].(string)
	amount, err := money.New(text, code)
	if err != nil {
		return nil
	}
	c := &Charge{Amount: amount}
	c.ExecutionID, _ = m["id"].(string)
	c.State, _ = m["state"].(string)
	c, err = c.check()
	if err != nil {
		return nil
	}
	return c
}

func (c *Charge) check() (*Charge, error) {
	if c.ExecutionID == "" || identifier(c.ExecutionID) == "" {
		return nil, errCharge
	}
	switch c.State {
	case "captured", "released", "pending":
		return c, nil
	}
	return nil, errCharge
}
