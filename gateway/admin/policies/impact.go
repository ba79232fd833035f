package policies

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math/big"
	"slices"
	"time"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/record"
	"github.com/uimgate/uimgate/gateway/record/export"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store"
)

// An ImpactRequest requests the changes that an edited policy would have made. One request reads a part of the audit stream; After
// continues it.
type ImpactRequest struct {
	Service string    `json:"-" query:"service"` // empty: the only service
	Policy  string    `json:"policy"`            // the text of the edited policy
	From    time.Time `json:"from,omitzero"`     // zero: 7 days ago
	To      time.Time `json:"to,omitzero"`       // zero: now
	After   string    `json:"after,omitzero"`    // Next of the previous part; empty: from the start
}

// Members implements api.Body.
func (r *ImpactRequest) Members(m *wire.Members) (err error) {
	r.Policy, r.After = m.Text("policy", true), m.Text("after", false)
	for name, into := range map[string]*time.Time{"from": &r.From, "to": &r.To} {
		if text := m.Text(name, false); text != "" {
			if *into, err = time.Parse(time.RFC3339Nano, text); err != nil {
				return m.Wrong(name, "must be a time such as 2026-11-01T00:00:00Z")
			}
		}
	}
	return m.Done()
}

// MaxBody implements api.LargeBody.
func (*ImpactRequest) MaxBody() int64 { return maxPolicyBody }

// A PolicyImpact contains the changes that an edited policy would have made to the calls in one part of the audit stream of this process.
// The policy alone decides: neither limits nor credit are counted again.
type PolicyImpact struct {
	Policy Policy `json:"policy"`
	// Process is the process that recorded the calls. OtherProcesses is how many others run, each with an audit stream of its own; nil: not
	// known. A request to each of them, and the sum of the results, covers all calls.
	Process        string        `json:"process"`
	OtherProcesses *int          `json:"other_processes,omitempty" jsonschema:"nullable"`
	From           time.Time     `json:"from"`
	To             time.Time     `json:"to"`
	Calls          int64         `json:"calls"`    // calls of the service in this part
	Judged         int64         `json:"judged"`   // the calls that the edited policy decided again
	Unjudged       UnjudgedCalls `json:"unjudged"` // the other calls, by cause
	Refused        ImpactSet     `json:"refused"`  // calls that the gateway made, and that the edited policy denies
	Admitted       ImpactSet     `json:"permitted"`
	Repriced       ImpactSet     `json:"repriced"`
	// Money compares the charges of the judged calls, by currency.
	Money []MoneyImpact `json:"money"`
	// Intents are the intents whose terms differ from the policy in force. Agents that agreed to the policy in force must
	// agree again before they call these intents.
	Intents []string `json:"intents"`
	// Agents are the agents with an active agreement to the policy in force: at most 1000, the newest agreements first.
	// Only the first part has them, and only if Intents is not empty.
	Agents     []pat.AgentID `json:"agents,omitempty"`
	MoreAgents bool          `json:"more_agents,omitempty"` // Agents is not complete
	// Progress is the part of the stream, from 0 to 1, that has been read.
	Progress float64 `json:"progress"`
	Next     string  `json:"next,omitempty"` // ImpactRequest.After of the next part; empty: the period has been read
}

// UnjudgedCalls counts calls that could not be decided again.
type UnjudgedCalls struct {
	Undecided int64 `json:"undecided"` // refused before the policy decided, or by a rule of the configuration
	Withheld  int64 `json:"withheld"`  // calls without the fact: the stream has only the digest of a parameter; see audit.parameters
	Failed    int64 `json:"failed"`    // the record cannot be read, or the decision failed
	// Limited counts the judged calls that a limit refused. Whether the limits of the edited policy would refuse them is not known.
	Limited int64 `json:"limited"`
}

// An ImpactSet counts calls, and has the first of them.
type ImpactSet struct {
	Calls int64        `json:"calls"`
	First []ImpactCall `json:"first"` // at most 100
}

// maxImpactCalls is the maximum number of calls in an ImpactSet.
const maxImpactCalls = 100

// An ImpactCall is one call that differs.
type ImpactCall struct {
	At        time.Time     `json:"at"`
	RequestID string        `json:"request_id"`
	AgentID   pat.AgentID   `json:"agent_id"`
	Intent    string        `json:"intent"`
	Rule      string        `json:"rule,omitempty"`   // of the edited policy
	Reason    reason.Reason `json:"reason,omitempty"` // why the edited policy denies the call
	Detail    string        `json:"detail,omitempty"`
	Before    string        `json:"before,omitempty"` // the charge, such as 0.05 EUR
	After     string        `json:"after,omitempty"`
}

