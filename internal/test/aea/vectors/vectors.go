// Package aeavectors has test vectors of the two implementations of the AEA framework, and messages as the official library of Protocol
// Buffers encodes them. It is apart from package aeatest, whose connections make the binaries of tests larger.
package aeavectors

import (
	"encoding/hex"
	"os"
	"strings"
	"testing"
)

// Vectors returns the vectors under a prefix, such as message/, by the rest of their names. file is the path to
// internal/wire/aea/testdata/vectors.txt. Vectors ends the test if the prefix has no vectors.
func Vectors(tb testing.TB, file, prefix string) map[string][]byte {
	tb.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	found := map[string][]byte{}
	for line := range strings.Lines(string(text)) {
		name, digits, _ := strings.Cut(strings.TrimRight(line, "\n"), " ")
		rest, ok := strings.CutPrefix(name, prefix)
		if !ok {
			continue
		}
		if found[rest], err = hex.DecodeString(digits); err != nil {
			tb.Fatal(name, err)
		}
	}
	if len(found) == 0 {
		tb.Fatal("no vectors under " + prefix)
	}
	return found
}

// Vector returns one vector.
func Vector(tb testing.TB, file, name string) []byte {
	tb.Helper()
	at := strings.LastIndexByte(name, '/') + 1
	v, ok := Vectors(tb, file, name[:at])[name[at:]]
	if !ok {
		tb.Fatal("no vector " + name)
	}
	return v
}
