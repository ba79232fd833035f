package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra/doc"
)

var manDir = flag.String("man", "", "write the manual pages into this directory")

// Every command has a manual page. Releases generate the pages here, so the program does not contain the library for them.
func TestManualPages(t *testing.T) {
	t.Parallel()
	dir := *manDir
	if dir == "" {
		dir = t.TempDir()
	}
	root := rootCommand()
	root.DisableAutoGenTag = true
	// SOURCE_DATE_EPOCH sets the date of the pages.
	header := &doc.GenManHeader{Section: "1", Source: "uimgate", Manual: "uimgate manual"}
	if err := doc.GenManTree(root, header, dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"uimgate.1", "uimgate-serve.1", "uimgate-agent-execute.1"} {
		page, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, section := range []string{".SH NAME", ".SH SYNOPSIS", ".SH EXAMPLE"} {
			if !strings.Contains(string(page), section) {
				t.Errorf("%s has no %s", name, section)
			}
		}
	}
}
