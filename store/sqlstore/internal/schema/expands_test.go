package schema

import (
	"regexp"
	"strings"
	"testing"
)

// addition matches the statements that programs of the release before do without. A column without a default is required by those.
var addition = regexp.MustCompile(`(?is)^(CREATE TABLE|CREATE INDEX|ALTER TABLE \S+ ADD COLUMN .* DEFAULT |INSERT INTO sequences )`)

func TestExpansionsOnlyAdd(t *testing.T) {
	t.Parallel()
	comment := regexp.MustCompile(`(?m)--.*$`)
	for m, err := range all() {
		if err != nil {
			t.Fatal(err)
		}
		if !m.expands {
			continue
		}
		for statement := range strings.SplitSeq(comment.ReplaceAllString(m.text, ""), ";") {
			if statement = strings.TrimSpace(statement); statement != "" && !addition.MatchString(statement) {
				t.Errorf("migration %d is not an expansion: %s", m.version, statement)
			}
		}
	}
}

// Programs of releases before Services do not read which version is needed, so none of them can go on.
func TestNeedIsRecordedFromServicesOn(t *testing.T) {
	t.Parallel()
	for m, err := range all() {
		if err == nil && m.version <= Services && m.expands {
			t.Errorf("migration %d expands, and no program of that time goes on", m.version)
		}
	}
	if lastContraction() < Services {
		t.Errorf("the last contraction is %d", lastContraction())
	}
}
