package words_test

import (
	"flag"
	"os"
	"testing"

	odrltest "github.com/uimgate/uimgate/internal/test/odrl"
)

var update = flag.Bool("update", false, "write the results of the tests to the golden files")

var world, homes, publish, policy, leaf = odrltest.World, odrltest.Homes, odrltest.Publish, odrltest.Policy, odrltest.Leaf

func read(tb testing.TB, name string) []byte {
	tb.Helper()
	doc, err := os.ReadFile(name)
	if err != nil {
		tb.Fatal(err)
	}
	return doc
}

type list = []any
