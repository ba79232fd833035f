package plan

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"slices"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/odrl/internal/model"
	"github.com/uimgate/uimgate/odrl/internal/rules"
)

// read returns the fact for a slot, stored in the frame's arena. The fact is undefined if it is missing or not of the slot's kind. If
// open is set, the time is undefined too. OPA and a plan read the same facts.
func (s *PolicySlot) read(f *Frame, r *Request, open bool) value {
	if s.Operand == "dateTime" {
		switch {
		case open || r.Now.IsZero():
			return value{}
		case s.As == "clock":
			return f.list(value{kind: aNumber, n: sinceMidnight(r.Now)})
		default:
			return f.list(value{kind: aNumber, n: model.Nanos(r.Now)})
		}
	}
	if s.Operand == "version" {
		return versionFact(r.Intent)
	}
	start := len(f.arena)
	switch v := r.Facts[s.Operand].(type) {
	case nil:
		return value{}
	case []any:
		if len(v) > rules.MaxFacts {
			return value{}
		}
		for _, one := range v {
			f.arena = append(f.arena, s.value(one))
		}
	case []string:
		if len(v) > rules.MaxFacts {
			return value{}
		}
		for _, one := range v {
			if s.Reads == nil {
				f.arena = append(f.arena, s.text(one))
			} else {
				f.arena = append(f.arena, s.value(one))
			}
		}
	default:
		f.arena = append(f.arena, s.value(v))
	}
	if s.Kind == model.Event { // the state of another event does not affect this slot
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

// list returns an array with one element.
func (f *Frame) list(v value) value {
	f.arena = append(f.arena, v)
	return value{kind: anArray, list: f.arena[len(f.arena)-1 : len(f.arena) : len(f.arena)]}
}

// value converts one fact to the slot's kind. If that is not possible, the result is undefined.
func (s *PolicySlot) value(v any) value {
	switch s.Kind {
	case model.Text, model.Code:
		if t, ok := v.(string); ok {
			return s.text(t)
		}
	case model.Money:
		return s.amount(v)
	case model.Number, model.Duration, model.Event:
		if x, ok := s.Reads(v); ok {
			return planned(x)
		}
	default: // the call itself provides the values
	}
	return value{}
}

// planned converts the parsed form of a fact, which is a number or a list of numbers. If a number does not fit in an int64, the result is
// undefined.
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

func (s *PolicySlot) text(t string) value {
	if s.Kind != model.Text && s.Kind != model.Code || t == "" || s.As != string(model.MixedText) &&
		s.Left.TextForm(t) != model.TextForm(s.As) {
		return value{}
	}
	return value{kind: aText, s: s.Left.CanonicalText(t)}
}

func (s *PolicySlot) amount(v any) value {
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
	if err != nil || a.Currency != s.As {
		return value{}
	}
	return value{kind: aNumber, n: a.Nano}
}

// versionFact returns the version of the intent, taken from its UID and never from the facts.
func versionFact(uid string) value {
	v, ok := model.ParseVersion(model.VersionOf(uid))
	if !ok {
		return value{}
	}
	part := func(i int) value { return value{kind: aNumber, n: v[i]} }
	return value{kind: anArray, list: []value{{kind: anArray, list: []value{part(0), part(1), part(2)}}}}
}

// A filler puts values into the slots of a plan.
type filler struct {
	slots    []planSlot
	facts    []*PolicySlot // by index of the slot; nil if the slot is not a fact
	parties  map[string][]agentTerm
	everyone value
	keys     map[string]string // DER → its text in the policy
}

func (in *Inputs) filler(slots []planSlot, constants []*value) (*filler, error) {
	l := &filler{
		slots: slots, facts: make([]*PolicySlot, len(slots)), parties: in.agents, everyone: value{kind: aText, s: rules.Everyone},
		keys: map[string]string{},
	}
	for i, s := range slots {
		if s.root != "facts" {
			continue
		}
		for j := range in.Slots {
			if in.Slots[j].Key() == s.key {
				l.facts[i] = &in.Slots[j]
			}
		}
		if l.facts[i] == nil {
			return nil, Unplanned("the fact %s", s.key)
		}
	}
	for _, v := range constants {
		l.name(v)
	}
	return l, nil
}

// name records the keys among the policy's constants.
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

// Fill puts the values of a request into the frame, as Document does for OPA.
func (l *filler) Fill(f *Frame, r *Request, in *planIntent) {
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
			if s := l.facts[i]; s.Operand == "version" {
				f.slots[i] = in.version
			} else {
				f.slots[i] = s.read(f, r, false)
			}
		}
	}
}

func (l *filler) partiesOf(f *Frame, r *Request) value {
	start := len(f.arena)
	f.arena = append(f.arena, l.everyone)
	for _, party := range l.parties[r.AgentID] {
		if party.KeyID == "" || party.KeyID == r.KeyID {
			f.arena = append(f.arena, value{kind: aText, s: party.IRI})
		}
	}
	return value{kind: anArray, list: f.arena[start:len(f.arena):len(f.arena)]}
}

// key returns the string that represents a key. A key that the policy does not name can equal only the other key of the request, so it gets
// an opaque string instead.
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
