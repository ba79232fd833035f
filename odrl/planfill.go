package odrl

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"slices"

	"github.com/uimgate/uimgate/internal/money"
)

// read is the fact of one slot, in the frame's arena; undefined where it is missing, or not of the slot's kind. What OPA
// is given and what a plan is given is the same.
func (s *policySlot) read(f *frame, r *request, open bool) value {
	if s.operand == "dateTime" {
		switch {
		case open || r.Now.IsZero():
			return value{}
		case s.as == "clock":
			return f.list(value{kind: aNumber, n: sinceMidnight(r.Now)})
		default:
			return f.list(value{kind: aNumber, n: nanos(r.Now)})
		}
	}
	if s.operand == "version" {
		return versionFact(r.Intent)
	}
	start := len(f.arena)
	switch v := r.Facts[s.operand].(type) {
	case nil:
		return value{}
	case []any:
		if len(v) > maxFacts {
			return value{}
		}
		for _, one := range v {
			f.arena = append(f.arena, s.value(one))
		}
	case []string:
		if len(v) > maxFacts {
			return value{}
		}
		for _, one := range v {
			if s.reads == nil {
				f.arena = append(f.arena, s.text(one))
			} else {
				f.arena = append(f.arena, s.value(one))
			}
		}
	default:
		f.arena = append(f.arena, s.value(v))
	}
	if s.kind == happening { // other events say nothing of this one
		f.arena = append(f.arena[:start], slices.DeleteFunc(f.arena[start:], func(v value) bool { return v.kind == undefined })...)
	}
	list := f.arena[start:len(f.arena):len(f.arena)]
	for i := range list {
		if list[i].kind == undefined {
			return value{}
		}
	}
	if len(list) == 0 {
		return value{}
	}
	return value{kind: anArray, list: list}
}

// list is an array of one element.
func (f *frame) list(v value) value {
	f.arena = append(f.arena, v)
	return value{kind: anArray, list: f.arena[len(f.arena)-1 : len(f.arena) : len(f.arena)]}
}

// value turns one fact into the slot's kind, if it can.
func (s *policySlot) value(v any) value {
	switch s.kind {
	case text, code:
		if t, ok := v.(string); ok {
			return s.text(t)
		}
	case paying:
		return s.amount(v)
	case number, lasting, happening:
		if x, ok := s.reads(v); ok {
			return planned(x)
		}
	default: // the call itself has them
	}
	return value{}
}

// planned is what a reading made of a fact: a number, or a list of them.
func planned(x any) value {
	switch x := x.(type) {
	case json.Number:
		if n, err := x.Int64(); err == nil {
			return value{kind: aNumber, n: n}
		}
	case []any:
		v := value{kind: anArray, list: make([]value, 0, len(x))}
		for _, one := range x {
			part := planned(one)
			if part.kind == undefined {
				return value{}
			}
			v.list = append(v.list, part)
		}
		return v
	}
	return value{}
}

func (s *policySlot) text(t string) value {
	if s.kind != text && s.kind != code || t == "" || s.as != string(mixed) && formOf(s.operand, t) != form(s.as) {
		return value{}
	}
	return value{kind: aText, s: canonicalText(s.operand, t)}
}

func (s *policySlot) amount(v any) value {
	var a money.Amount
	var err error
	switch v := v.(type) {
	case money.Amount:
		a = v
	case string:
		a, err = money.Parse(v)
	default:
		return value{}
	}
	if err != nil || a.Currency != s.as {
		return value{}
	}
	return value{kind: aNumber, n: a.Nano}
}

// versionFact is the version of the intent itself, whatever facts say.
func versionFact(uid string) value {
	v, ok := parseVersion(versionOf(uid))
	if !ok {
		return value{}
	}
	part := func(i int) value { return value{kind: aNumber, n: v[i]} }
	return value{kind: anArray, list: []value{{kind: anArray, list: []value{part(0), part(1), part(2)}}}}
}

// A filler knows where the slots of a plan get their values from.
type filler struct {
	slots    []planSlot
	facts    []*policySlot // for the slots that are facts
	parties  map[string][]agentTerm
	everyone value
	keys     map[string]string // DER → the text by which the policy names it
}

func (in *inputs) filler(slots []planSlot, constants []*value) (*filler, error) {
	l := &filler{slots: slots, facts: make([]*policySlot, len(slots)), parties: in.agents, everyone: value{kind: aText, s: everyone}, keys: map[string]string{}}
	for i, s := range slots {
		if s.root != "facts" {
			continue
		}
		for j := range in.slots {
			if in.slots[j].key() == s.key {
				l.facts[i] = &in.slots[j]
			}
		}
		if l.facts[i] == nil {
			return nil, unplanned("the fact %s", s.key)
		}
	}
	for _, v := range constants {
		l.name(v)
	}
	return l, nil
}

// name remembers the keys among the policy's constants.
func (l *filler) name(v *value) {
	for i := range v.list {
		l.name(&v.list[i])
	}
	if v.kind == aText {
		if der, err := base64.StdEncoding.DecodeString(v.s); err == nil && base64.StdEncoding.EncodeToString(der) == v.s {
			l.keys[string(der)] = v.s
		}
	}
}

// fill puts the values of a request into the frame, as input does into a document for OPA.
func (l *filler) fill(f *frame, r *request, in *planIntent) {
	for i := range l.slots {
		switch l.slots[i].root {
		case "targets":
			f.slots[i] = in.targets
		case "parties":
			f.slots[i] = l.partiesOf(f, r)
		case "proof":
			f.slots[i] = l.key(r.ProofKey, r.ProofKey)
		case "agent":
			f.slots[i] = l.key(r.AgentKey, r.ProofKey)
		default:
			if s := l.facts[i]; s.operand == "version" {
				f.slots[i] = in.version
			} else {
				f.slots[i] = s.read(f, r, false)
			}
		}
	}
}

func (l *filler) partiesOf(f *frame, r *request) value {
	start := len(f.arena)
	f.arena = append(f.arena, l.everyone)
	for _, party := range l.parties[r.AgentID] {
		if party.keyID == "" || party.keyID == r.KeyID {
			f.arena = append(f.arena, value{kind: aText, s: party.iri})
		}
	}
	return value{kind: anArray, list: f.arena[start:len(f.arena):len(f.arena)]}
}

// key is the text of a key. One that the policy does not name can be equal to nothing but the other key of the
// request, so its text is not made.
func (l *filler) key(der, proof []byte) value {
	if len(der) == 0 {
		return value{}
	}
	if name, ok := l.keys[string(der)]; ok {
		return value{kind: aText, s: name}
	}
	if bytes.Equal(der, proof) {
		return value{kind: aText, n: 1}
	}
	return value{kind: aText, n: 2}
}
