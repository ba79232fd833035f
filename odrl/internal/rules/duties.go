package rules

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/odrl/internal/model"
)

// childDuties adds a duty of a permission to r, once for each action that the duty names.
func (n *normalizer) childDuties(r *Rule, node *model.Rule) bool {
	if who := node.Parties["assignee"]; len(who) > 0 && !n.payer(r, who) {
		n.Problems.Errorf("assignee", who[0].Pointer, "a duty of a permission must have the same assignee as the permission")
		return false
	}
	ok := true
	for _, a := range node.Actions {
		if !slices.Contains(model.Handled, a.Name) {
			n.Problems.Errorf("no-handler", a.Pointer,
				"the gateway cannot handle the duty %s: it supports only pay, signPayload, attribute, inform, logUsage and acceptTracking", a.Name)
			ok = false
			continue
		}
		d, good := n.duty(node, a)
		if !good || !n.unplanned(d) {
			ok = false
			continue
		}
		n.numbers++
		d.N = n.numbers
		r.Duties = append(r.Duties, d)
	}
	return n.dutyTargets(r, node) && ok
}

// payer reports whether the assignees that a duty names include that of its permission.
func (n *normalizer) payer(r *Rule, refs []model.Reference) bool {
	list := n.assignees(refs)
	return list[0] == "" || slices.Contains(list, r.Assignee)
}

// dutyTargets checks that each target of a duty is the price or payload of the call, or covers all intents of the permission. If the duty
// is only to pay, a target may also be an absolute IRI.
func (n *normalizer) dutyTargets(r *Rule, node *model.Rule) bool {
	for _, ref := range node.Targets {
		pays := !slices.ContainsFunc(node.Actions, func(a model.Action) bool { return a.Name != "compensate" })
		if n.AboutTheCall(ref.Name()) || pays && model.Absolute(ref.Name()) {
			continue
		}
		t, err := n.w.resolve(ref.Name())
		if err != nil {
			n.Problems.Errorf("target", ref.Pointer, "the target %v", err)
			return false
		}
		for _, member := range r.Target.members {
			if !slices.Contains(t.members, member) {
				n.Problems.Errorf("target", ref.Pointer,
					"the duty applies to only some of the permission's intents: write a separate permission for those intents")
				return false
			}
		}
	}
	return true
}

// duty reads the conditions of a duty and, depending on its action, its amount or its keys.
func (k *compiler) duty(node *model.Rule, a model.Action) (*Duty, bool) {
	d := &Duty{Node: node, Action: a.Name}
	var rest, amounts, keys []*model.Constraint
	for _, c := range model.Flatten(slices.Concat(node.Constraints, a.Refinements)) {
		switch {
		case c.Logic == "" && a.Name == "compensate" && c.Operand == "payAmount":
			amounts = append(amounts, c)
		case c.Logic == "" && a.Name == "compensate" && c.Operand == "unitOfCount":
			if !k.perExecution(c) {
				return nil, false
			}
		case c.Logic == "" && a.Name == "signPayload" && c.Operand == "publicKey":
			keys = append(keys, c)
		default:
			rest = append(rest, c)
		}
	}
	amounts = append(amounts, node.Amounts...)
	if len(node.Amounts) > 0 && a.Name != "compensate" {
		k.Problems.Errorf("amount", node.Amounts[0].Pointer, "only a pay duty can have an amount")
		return nil, false
	}
	ok := k.terms(&d.terms, rest)
	ok = k.endable(rest) && ok
	if ok {
		d.term = k.term(rest)
	}
	switch a.Name {
	case "compensate":
		ok = k.charge(d, node, amounts) && ok
	case "signPayload":
		if ok = k.keys(d, keys) && ok; ok {
			d.when, ok = k.conjunction(when(rest))
		}
	}
	return d, ok
}

func (k *compiler) perExecution(c *model.Constraint) bool {
	per := []string{"execute", "execution", "request", "call", "use", "perExecute", "perRequest", "perCall", "perUse"}
	if c.Operator == "eq" && len(c.Right) == 1 {
		if name, ok := k.Local(c.Right[0].Text, k.Namespaces); ok && slices.Contains(per, name) {
			return true
		}
	}
	k.Problems.Errorf("unit-of-count", c.Pointer, "the gateway charges per execution: write unitOfCount eq execute, or omit unitOfCount")
	return false
}

