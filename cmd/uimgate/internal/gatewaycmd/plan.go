package gatewaycmd

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/intents/openapi"
)

// anyPlan is the value of --apply without an id.
const anyPlan = "any"

// A plan holds the changes that init would make: the result for one document and the files of one directory.
type plan struct {
	found    *openapi.Import
	result   *openapi.Result
	existing map[string][]byte // the files that were read
	writes   []string          // files whose content changes
	// id identifies the document, the files that were read, and the files to write.
	id       string
	policies []policyPlan // policies that have not ended; the first one is in force
}

// newPlan compares a result with the files of the directory.
func newPlan(dir string, document []byte, existing map[string][]byte, found *openapi.Import, result *openapi.Result) (*plan, error) {
	p := &plan{found: found, result: result, existing: existing}
	h := sha256.New()
	add := func(name string, data []byte) { fmt.Fprintf(h, "%s %d\n%s\n", name, len(data), data) }
	add("document", document)
	for _, name := range slices.Sorted(maps.Keys(existing)) {
		add("read "+name, existing[name])
	}
	for _, name := range slices.Sorted(maps.Keys(result.Write)) {
		data := result.Write[name]
		add("write "+name, data)
		have, err := cli.ReadNamed(pathIn(dir, name), config.MaxAgentsFile)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if err != nil || !bytes.Equal(have, data) {
			p.writes = append(p.writes, name)
		}
	}
	p.id = strings.ToLower(base32.StdEncoding.EncodeToString(h.Sum(nil)[:10]))
	return p, nil
}

// marks maps the kinds of changes to their marks in the first column.
var marks = map[openapi.ChangeKind]string{
	openapi.Added: "+", openapi.Changed: "~", openapi.Breaking: "!", openapi.Replaced: "!", openapi.Retired: "-", openapi.Revised: "-",
	openapi.Withdrawn: "-",
}

// print writes the plan for people. missing lists the work that the plan leaves to them.
func (p *plan) print(w io.Writer, dir string, missing []string) {
	if len(p.writes) == 0 {
		fmt.Fprintf(w, "%s: nothing changes\n", dir)
	} else {
		fmt.Fprintf(w, "Plan for %s:\n", dir)
	}
	for _, c := range p.result.Changes {
		fmt.Fprintf(w, "  %s %s: %s\n", marks[c.Kind], c.UID, effectOf(c))
		if c.Kind == openapi.Breaking || c.Kind == openapi.Replaced {
			for _, reason := range c.Details {
				fmt.Fprintf(w, "      breaking: %s\n", cli.Sanitize(reason))
			}
		}
	}
	for n := range p.policies {
		p.policies[n].print(w)
	}
	for _, text := range missing {
		fmt.Fprintf(w, "  ? %s\n", cli.Sanitize(text))
	}
	if len(p.writes) == 0 {
		return
	}
	fmt.Fprintf(w, "  files: %s\n", strings.Join(p.writes, ", "))
}

// effectOf describes a change in one phrase.
func effectOf(c openapi.Change) string {
	switch c.Kind {
	case openapi.Added:
		return "added: " + cli.Sanitize(strings.Join(c.Details, ", "))
	case openapi.Changed:
		return "changed: " + strings.Join(c.Details, ", ")
	case openapi.Breaking:
		return "changes in place, which breaks agents"
	case openapi.Replaced:
		return "replaced by " + c.Successor + "; " + endOf(c.RetireAfter)
	case openapi.Retired:
		text := "retired, because the document no longer has the operation; " + endOf(c.RetireAfter)
		if !c.RetireAfter.IsZero() {
			text += "; its calls fail earlier if the service no longer has the operation"
		}
		return text
	case openapi.Revised:
		return "ends at another time; " + endOf(c.RetireAfter)
	default:
		return "removed, because " + openapi.CurationFile + " hides the operation"
	}
}

func endOf(at time.Time) string {
	if at.IsZero() {
		return "it ends at once"
	}
	return "it remains callable until " + at.UTC().Format(time.RFC3339)
}

// errPlanChanged means that the document or a file of the directory has changed since the plan was made.
var errPlanChanged = errors.New("the document or the files have changed since the plan was made; nothing was written: run init again")

// confirmed reports whether --apply or the answer to a question permits init to write the plan. The error is errPlanChanged if --apply
// names another plan.
func (s *initSettings) confirmed(ctx context.Context, p *plan, stdin io.Reader, stderr io.Writer) (bool, error) {
	switch {
	case s.apply != "" && s.apply != anyPlan && s.apply != p.id:
		return false, fmt.Errorf("the plan is now %s, not %s: %w", p.id, s.apply, errPlanChanged)
	case s.apply != "":
		return true, p.unchanged(s.out)
	case s.pick == "-" || !s.ask && !cli.IsTerminal(stdin):
		fmt.Fprintf(stderr, "Nothing was written. To apply this plan, add --apply=%s; --apply alone applies whatever is planned then.\n", p.id)
		return false, nil
	}
	answer, err := s.question(stdin, stderr, "Apply this plan? y or n", "n", isYesOrNo)
	if err != nil || answer != "y" {
		fmt.Fprintln(stderr, "Nothing was written.")
		return false, err
	}
	again, err := s.plan(ctx, io.Discard)
	if err != nil {
		return false, err
	}
	if again.id != p.id {
		return false, errPlanChanged
	}
	return true, nil
}

// unchanged returns errPlanChanged if a file of the directory has changed since the plan was made.
func (p *plan) unchanged(dir string) error {
	now, err := readExisting(dir)
	if err != nil {
		return err
	}
	if !maps.EqualFunc(now, p.existing, bytes.Equal) {
		return errPlanChanged
	}
	return nil
}

// setEnds sets when intents end, from --retire-after. With this flag, earlier ends are revised.
func (s *initSettings) setEnds(now time.Time) error {
	at, err := cli.RetireAfter(s.retireAfter, now)
	if err != nil {
		return err
	}
	if s.options.Replaced, s.options.Gone = at, at; s.retireAfter != "" {
		s.options.Revise = now
	}
	return nil
}

// errNotApplied means that --serve does not start the gateway, because the files in the directory are not those of the plan.
var errNotApplied = errors.New("the gateway was not started, because the plan was not applied: add --apply, " +
	"or run uimgate serve to serve the present files")

// overrides are the settings with which init loads a configuration.
func overrides() config.Overrides {
	return config.Overrides{Blocks: blocks(), Env: os.LookupEnv}
}
