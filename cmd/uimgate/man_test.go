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

// Every command has a manual page. Releases take the pages from here, so that the program does not carry the library that writes them.
func TestManualPages(t *testing.T) {
	t.Parallel()
	dir := *manDir
	if dir == "" {
		dir = t.TempDir()
	}
	root := rootCommand()
	root.DisableAutoGenTag = true
	// The date of the pages is that of SOURCE_DATE_EPOCH, if it is set.
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
