package cli

import (
	"testing"
)

func TestProgram(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"uimgate":                           "uimgate",
		"./uimgate":                         "./uimgate",
		"bin/uimgate":                       "bin/uimgate",
		"../uimgate":                        "../uimgate",
		"/usr/bin/uimgate":                  "/usr/bin/uimgate",
		"/my tools/u'i":                     `'/my tools/u'\''i'`,
		"/tmp/go-build123/b001/exe/uimgate": "go run ./cmd/uimgate",
		"/home/a/.cache/go-build/ab/abcd-d/uimgate": "go run ./cmd/uimgate",
	} {
		if got := Program(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