func (k *compiler) charge(d *Duty, node *model.Rule, amounts []*model.Constraint) bool {
	if len(amounts) != 1 {
		k.Problems.Errorf("amount", node.Pointer, "a pay duty needs exactly one amount, not %d: write payAmount eq, with a unit", len(amounts))
		return false
	}
	c := amounts[0]
	if c.Operator != "eq" {
		k.Problems.Errorf("amount", c.Pointer, "a price must be given as payAmount eq, not %s", c.Operator)
		return false
	}
	a, ok := k.amount(c)
	if ok && a.Nano > 0 { // a zero amount leaves Charge zero, without a currency
		d.Charge = a
	}
	return ok
}

// amount reads the right operand and unit of payAmount.
func (k *compiler) amount(c *model.Constraint) (money.Amount, bool) {
	if len(c.Right) != 1 || c.Right[0].Window {
		k.Problems.Errorf("amount", c.Pointer, "%s must be compared with exactly one number", c.Operand)
		return money.Amount{}, false
	}
	if c.Unit.IRI == "" {
		k.Problems.Errorf("unit", c.Pointer, "an amount needs a currency as its unit, such as USD")
		return money.Amount{}, false
	}
	code, ok := k.currency(c.Unit)
	if !ok {
		return money.Amount{}, false
	}
	a, err := money.New(c.Right[0].Text, code)
	if err != nil {
		k.Problems.Errorf("amount", c.Right[0].Pointer, "%v", err)
		return money.Amount{}, false
	}
	return a, true
}

func (k *compiler) currency(unit model.Reference) (string, bool) {
	name, ok := k.Local(unit.IRI, k.Namespaces, model.UnitNamespaces)
	if code, named := model.CurrencyNames[name]; ok && named {
		return code, true
	}
	if ok && model.IsCurrency(name) {
		return name, true
	}
	k.Problems.Errorf("currency", unit.Pointer, "%s is not a known currency: use an ISO 4217 code such as USD or EUR",
		model.Quote(unit.IRI))
	return "", false
}

// keys reads the keys whose signature is required. If no key is given, or no given key is valid, the agent's own key, taken from the
// agreement, is required.
func (k *compiler) keys(d *Duty, list []*model.Constraint) bool {
	if len(list) > 1 {
		k.Problems.Errorf("public-key", list[1].Pointer, "signPayload must name its key only once")
		return false
	}
	if len(list) == 0 {
		d.Elided = true
		return true
	}
	c := list[0]
	if !slices.Contains([]string{"use", "eq", "isAnyOf"}, c.Operator) || len(c.Right) > 1 && c.Operator != "isAnyOf" {
		k.Problems.Errorf("public-key", c.Pointer, "publicKey must name one key with the operator use or eq, or several with isAnyOf")
		return false
	}
	for _, r := range c.Right {
		der, ok := ParseKey(r.Text)
		if !ok {
			d.Elided = true
			k.Problems.Warnf("public-key", r.Pointer, "this is not a complete public key, so the key in each agent's agreement is used instead")
			continue
		}
		d.Keys = append(d.Keys, base64.StdEncoding.EncodeToString(der))
	}
	if d.Elided && len(d.Keys) > 0 {
		k.Problems.Errorf("public-key", c.Pointer, "some of these keys are not complete public keys")
		return false
	}
	return true
}

// ParseKey parses an RSA, ECDSA or Ed25519 public key, given as PEM, or as base64 or base64url of PEM or DER, and returns the key as a
// DER SubjectPublicKeyInfo.
func ParseKey(s string) ([]byte, bool) {
	const most = 16 << 10
	if len(s) > most {
		return nil, false
	}
	raw := []byte(s)
	if !strings.HasPrefix(s, "-----BEGIN") {
		plain := strings.NewReplacer("-", "+", "_", "/", "=", "", "\n", "", "\r", "", " ", "").Replace(s)
		b, err := base64.RawStdEncoding.DecodeString(plain)
		if err != nil {
			return nil, false
		}
		raw = b
	}
	if bytes.HasPrefix(raw, []byte("-----BEGIN")) {
		block, _ := pem.Decode(raw)
		if block == nil {
			return nil, false
		}
		raw = block.Bytes
	}
	key, err := x509.ParsePKIXPublicKey(raw)
	if err != nil {
		if key, err = x509.ParsePKCS1PublicKey(raw); err != nil {
			return nil, false
		}
	}
	switch key.(type) {
	case *rsa.PublicKey, *ecdsa.PublicKey, ed25519.PublicKey:
	default:
		return nil, false
	}
	der, err := x509.MarshalPKIXPublicKey(key)
	return der, err == nil
}

// KeyText returns the text that represents a key in comparisons: base64 of its DER.
func KeyText(der []byte) string { return base64.StdEncoding.EncodeToString(der) }
