// Package terms changes the prices, limits and targets in a policy that people have edited. It keeps all other bytes of the policy.
//
// It reads policies in the form that uimgate init writes. Their rules are in permission, prohibition and obligation, and have UIDs or lists
// of UIDs as targets; the price is in a pay duty, and the limit in a rateLimit constraint. It does not change rules in another form.
package terms

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// ErrForm means that the policy states the terms of an intent in a form that this package does not change.
var ErrForm = errors.New("the policy states its terms in a form that cannot be changed automatically")

// lists are the members of a policy that contain rules. Permissions come first.
var lists = []string{"permission", "prohibition", "obligation"}

// A Policy is a policy document that is being edited.
type Policy struct {
	data  []byte
	rules map[string][]*rule // by the member that contains them
	place map[string][2]int  // the offsets of the values of these members
	uids  map[string]bool    // the uids of rules and duties
	uid   string             // the uid of the policy
}

type rule struct {
	raw     []byte
	tree    map[string]any
	changed bool
}

// Read reads a policy. The error wraps ErrForm if it is not a JSON object with lists of rules.
func Read(data []byte) (*Policy, error) {
	p := &Policy{data: data, rules: map[string][]*rule{}, place: map[string][2]int{}, uids: map[string]bool{}}
	whole, err := strictjson.DecodeObject(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrForm, err)
	}
	p.uid, _ = whole["uid"].(string)
	dec := jsontext.NewDecoder(bytes.NewReader(data))
	if _, err := dec.ReadToken(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrForm, err)
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrForm, err)
		}
		key := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrForm, err)
		}
		if !slices.Contains(lists, key) {
			continue
		}
		end := int(dec.InputOffset())
		p.place[key] = [2]int{end - len(value), end}
		if p.rules[key], err = rulesIn(bytes.Clone(value)); err != nil {
			return nil, err
		}
	}
	for _, list := range p.rules {
		for _, r := range list {
			p.note(r.tree)
		}
	}
	return p, nil
}

// rulesIn splits a list of rules, or one rule.
func rulesIn(value []byte) (out []*rule, err error) {
	parts := []jsontext.Value{value}
	if value[0] == '[' {
		parts = nil
		dec := jsontext.NewDecoder(bytes.NewReader(value))
		if _, err := dec.ReadToken(); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrForm, err)
		}
		for dec.PeekKind() != ']' {
			part, err := dec.ReadValue()
			if err != nil {
				return nil, fmt.Errorf("%w: %w", ErrForm, err)
			}
			parts = append(parts, part.Clone())
		}
	}
	for _, part := range parts {
		tree, err := strictjson.DecodeObject(part)
		if err != nil {
			return nil, fmt.Errorf("%w: a rule is not an object", ErrForm)
		}
		out = append(out, &rule{raw: part, tree: tree})
	}
	return out, nil
}

// note records the uids of a rule and of its duties.
func (p *Policy) note(tree map[string]any) {
	if uid, ok := tree["uid"].(string); ok {
		p.uids[uid] = true
	}
	for _, d := range strictjson.AsList(tree["duty"]) {
		if m, ok := d.(map[string]any); ok {
			p.note(m)
		}
	}
}

// Names reports whether a permission names the intent as a target.
func (p *Policy) Names(intent string) bool {
	return slices.ContainsFunc(p.rules["permission"], func(r *rule) bool { return slices.Contains(strictjson.AsList(r.tree["target"]), any(intent)) })
}

// Extend adds an intent to the targets of every rule whose targets contain the intent like, so that both have the same terms.
func (p *Policy) Extend(intent, like string) {
	for _, list := range p.rules {
		for _, r := range list {
			targets := strictjson.AsList(r.tree["target"])
			if slices.Contains(targets, any(like)) && !slices.Contains(targets, any(intent)) {
				r.tree["target"], r.changed = append(slices.Clone(targets), intent), true
			}
		}
	}
}

// Permit adds a permission for some intents. permission is a rule without uid and target.
func (p *Policy) Permit(permission map[string]any, intents []string) {
	tree := maps.Clone(permission)
	targets := make([]any, len(intents))
	for i, uid := range intents {
		targets[i] = uid
	}
	tree["target"] = targets
	p.rename(tree)
	p.rules["permission"] = append(p.rules["permission"], &rule{tree: tree, changed: true})
}

// rename gives a rule and its duties new uids.
func (p *Policy) rename(tree map[string]any) {
	base := p.uid
	if before, _, has := strings.Cut(base, "#"); has {
		base = before
	}
	for n := 1; ; n++ {
		uid := fmt.Sprintf("%s#init-%d", base, n)
		if p.uids[uid] {
			continue
		}
		tree["uid"] = uid
		break
	}
	var duties []any
	for _, d := range strictjson.AsList(tree["duty"]) {
		m, ok := d.(map[string]any)
		if !ok {
			duties = append(duties, d)
			continue
		}
		m = maps.Clone(m)
		if m["uid"] != nil {
			m["uid"] = fmt.Sprint(tree["uid"], "-", len(duties)+1)
		}
		duties = append(duties, m)
	}
	if duties != nil {
		tree["duty"] = duties
	}
	p.note(tree)
}

