package odrl

import (
	"errors"
	"fmt"
	"time"

	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/odrl/internal/model"
)

const (
	// maxMemberships is the maximum number of partOf entries in a state of the world.
	maxMemberships = 10_000
	// maxPerformed is the maximum number of performed actions, and of duty reports, in a state of the world.
	maxPerformed = 1000
)

// A WorldState describes the known state of the world at the time of a question. In the zero WorldState nothing is known, not even the
// time.
type WorldState struct {
	Now     time.Time
	PartOf  []Membership
	Done    []Act
	Reports []DutyReport
}

// A Membership makes a party, an asset or a value part of a collection. Memberships are transitive.
type Membership struct {
	Member     string `json:"member"`
	Collection string `json:"collection"`
}

// An Act is one action that a party performed.
type Act struct {
	Party, Action, Target string
	At                    time.Time // zero means an unknown time
	// Context holds the values of left operands for this act, as in a Question. If Context is nil, the act satisfies the refinements of a duty
	// unless the facts of the question contradict them.
	Context map[string]any
}

// A DutyReport states the outcome of the duty whose uid or JSON pointer is Rule. It overrides the performed actions.
type DutyReport struct {
	Rule        string
	Performance string // Performed, Unperformed or Unknown; empty if not stated
	Deontic     string // NonSet, Fulfilled or Violated; empty if not stated
}

// ErrWorldState means that a document is not a state of the world.
var ErrWorldState = errors.New("not a state of the world")

// ParseWorldState parses {"currentTime", "partOf": [{"member", "collection"}], "performed": [{"party", "action", "target", "time",
// "context"}], "dutyReports": [{"rule", "performanceState", "deonticState"}]}. Every member is optional; ParseWorldState rejects unknown
// members. The document may have at most MaxQuestion bytes. The error wraps ErrWorldState.
func ParseWorldState(doc []byte) (WorldState, error) {
	if len(doc) > MaxQuestion {
		return WorldState{}, fmt.Errorf("%w: it has %d bytes; the maximum is %d", ErrWorldState, len(doc), MaxQuestion)
	}
	tree, err := strictjson.DecodeObject(doc)
	if err == nil {
		var w WorldState
		if w, err = readWorld(tree); err == nil {
			return w, nil
		}
	}
	return WorldState{}, fmt.Errorf("%w: %w", ErrWorldState, err)
}

func readWorld(tree map[string]any) (WorldState, error) {
	var w WorldState
	for _, k := range model.SortedKeys(tree) {
		var err error
		switch k {
		case "currentTime":
			w.Now, err = readTime(tree[k])
		case "partOf":
			err = eachObject(tree[k], maxMemberships, func(m map[string]any) error {
				var one Membership
				err := members(m, map[string]*string{"member": &one.Member, "collection": &one.Collection}, nil)
				if err == nil && (one.Member == "" || one.Collection == "") {
					err = errors.New("a membership must have a member and a collection")
				}
				w.PartOf = append(w.PartOf, one)
				return err
			})
		case "performed":
			err = eachObject(tree[k], maxPerformed, func(m map[string]any) error {
				one, err := readPerformed(m)
				w.Done = append(w.Done, one)
				return err
			})
		case "dutyReports":
			err = eachObject(tree[k], maxPerformed, func(m map[string]any) error {
				one, err := readDutyReport(m)
				w.Reports = append(w.Reports, one)
				return err
			})
		default:
			err = errors.New("unknown member: a state of the world has currentTime, partOf, performed and dutyReports")
		}
		if err != nil {
			return WorldState{}, fmt.Errorf("%s: %w", pointerTo(k), err)
		}
	}
	return w, nil
}

// eachObject calls read for each object of a list, or for a single object. It returns an error if v is neither, if the list has more than
// maxEntries entries, or if read fails.
func eachObject(v any, maxEntries int, read func(map[string]any) error) error {
	list := model.ListOf(model.Field{Value: v})
	if v == nil {
		return nil
	}
	if len(list) > maxEntries {
		return fmt.Errorf("it has %d entries; the maximum is %d", len(list), maxEntries)
	}
	for _, f := range list {
		m, ok := f.Value.(map[string]any)
		if !ok {
			return fmt.Errorf("%s must be an object, not %s", model.PointerName(f.Pointer), strictjson.Kind(f.Value))
		}
		if err := read(m); err != nil {
			return fmt.Errorf("%s: %w", model.PointerName(f.Pointer), err)
		}
	}
	return nil
}

// members reads the members of m that texts names; their values must be names. It rejects all other members except those in others, which
// the caller reads.
func members(m map[string]any, texts map[string]*string, others []string) error {
	for _, k := range model.SortedKeys(m) {
		into, ok := texts[k]
		if !ok {
			known := false
			for _, o := range others {
				known = known || o == k
			}
			if known {
				continue
			}
			return fmt.Errorf("%s is an unknown member", pointerTo(k))
		}
		if *into, ok = model.NameOf(m[k]); !ok {
			return fmt.Errorf("%s must be a name: an IRI or a term", pointerTo(k))
		}
	}
	return nil
}

func readPerformed(m map[string]any) (Act, error) {
	var one Act
	err := members(m, map[string]*string{"party": &one.Party, "action": &one.Action, "target": &one.Target}, []string{"time", "context"})
	if err == nil && one.Action == "" {
		err = errors.New("a performed action must have the member action")
	}
	if t, ok := m["time"]; ok && err == nil {
		one.At, err = readTime(t)
	}
	if c, ok := m["context"]; ok && err == nil {
		if one.Context, ok = c.(map[string]any); !ok || one.Context == nil || len(one.Context) > maxOperands {
			err = fmt.Errorf("context must be an object with at most %d operands and their values", maxOperands)
		}
	}
	return one, err
}

func readDutyReport(m map[string]any) (DutyReport, error) {
	var one DutyReport
	err := members(m, map[string]*string{"rule": &one.Rule, "performanceState": &one.Performance, "deonticState": &one.Deontic}, nil)
	if err != nil {
		return one, err
	}
	one.Performance, one.Deontic = model.LastName(one.Performance), model.LastName(one.Deontic)
	switch {
	case one.Rule == "":
		return one, errors.New("a duty report must name its rule")
	case one.Performance != "" && one.Performance != "Performed" && one.Performance != "Unperformed" && one.Performance != "Unknown":
		return one, errors.New("performanceState must be Performed, Unperformed or Unknown")
	case one.Deontic != "" && one.Deontic != string(NonSet) && one.Deontic != string(Fulfilled) && one.Deontic != string(Violated):
		return one, errors.New("deonticState must be NonSet, Fulfilled or Violated")
	}
	return one, nil
}

// readTime parses an instant. A time without a zone is in UTC.
func readTime(v any) (time.Time, error) {
	s, ok := model.Scalar(v)
	if at, good := model.ParseInstant(s); ok && good && at.From == at.To && !at.Beyond() {
		return time.Unix(0, at.From).UTC(), nil
	}
	return time.Time{}, errors.New("a time must be a dateTime such as 2026-12-31T23:59:59Z, from 1678 to 2261")
}