// A MoneyImpact compares charges in one currency. Amounts are decimals; Difference is negative if less would have been charged.
type MoneyImpact struct {
	Currency   string `json:"currency"`
	Before     string `json:"before"`
	After      string `json:"after"`
	Difference string `json:"difference"`
}

const (
	impactTime    = 10 * time.Second // for one part
	impactRecords = 200_000          // records of one part
	impactPeriod  = 7 * 24 * time.Hour
	impactAgents  = 1000
	// callTime is the maximum time from a call to its record: records are in the order in which calls end.
	callTime = time.Hour
)

// Impact compares the decisions of the gateway with those of an edited policy. It reads the audit stream of this process for up to 10
// seconds or 200,000 records. Call Impact again with Next until Next is empty. Meanwhile, other comparisons of policies wait for up to
// turnWait, and are then refused.
func (o *Operations) Impact(ctx context.Context, s *service.Service, r ImpactRequest) (PolicyImpact, error) {
	cursor, err := export.ParseCursor(r.After)
	if err != nil {
		return PolicyImpact{}, api.WrongMember("after", "must be the value of next in an earlier response")
	}
	if o.c.AuditPath == "" {
		return PolicyImpact{}, reason.NoSuchRecord.Refusal("This process has no audit stream.")
	}
	release, err := o.comparing.take(ctx)
	if err != nil {
		return PolicyImpact{}, err
	}
	defer release()
	policy, about, err := draftPolicy(ctx, s, []byte(r.Policy))
	if err != nil {
		return PolicyImpact{}, err
	}
	if r.To.IsZero() {
		r.To = o.c.Now().Add(time.Nanosecond) // includes calls at this time
	}
	if r.From.IsZero() {
		r.From = r.To.Add(-impactPeriod)
	}
	if !r.From.Before(r.To) {
		return PolicyImpact{}, api.WrongMember("to", "must be later than from")
	}
	out := PolicyImpact{
		Policy: about, From: r.From.UTC(), To: r.To.UTC(), Intents: s.ChangedBy(policy),
		Refused: ImpactSet{First: []ImpactCall{}}, Admitted: ImpactSet{First: []ImpactCall{}}, Repriced: ImpactSet{First: []ImpactCall{}},
	}
	out.Process, out.OtherProcesses = o.c.Processes.Name(), o.c.Processes.Others(ctx)
	if out.Intents == nil {
		out.Intents = []string{}
	}
	if r.After == "" && len(out.Intents) > 0 {
		if err := o.agreedAgents(ctx, s, &out); err != nil {
			return PolicyImpact{}, err
		}
	}
	j := &impactJudge{
		operator: o, service: s, policy: policy, request: r, out: &out, before: sums{}, after: sums{}, keys: map[pat.AgreementID]keys.ID{},
	}
	if err := j.read(ctx, cursor); err != nil {
		return PolicyImpact{}, err
	}
	out.Money = moneyImpacts(j.before, j.after)
	return out, nil
}

// agreedAgents adds the agents that agreed to the policy in force.
func (o *Operations) agreedAgents(ctx context.Context, s *service.Service, out *PolicyImpact) error {
	list, err := o.c.Store.Agreements(ctx, store.AgreementFilter{
		Service: s.ID, PolicyDigest: s.Offer().Digest, State: pat.AgreementActive, Limit: impactAgents,
	})
	if err != nil {
		return err
	}
	seen := map[pat.AgentID]bool{}
	for i := range list {
		if id := list[i].AgentID; !seen[id] {
			seen[id] = true
			out.Agents = append(out.Agents, id)
		}
	}
	out.MoreAgents = len(list) == impactAgents
	return nil
}

// An impactJudge decides the calls of one part of the stream.
type impactJudge struct {
	operator      *Operations
	service       *service.Service
	policy        *odrl.Policy
	request       ImpactRequest
	out           *PolicyImpact
	before, after sums
	keys          map[pat.AgreementID]keys.ID // of agents, if the policy names keys
}

