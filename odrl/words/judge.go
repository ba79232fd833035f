package words

import (
	"context"
	"time"

	"github.com/uimgate/uimgate/odrl"
)

// A Shift is the direction in which decisions change from one policy to another.
type Shift string

// The shifts. Wider, Narrower, Both and None are certain. Changed and Unchecked mean that requests were left untried: Changed if the
// policies decide a tried request differently, and Unchecked if they do not.
const (
	None      Shift = "none"
	Wider     Shift = "wider"
	Narrower  Shift = "narrower"
	Both      Shift = "both"
	Changed   Shift = "changed"
	Unchecked Shift = "unchecked"
)

// Decisions summarizes how two policies decide the same requests: those at the bounds of the constraints of both.
type Decisions struct {
	Shift    Shift `json:"shift"`
	Requests int   `json:"requests"` // number of requests evaluated under both policies
	// Bound describes the bound that was reached first, if requests were left untried; otherwise it is empty.
	Bound string `json:"bound,omitempty"`
	// Wider and Narrower are one example each of a request whose decision changes in that direction; nil if there is none.
	Wider    *Example `json:"wider,omitempty"`
	Narrower *Example `json:"narrower,omitempty"`
}

// An Example is a request that two policies decide differently.
type Example struct {
	Party   string         `json:"party,omitempty"` // empty means a party in neither policy
	Action  string         `json:"action"`
	Target  string         `json:"target,omitempty"` // empty means a target in neither policy
	Time    string         `json:"time,omitempty"`   // RFC 3339; empty if no relevant rule depends on the time
	Signed  bool           `json:"signed,omitempty"`
	Context map[string]any `json:"context,omitempty"`
	Text    string         `json:"text"` // the difference
}

// Judge evaluates both policies for the same requests. It sets Decided and, if the result is certain, the Verdict. If there is only one
// change and its effect is Mixed, Judge also replaces that effect with the result. If there are no changes, Judge does nothing. The number
// of requests is limited, and depends only on the policies. Judge returns an error only if ctx has ended.
func (c *Comparison) Judge(ctx context.Context, old, new *odrl.Policy) error { //nolint:revive // the usual names
	if len(c.Changes) == 0 {
		return nil
	}
	before, _ := old.Model()
	after, _ := new.Model()
	j := newJudge(old, new)
	if inForce := before.Grants() && before.ReplacedBy == ""; inForce == (after.Grants() && after.ReplacedBy == "") {
		j = newJudge(old.AsAgreed(), new.AsAgreed())
	}
	if err := j.all(ctx); err != nil {
		return err
	}
	c.Decided = &j.found
	effect, certain := map[Shift]Effect{Wider: Better, Narrower: Worse, Both: Mixed, None: Same}[j.found.Shift]
	if !certain {
		return nil
	}
	c.Verdict = effect
	if only := &c.Changes[0]; len(c.Changes) == 1 && only.Effect == Mixed {
		only.Effect = effect
	}
	return nil
}

// A judge evaluates requests under two policies and records how the decisions change.
type judge struct {
	old, new *odrl.Policy
	asker
	burdens
	found Decisions
	steps int // expressions that evaluations may still use
}

// maxSteps is the maximum number of expressions that are evaluated for one comparison. They take a few seconds.
const maxSteps = 2_000_000

func newJudge(old, new *odrl.Policy) *judge { //nolint:revive // the usual names
	from, _ := old.Model()
	to, _ := new.Model()
	return &judge{old: old, new: new, asker: newAsker(from, to), burdens: newBurdens(from, to), steps: maxSteps}
}

// all evaluates every request, until there is an example of each direction or a bound is reached.
func (j *judge) all(ctx context.Context) error {
	for r := range j.requests() {
		if !j.put(ctx, r) {
			j.bounded("both policies are evaluated in at most %d steps", maxSteps)
			break
		}
		j.found.Requests++
		if j.found.Wider != nil && j.found.Narrower != nil {
			break
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	j.found.Bound = j.bound
	wider, narrower := j.found.Wider != nil, j.found.Narrower != nil
	switch {
	case wider && narrower:
		j.found.Shift, j.found.Bound = Both, ""
	case j.partial && (wider || narrower):
		j.found.Shift = Changed
	case j.partial:
		j.found.Shift = Unchecked
	case wider:
		j.found.Shift = Wider
	case narrower:
		j.found.Shift = Narrower
	default:
		j.found.Shift = None
	}
	return nil
}

// put evaluates both policies for a request, and notes how the results differ. It returns false if an evaluation exceeds the steps or ctx
// has ended.
func (j *judge) put(ctx context.Context, r request) bool {
	before, after, ok := j.ask(ctx, r, r.world)
	if !ok {
		return false
	}
	switch {
	case !before.Permit && after.Permit:
		j.note(r, true, "It was denied, and is now permitted.")
	case before.Permit && !after.Permit:
		j.note(r, false, "It was permitted, and is now denied.")
	case before.Permit:
		j.weigh(r, before, after)
	case j.remedies: // compare the duties of a party that acts in spite of the denial
		if before, after, ok = j.ask(ctx, r, r.worldDone); !ok {
			return false
		}
		j.weigh(r, before, after)
	}
	return true
}

// ask evaluates both policies, each in the state of the world that in returns for its duties to sign.
func (j *judge) ask(ctx context.Context, r request, in func(toSign []string) odrl.WorldState) (before, after odrl.Evaluation, ok bool) {
	o := odrl.EvaluateOptions{DutyMode: odrl.DutiesNotViolated, Steps: &j.steps}
	before, err := j.old.Evaluate(ctx, r.question, in(j.toSign[0]), o)
	if err == nil {
		after, err = j.new.Evaluate(ctx, r.question, in(j.toSign[1]), o)
	}
	return before, after, err == nil
}

// weigh compares the burdens of a request that both policies permit or both deny.
func (j *judge) weigh(r request, before, after odrl.Evaluation) {
	for _, d := range j.compare(before, after) {
		if d.effect != Worse {
			j.note(r, true, d.text)
		}
		if d.effect != Better {
			j.note(r, false, d.text)
		}
	}
}

// note keeps the first example of each direction.
func (j *judge) note(r request, wider bool, text string) {
	at := &j.found.Narrower
	if wider {
		at = &j.found.Wider
	}
	if *at != nil {
		return
	}
	q := r.question
	e := &Example{Party: q.Party, Action: q.Action, Target: q.Target, Signed: r.signed, Context: q.Context, Text: text}
	if !r.now.IsZero() {
		e.Time = r.now.UTC().Format(time.RFC3339Nano)
	}
	*at = e
}
