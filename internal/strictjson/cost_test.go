package strictjson_test

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/internal/strictjson"
)

// Cost is never less than the memory that a tree takes. For trees of small values, which take the most memory, it is not many times more.
func TestCostBoundsAllocationsOfDecoding(t *testing.T) {
	members := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"m%d":%d,`, i, i)
		}
		return "{" + b.String() + `"last":null}`
	}
	many := func(item string) string { return "[" + strings.Repeat(item+",", 20_000) + item + "]" }
	for name, test := range map[string]struct {
		document string
		slack    float64 // maximum factor by which Cost may be higher
	}{
		"empty objects":     {many("{}"), 6},
		"spaced objects":    {many("{ }"), 12},
		"small objects":     {many(`{"":0}`), 6},
		"full objects":      {many(members(7)), 6},
		"objects that grew": {many(members(8)), 6},
		"large objects":     {"[" + members(20_000) + "," + members(100_000) + "]", 6},
		"empty arrays":      {many("[]"), 6},
		"small arrays":      {many("[0]"), 6},
		"arrays of arrays":  {many("[[[[[[[[[[]]]]]]]]]]"), 6},
		"numbers":           {many("0"), 6},
		"long numbers":      {many("123456789012345678"), 6},
		"texts":             {many(`"a"`), 6},
		"long texts":        {many(`"` + strings.Repeat("a", 100) + `"`), 6},
		"escaped texts":     {many(`"\u0041\n\\"`), 6},
		"literals":          {many("null,true,false"), 6},
		"one text":          {`"` + strings.Repeat("a", 1<<20) + `"`, 6},
		"one long name":     {`{"` + strings.Repeat("a", 1<<20) + `":1}`, 6},
		"nothing":           {"0", 1000},
	} {
		t.Run(name, func(t *testing.T) {
			data := []byte(test.document)
			cost, taken := strictjson.Cost(data), int64(math.MaxInt64)
			tries := 8 // pooled objects are allocated again after a pool was emptied, which the race detector does at random
			if cost > 1<<24 {
				tries = 2 // they are negligible compared with such a document
			}
			for range tries {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				tree, err := strictjson.Decode(data)
				runtime.ReadMemStats(&after)
				if err != nil || tree == nil {
					t.Fatal(err)
				}
				taken = min(taken, int64(after.TotalAlloc-before.TotalAlloc))
			}
			t.Logf("%d bytes: counted %d, taken %d, %.1f times", len(data), cost, taken, float64(cost)/float64(taken))
			if taken > cost {
				t.Errorf("decoding %d bytes took %d, more than the %d that were counted", len(data), taken, cost)
			}
			if float64(cost) > test.slack*float64(taken) {
				t.Errorf("counted %d, more than %g times the %d that decoding took", cost, test.slack, taken)
			}
		})
	}
}
