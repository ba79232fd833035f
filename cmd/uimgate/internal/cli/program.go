package cli

import (
	"path/filepath"
	"regexp"
	"strings"
)

// Program returns the words with which a shell starts this program again, for commands that are printed. name is os.Args[0].
func Program(name string) string {
	for part := range strings.SplitSeq(filepath.ToSlash(name), "/") {
		if strings.HasPrefix(part, "go-build") { // the directory is in the build cache, or is the temporary directory of go run
			return "go run ./cmd/uimgate"
		}
	}
	if !plainWord.MatchString(name) {
		name = "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
	}
	return name
}

// plainWord matches words that a shell takes literally.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./-]+$`)