// Set changes the price and the limit of some intents. A zero price removes the duty to pay, and a zero rate keeps the limit. Intents that
// share a permission before the change share one after it. Set returns the intents that keep their terms. For each of them, no permission
// or several permissions name it, or its permission has a form that Set does not change, such as one without a limit.
func (p *Policy) Set(intents []string, price money.Amount, rate limit.Rate) (kept []string) {
	var order []*rule
	of := map[*rule][]any{}
	for _, intent := range intents {
		r := p.permissionOf(intent)
		if r == nil {
			kept = append(kept, intent)
			continue
		}
		if of[r] == nil {
			order = append(order, r)
		}
		of[r] = append(of[r], intent)
	}
	for _, r := range order {
		if p.setIn(r, of[r], price, rate) != nil {
			for _, intent := range of[r] {
				kept = append(kept, fmt.Sprint(intent))
			}
		}
	}
	return kept
}

// permissionOf returns the only permission that names the intent, or nil if there is none or several.
func (p *Policy) permissionOf(intent string) (only *rule) {
	for _, r := range p.rules["permission"] {
		if !slices.Contains(strictjson.AsList(r.tree["target"]), any(intent)) {
			continue
		}
		if only != nil {
			return nil
		}
		only = r
	}
	return only
}

// setIn changes the terms of some targets of a permission. If the permission also has other targets, setIn moves the given targets to a new
// permission.
func (p *Policy) setIn(in *rule, intents []any, price money.Amount, rate limit.Rate) error {
	tree := maps.Clone(in.tree)
	if err := setPrice(tree, price); err != nil {
		return err
	}
	if rate.Period != "" {
		if err := setLimit(tree, rate); err != nil {
			return err
		}
	}
	others := slices.DeleteFunc(slices.Clone(strictjson.AsList(in.tree["target"])), func(v any) bool { return slices.Contains(intents, v) })
	if len(others) == 0 {
		in.tree, in.changed = tree, true
		return nil
	}
	in.tree["target"], in.changed = others, true
	tree["target"] = intents
	p.rename(tree)
	p.rules["permission"] = append(p.rules["permission"], &rule{tree: tree, changed: true})
	return nil
}

// vocabulary is the namespace of units in policies of UIM.
const vocabulary = "http://example.com/vocab/"

// setPrice replaces the amount of the duty to pay, adds such a duty, or removes it if the price is zero.
func setPrice(tree map[string]any, price money.Amount) error {
	var out []any
	done := price.IsZero()
	for _, d := range strictjson.AsList(tree["duty"]) {
		m, ok := d.(map[string]any)
		if !ok {
			return ErrForm
		}
		if m["action"] != "pay" {
			out = append(out, m)
			continue
		}
		if price.IsZero() {
			continue
		}
		if done || m["amount"] == nil {
			return ErrForm
		}
		m = maps.Clone(m)
		m["amount"], m["unit"] = price.Decimal(), vocabulary+price.Currency
		out, done = append(out, m), true
	}
	if !done {
		out = append(out, map[string]any{
			"action": "pay", "target": vocabulary + "intentPrice", "amount": price.Decimal(), "unit": vocabulary + price.Currency,
		})
	}
	if len(out) == 0 {
		delete(tree, "duty")
	} else {
		tree["duty"] = out
	}
	return nil
}

// setLimit replaces the value of the rateLimit constraint.
func setLimit(tree map[string]any, rate limit.Rate) error {
	var out []any
	found := 0
	for _, c := range strictjson.AsList(tree["constraint"]) {
		m, ok := c.(map[string]any)
		if !ok {
			return ErrForm
		}
		if operand, _ := m["leftOperand"].(string); operand == "rateLimit" || strings.HasSuffix(operand, "/rateLimit") {
			m = maps.Clone(m)
			m["rightOperand"], m["unit"] = json.Number(fmt.Sprint(rate.Max)), string(rate.Period)
			found++
		}
		out = append(out, m)
	}
	if found != 1 {
		return ErrForm
	}
	tree["constraint"] = out
	return nil
}

// Bytes returns the policy with all changes.
func (p *Policy) Bytes() ([]byte, error) {
	out := p.data
	names := slices.SortedFunc(maps.Keys(p.rules), func(a, b string) int { return p.place[b][0] - p.place[a][0] }) // the last one first
	for _, name := range names {
		list := p.rules[name]
		if !slices.ContainsFunc(list, func(r *rule) bool { return r.changed }) {
			continue
		}
		var b bytes.Buffer
		b.WriteString("[")
		for i, r := range list {
			if i > 0 {
				b.WriteString(",")
			}
			text := r.raw
			if r.changed {
				var err error
				if text, err = json.Marshal(r.tree); err != nil {
					return nil, fmt.Errorf("writing a rule: %w", err)
				}
			}
			b.WriteString("\n    ")
			b.Write(text)
		}
		b.WriteString("\n  ]")
		at, has := p.place[name]
		if !has { // only permissions are added
			return nil, ErrForm
		}
		out = slices.Concat(out[:at[0]], b.Bytes(), out[at[1]:])
	}
	return out, nil
}
