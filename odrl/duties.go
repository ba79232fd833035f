package odrl

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
)

// childDuties adds a duty of a permission, once per action it names.
func (n *normalizer) childDuties(r *rule, node *ruleNode) bool {
	if who := node.parties["assignee"]; len(who) > 0 && !n.payer(r, who) {
		n.problems.Errorf("assignee", who[0].pointer, "a duty of a permission binds the permission's own assignee")
		return false
	}
	ok := true
	for _, a := range node.actions {
		if !slices.Contains(handled, a.name) {
			n.problems.Errorf("no-handler", a.pointer, "the gateway cannot see to the duty %s: it handles pay, signPayload, attribute, inform, logUsage and acceptTracking", a.name)
			ok = false
			continue
		}
		d, good := n.duty(node, a)
		if !good {
			ok = false
			continue
		}
		n.numbers++
		d.n = n.numbers
		r.duties = append(r.duties, d)
	}
	return n.dutyTargets(r, node) && ok
}

// payer reports whether the assignees a duty names are those of its permission.
func (n *normalizer) payer(r *rule, refs []reference) bool {
	list := n.assignees(refs)
	return list[0] == "" || slices.Contains(list, r.assignee)
}

// dutyTargets checks what a duty is about: a price or payload, any name for a pay duty, else intents.
func (n *normalizer) dutyTargets(r *rule, node *ruleNode) bool {
	for _, ref := range node.targets {
		pays := !slices.ContainsFunc(node.actions, func(a actionNode) bool { return a.name != "compensate" })
		if n.aboutTheCall(ref.name()) || pays && absolute(ref.name()) {
			continue
		}
		t, err := n.w.resolve(ref.name())
		if err != nil {
			n.problems.Errorf("target", ref.pointer, "the target %v", err)
			return false
		}
		for _, member := range r.target.members {
			if !slices.Contains(t.members, member) {
				n.problems.Errorf("target", ref.pointer, "a duty that is owed for a part of its permission's intents only: write a permission of its own for them")
				return false
			}
		}
	}
	return true
}

// duty reads what a duty asks for: an amount, a key, or nothing more.
func (n *normalizer) duty(node *ruleNode, a actionNode) (*duty, bool) {
	d := &duty{node: node, action: a.name}
	var rest, amounts, keys []*constraintNode
	for _, c := range flatten(slices.Concat(node.constraints, a.refinements)) {
		switch {
		case c.logic == "" && a.name == "compensate" && c.operand == "payAmount":
			amounts = append(amounts, c)
		case c.logic == "" && a.name == "compensate" && c.operand == "unitOfCount":
			if !n.perExecution(c) {
				return nil, false
			}
		case c.logic == "" && a.name == "signPayload" && c.operand == "publicKey":
			keys = append(keys, c)
		default:
			rest = append(rest, c)
		}
	}
	amounts = append(amounts, node.amounts...)
	if len(node.amounts) > 0 && a.name != "compensate" {
		n.problems.Errorf("amount", node.amounts[0].pointer, "only a pay duty has an amount")
		return nil, false
	}
	ok := n.terms(&d.terms, rest)
	switch a.name {
	case "compensate":
		ok = n.charge(d, node, amounts) && ok
	case "signPayload":
		ok = n.keys(d, keys) && ok
	}
	return d, ok
}

func (n *normalizer) perExecution(c *constraintNode) bool {
	per := []string{"execute", "execution", "request", "call", "use", "perExecute", "perRequest", "perCall", "perUse"}
	if c.operator == "eq" && len(c.right) == 1 {
		if name, ok := n.local(c.right[0].text, n.namespaces); ok && slices.Contains(per, name) {
			return true
		}
	}
	n.problems.Errorf("unit-of-count", c.pointer, "the gateway charges per execution: write unitOfCount eq execute, or leave it out")
	return false
}

func (n *normalizer) charge(d *duty, node *ruleNode, amounts []*constraintNode) bool {
	if len(amounts) != 1 {
		n.problems.Errorf("amount", node.pointer, "a pay duty has exactly one amount, not %d: write payAmount eq, with a unit", len(amounts))
		return false
	}
	c := amounts[0]
	if c.operator != "eq" {
		n.problems.Errorf("amount", c.pointer, "a price is payAmount eq, not %s", c.operator)
		return false
	}
	a, ok := n.amount(c)
	if ok && a.Nano > 0 { // nothing is owed in no currency
		d.charge = a
	}
	return ok
}

// amount reads the right operand and unit of payAmount.
func (n *normalizer) amount(c *constraintNode) (money.Amount, bool) {
	if len(c.right) != 1 || c.right[0].window {
		n.problems.Errorf("amount", c.pointer, "%s compares with one number", c.operand)
		return money.Amount{}, false
	}
	if c.unit.iri == "" {
		n.problems.Errorf("unit", c.pointer, "an amount needs a unit: a currency such as USD")
		return money.Amount{}, false
	}
	code, ok := n.currency(c.unit)
	if !ok {
		return money.Amount{}, false
	}
	a, err := money.New(c.right[0].text, code)
	if err != nil {
		n.problems.Errorf("amount", c.right[0].pointer, "%v", err)
		return money.Amount{}, false
	}
	return a, true
}

func (n *normalizer) currency(unit reference) (string, bool) {
	name, ok := n.local(unit.iri, n.namespaces, unitNamespaces)
	if code, named := currencyNames[name]; ok && named {
		return code, true
	}
	if ok && slices.Contains(currencies, name) {
		return name, true
	}
	n.problems.Errorf("currency", unit.pointer, "%s is no currency that is known here: use an ISO 4217 code such as USD or EUR", quote(unit.iri))
	return "", false
}

// keys reads whose signature is asked for. A key that is elided or does not parse stands for the
// agent's own: the agreement puts it in its place.
func (n *normalizer) keys(d *duty, list []*constraintNode) bool {
	if len(list) > 1 {
		n.problems.Errorf("public-key", list[1].pointer, "signPayload names its key once")
		return false
	}
	if len(list) == 0 {
		d.elided = true
		return true
	}
	c := list[0]
	if !slices.Contains([]string{"use", "eq", "isAnyOf"}, c.operator) || len(c.right) > 1 && c.operator != "isAnyOf" {
		n.problems.Errorf("public-key", c.pointer, "publicKey names one key by use or eq, or several by isAnyOf")
		return false
	}
	for _, r := range c.right {
		der, ok := parseKey(r.text)
		if !ok {
			d.elided = true
			n.problems.Warnf("public-key", r.pointer, "this is no complete public key: the key of each agent's agreement takes its place")
			continue
		}
		d.keys = append(d.keys, base64.StdEncoding.EncodeToString(der))
	}
	if d.elided && len(d.keys) > 0 {
		n.problems.Errorf("public-key", c.pointer, "some of these keys are no complete public keys")
		return false
	}
	return true
}

// parseKey reads PEM, or base64 or base64url of PEM or DER, of an RSA, P-256 or Ed25519 key, and
// returns its DER SubjectPublicKeyInfo.
func parseKey(s string) ([]byte, bool) {
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

func keyText(der []byte) string { return base64.StdEncoding.EncodeToString(der) }
