package cases

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/uimgate/uimgate/odrl"
)

// A Report is the outcome of a Table.
type Report struct {
	File   string   `json:"file"`
	Passed int      `json:"passed"`
	Failed int      `json:"failed"`
	Cases  []Result `json:"cases"`
}

// A Result is the outcome of one case. Error is set if no decision was reached.
type Result struct {
	Name        string       `json:"name"`
	Line        int          `json:"line"`
	Passed      bool         `json:"passed"`
	Error       string       `json:"error,omitempty"`
	Differences []Difference `json:"differences"`
	Why         string       `json:"why,omitempty"`
}

// Run decides each request and compares the result with the expected one. A case also fails if its policy cannot be read or its request is
// invalid. Run calls read for each policy file that a case names; read must limit the size of the file. All policies may use the known
// vocabularies.
func (t *Table) Run(ctx context.Context, read func(path string) ([]byte, error), known ...*odrl.Vocabulary) Report {
	report, loaded := Report{File: t.Path, Cases: []Result{}}, policies{vocabularies: known}
	for i := range t.Cases {
		result := t.Cases[i].run(ctx, read, &loaded)
		report.Cases = append(report.Cases, result)
		if result.Passed {
			report.Passed++
		} else {
			report.Failed++
		}
	}
	return report
}

func (c *Case) run(ctx context.Context, read func(path string) ([]byte, error), loaded *policies) Result {
	out := Result{Name: c.Name, Line: c.Line, Differences: []Difference{}}
	e, err := c.evaluate(ctx, read, loaded)
	if err != nil {
		out.Error = err.Error()
		return out
	}
	found, err := differences(e, c.Expect.Wanted())
	if err != nil {
		out.Error = err.Error()
		return out
	}
	for _, d := range found {
		d.Line = c.Lines[d.Key]
		out.Differences = append(out.Differences, d)
	}
	if out.Passed = len(found) == 0; !out.Passed {
		out.Why = e.Detail
	}
	return out
}

func (c *Case) evaluate(
	ctx context.Context, read func(path string) ([]byte, error), loaded *policies,
) (odrl.Evaluation, error) {
	document, err := json.Marshal(c.Policy.Value)
	if c.File != "" {
		document, err = read(c.File)
	}
	if err != nil {
		return odrl.Evaluation{}, err
	}
	p, problems := loaded.load(ctx, document, c.Lenient)
	if p == nil {
		return odrl.Evaluation{}, errors.New(refusal(problems))
	}
	request, err := json.Marshal(c.Request.Value)
	if err != nil {
		return odrl.Evaluation{}, err
	}
	q, err := odrl.ParseQuestion(request, c.Lenient) //nolint:contextcheck // its size bounds the reading
	if err != nil {
		return odrl.Evaluation{}, fmt.Errorf("request: %w", err)
	}
	world, err := json.Marshal(c.World.Value)
	if err != nil {
		return odrl.Evaluation{}, err
	}
	w, err := odrl.ParseWorldState(world)
	if err != nil {
		return odrl.Evaluation{}, fmt.Errorf("world: %w", err)
	}
	return p.Evaluate(ctx, q, w, odrl.EvaluateOptions{DutyMode: c.DutyMode})
}
