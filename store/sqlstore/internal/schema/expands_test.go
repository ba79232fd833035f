package schema

import (
	"regexp"
	"strings"
	"testing"
)

// addition matches statements that do not affect programs of the previous release. A new column needs a default for that.
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

// Releases before Services do not read the required version, so none of them can continue after a migration.
func TestNeedIsRecordedFromServicesOn(t *testing.T) {
	t.Parallel()
	for m, err := range all() {
		if err == nil && m.version <= Services && m.expands {
			t.Errorf("migration %d is an expansion, but releases of that time stop", m.version)
		}
	}
	if lastContraction() < Services {
		t.Errorf("the last contraction is %d, want at least %v", lastContraction(), Services)
	}
}
