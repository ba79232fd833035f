package schema

import (
	"regexp"
	"strings"
	"testing"
)

// addition matches statements that do not affect programs of the previous release. A new column needs a default for that.
var addition = regexp.MustCompile(`(?is)^(CREATE TABLE|CREATE INDEX|ALTER TABLE \S+ ADD COLUMN .* DEFAULT |INSERT INTO sequences )`)

// unique matches a unique index, which refuses rows: only a table of the same migration, which no previous release writes, may get one.
var (
	unique = regexp.MustCompile(`(?is)^CREATE UNIQUE INDEX \S+ ON (\S+) `)
	table  = regexp.MustCompile(`(?is)^CREATE TABLE (\S+) `)
)

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
		created := map[string]bool{}
		for statement := range strings.SplitSeq(comment.ReplaceAllString(m.text, ""), ";") {
			statement = strings.TrimSpace(statement)
			if t := table.FindStringSubmatch(statement); t != nil {
				created[t[1]] = true
			}
			u := unique.FindStringSubmatch(statement)
			if statement != "" && !addition.MatchString(statement) && (u == nil || !created[u[1]]) {
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
