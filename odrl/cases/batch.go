package cases

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/internal/suggest"
	"github.com/uimgate/uimgate/odrl"
)

// A Batch decides requests, one per line. Each line has its own policy. A Batch is not safe for concurrent use.
type Batch struct {
	DutyMode odrl.DutyMode // for lines without dutyMode
	Lenient  bool          // for lines without lenient
	Now      func() time.Time
	// Vocabularies are available to all policies.
	Vocabularies []*odrl.Vocabulary

	policies policies
}

// A Refusal is the result for a line whose policy is rejected.
type Refusal struct {
	Error    string       `json:"error"`
	Problems problem.List `json:"problems"`
}

var lineKeys = []string{"policy", "request", "world", "dutyMode", "lenient"}

// Answer decides one line: an object with policy, request and, optionally, world, dutyMode and lenient. The result is an odrl.Evaluation,
// or a Refusal if the policy is rejected.
func (b *Batch) Answer(ctx context.Context, line []byte) (any, error) {
	var parts map[string]jsontext.Value
	if err := json.Unmarshal(line, &parts); err != nil {
		return nil, errors.New("the line must be one JSON object without duplicate keys")
	}
	for key := range parts {
		if near := suggest.Name(key, lineKeys); near != "" && !slices.Contains(lineKeys, key) {
			return nil, fmt.Errorf("unknown key %q: did you mean %s?", key, near)
		}
	}
	mode, lenient := b.DutyMode, b.Lenient
	if raw, ok := parts["dutyMode"]; ok && !isNull(raw) {
		var s string
		err := json.Unmarshal(raw, &s)
		if err == nil {
			mode, err = ParseDutyMode(s)
		}
		if err != nil {
			return nil, errors.New("dutyMode: want fulfilled or notViolated")
		}
	}
	if raw, ok := parts["lenient"]; ok && !isNull(raw) {
		if err := json.Unmarshal(raw, &lenient); err != nil {
			return nil, errors.New("lenient: want true or false")
		}
	}
	for _, key := range []string{"policy", "request"} {
		if isNull(parts[key]) {
			return nil, fmt.Errorf("the line has no %s", key)
		}
	}
	q, err := odrl.ParseQuestion(parts["request"], lenient) //nolint:contextcheck // its size bounds the reading
	if err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	w := odrl.WorldState{Now: b.Now()}
	if !isNull(parts["world"]) {
		if w, err = odrl.ParseWorldState(parts["world"]); err != nil {
			return nil, fmt.Errorf("world: %w", err)
		}
	}
	b.policies.vocabularies = b.Vocabularies
	p, problems := b.policies.load(ctx, parts["policy"], lenient)
	if p == nil {
		return Refusal{refusal(problems), append(problem.List{}, problems...)}, nil
	}
	e, err := p.Evaluate(ctx, q, w, odrl.EvaluateOptions{DutyMode: mode})
	if err != nil {
		return nil, err
	}
	return e, nil
}

func isNull(raw jsontext.Value) bool { return len(raw) == 0 || raw.Kind() == 'n' }

// ParseDutyMode returns the duty mode with the given name.
func ParseDutyMode(s string) (odrl.DutyMode, error) {
	modes := []odrl.DutyMode{odrl.DutiesFulfilled, odrl.DutiesNotViolated}
	if !slices.Contains(modes, odrl.DutyMode(s)) {
		return "", fmt.Errorf("want fulfilled or notViolated, not %q", s)
	}
	return odrl.DutyMode(s), nil
}
