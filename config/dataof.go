package config

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/uimgate/uimgate/internal/regex"
)

// dataLine matches the line with the key "data" in a configuration that cannot be loaded.
var dataLine = regex.Lazy(`(?m)^data:[ \t]+("[^"\n]*"|'[^'\n]*'|[^#\n]+)`)

// DataOf returns the data directory of the configuration at path, which cannot be loaded: the value of UIMGATE_DATA; otherwise the value on
// the line with the key "data"; otherwise the default next to the file. The directory need not exist.
func DataOf(path string) string {
	if dir := os.Getenv(variables["--data"]); dir != "" {
		return dir
	}
	dir := "data"
	if text, err := os.ReadFile(path); err == nil {
		if m := dataLine().FindSubmatch(text); m != nil {
			dir = strings.Trim(strings.TrimSpace(string(m[1])), `"'`)
		}
	}
	if filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(filepath.Dir(path), dir)
}