// read judges the records from a position on, until the period or the time ends, and sets Progress and Next.
func (j *impactJudge) read(ctx context.Context, from export.Cursor) error {
	if j.operator.c.Audit != nil {
		_ = j.operator.c.Audit.Flush() // logs its error; the records in the file can be read
	}
	reader, err := export.NewReader(j.operator.c.AuditPath, from, j.request.From)
	if err != nil {
		return err
	}
	defer reader.Close()
	ends := time.Now().Add(impactTime)                          //nolint:forbidigo // the time that passes, by the clock of the machine
	for n := 0; n < impactRecords && time.Now().Before(ends); { //nolint:forbidigo // as above
		records, err := reader.Next(1000)
		if err != nil {
			return err
		}
		if len(records) == 0 {
			j.out.Progress = 1
			return nil
		}
		for i := range records {
			if records[i].At.After(j.request.To.Add(callTime)) {
				j.out.Progress = 1
				return nil
			}
			if err := j.judge(ctx, &records[i]); err != nil {
				return err
			}
		}
		n += len(records)
	}
	j.out.Next = reader.Cursor().String()
	if left, all := reader.Left(); all > 0 {
		j.out.Progress = 1 - float64(left)/float64(all)
	}
	return nil
}

// judge compares the decisions about one record.
func (j *impactJudge) judge(ctx context.Context, r *export.Record) error {
	if r.Service != j.service.ID || r.At.Before(j.request.From) || !r.At.Before(j.request.To) {
		return nil
	}
	line, err := record.ParseLine(r.JSON)
	if err == nil && (line.Stop != nil || line.Change != nil || line.Signing != nil || line.Decision == record.Begun) {
		return nil
	}
	j.out.Calls++
	if err != nil {
		j.out.Unjudged.Failed++
		return nil //nolint:nilerr // it is counted
	}
	key, err := j.keyOf(ctx, pat.AgreementID(line.Agreement))
	if err != nil {
		return err
	}
	impact, err := line.Impact(ctx, j.policy, string(key))
	switch {
	case errors.Is(err, record.ErrOtherPolicy):
		j.out.Unjudged.Undecided++
		return nil
	case errors.Is(err, record.ErrWithheld):
		j.out.Unjudged.Withheld++
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		j.out.Unjudged.Failed++
		return nil //nolint:nilerr // as above
	}
	j.out.Judged++
	if line.Reason == reason.RateLimitExceeded || line.Reason == reason.QuotaExceeded {
		j.out.Unjudged.Limited++
	}
	j.before.add(impact.Before)
	j.after.add(impact.After)
	set := map[record.Effect]*ImpactSet{
		record.Refused: &j.out.Refused, record.Permitted: &j.out.Admitted, record.Repriced: &j.out.Repriced,
	}[impact.Effect]
	if set == nil {
		return nil
	}
	if set.Calls++; len(set.First) < maxImpactCalls {
		set.First = append(set.First, ImpactCall{
			At: line.At.UTC(), RequestID: line.RequestID, AgentID: pat.AgentID(line.Agent), Intent: line.Intent, Rule: impact.Rule,
			Reason: impact.Reason, Detail: impact.Detail, Before: amountText(impact.Before), After: amountText(impact.After),
		})
	}
	return nil
}

// maxImpactKeys is the maximum number of keys that a judge keeps.
const maxImpactKeys = 10_000

// keyOf returns the thumbprint of the key of an agreement, if a party of the service names a key. Otherwise no decision depends on it.
func (j *impactJudge) keyOf(ctx context.Context, id pat.AgreementID) (keys.ID, error) {
	if !j.service.NamesKeys() || id == "" {
		return "", nil
	}
	if key, known := j.keys[id]; known {
		return key, nil
	}
	a, err := j.operator.c.Store.Agreement(ctx, j.service.ID, id)
	if err != nil && !errors.Is(err, pat.ErrNotFound) {
		return "", err
	}
	if len(j.keys) < maxImpactKeys {
		j.keys[id] = a.KeyID
	}
	return a.KeyID, nil
}

func amountText(a money.Amount) string {
	if a.IsZero() {
		return ""
	}
	return a.String()
}

// sums adds up amounts by currency.
type sums map[string]*big.Int

func (s sums) add(a money.Amount) {
	if !a.IsZero() {
		s.addText(a.Currency, a.Decimal())
	}
}

func moneyImpacts(before, after sums) []MoneyImpact {
	list := []MoneyImpact{}
	currencies := slices.Concat(slices.Collect(maps.Keys(before)), slices.Collect(maps.Keys(after)))
	slices.Sort(currencies)
	for _, currency := range slices.Compact(currencies) {
		was, will := cmp.Or(before[currency], new(big.Int)), cmp.Or(after[currency], new(big.Int))
		list = append(list, MoneyImpact{
			Currency: currency, Before: money.SumDecimal(was), After: money.SumDecimal(will),
			Difference: money.SumDecimal(new(big.Int).Sub(will, was)),
		})
	}
	return list
}
