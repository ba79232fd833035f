package membudget

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

const ours = "/usr/bin/uimgate"

// region returns a mapping in the format of the kernel, with fields that replace the default ones.
func region(header string, fields ...string) string {
	out := header + "\n"
	replaced := map[string]string{}
	for _, f := range fields {
		name, _, _ := strings.Cut(f, ":")
		replaced[name] = f
	}
	for _, f := range []string{
		"Size:                  8 kB", "KernelPageSize:        4 kB", "Rss:                   8 kB", "Pss:                   8 kB",
		"Private_Dirty:         0 kB", "Anonymous:             0 kB", "Swap:                  0 kB", "SwapPss:               0 kB",
		"Locked:                0 kB", "THPeligible:           0", "VmFlags: rd ex mr mw me sd",
	} {
		name, _, _ := strings.Cut(f, ":")
		if instead, ok := replaced[name]; ok {
			f = instead
		}
		if f != name { // a bare name removes the field
			out += f + "\n"
		}
	}
	return out
}

const (
	text    = "00400000-00402000 r-xp 00000000 fe:00 262                        " + ours
	relro   = "00600000-00602000 r--p 00200000 fe:00 262                        " + ours
	data    = "00700000-00702000 rw-p 00300000 fe:00 262                        " + ours
	library = "7f0000000000-7f0000002000 r-xp 00000000 fe:00 263                /usr/lib/libc.so.6"
	heap    = "c000000000-c000400000 r--p 00000000 00:00 0 "
)

func TestUnchangedMappings(t *testing.T) {
	first, second := mapping{0x400000, 0x402000, 8 << 10}, mapping{0x600000, 0x602000, 8 << 10}
	for name, test := range map[string]struct {
		smaps string
		want  []mapping
	}{
		"nothing":                   {"", nil},
		"our file":                  {region(text) + region(relro), []mapping{first, second}},
		"others beside it":          {region(library) + region(text) + region(heap), []mapping{first}},
		"a writable mapping":        {region(data), nil},
		"private pages":             {region(text) + region(relro, "Anonymous:   4 kB"), []mapping{first}},
		"swapped out":               {region(relro, "Swap:   4 kB") + region(text), []mapping{first}},
		"locked":                    {region(text, "Locked:   8 kB"), nil},
		"without Locked":            {region(text, "Locked"), nil},
		"without Swap":              {region(text, "Swap"), nil},
		"without Rss":               {region(text, "Rss"), nil},
		"a size without unit":       {region(text, "Anonymous: 0"), nil},
		"a negative size":           {region(text, "Swap: -1 kB"), nil},
		"a huge size":               {region(text, "Rss: 9223372036854775807 kB"), nil},
		"a field twice":             {region(text, "Swap: 0 kB\nSwap: 0 kB"), nil},
		"a field twice, one absent": {region(text, "Swap: 0 kB\nSwap: 0 kB", "Locked"), nil},
		"an end in the middle":      {region(text)[:strings.Index(region(text), "Swap")], nil},
		"removed file":              {region(text + " (deleted)"), nil},
		"another of that name":      {region(strings.Replace(text, ours, "/tmp"+ours, 1)), nil},
		"a name that goes on":       {region(text + "\\012x"), nil},
		"an end before the begin":   {region(strings.Replace(text, "00402000", "00300000", 1)), nil},
		"invalid addresses":         {region(strings.Replace(text, "00402000", "x", 1)) + region(strings.Replace(text, "00400000", "x", 1)), nil},
		"invalid permissions":       {region(strings.Replace(text, "r-xp", "rxp", 1)), nil},
		// The lines after a first line that cannot be parsed do not belong to the mapping above.
		"fewer words in a first line": {region(text, "Anonymous") + "7f0000000000-7f0000002000 rw-p 00000000 00:00 0\nAnonymous: 0 kB\n", nil},
		"an unknown line":             {region(text) + "?\n" + region(data)[len(data)+1:], []mapping{first}},
		"fields without a first line": {region("")[1:], nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := unchangedMappings(strings.NewReader(test.smaps), ours)
			if err != nil || !cmp.Equal(got, test.want, cmp.AllowUnexported(mapping{})) {
				t.Errorf("%+v, %v, want %+v", got, err, test.want)
			}
		})
	}
}

func TestUnreadableMappings(t *testing.T) {
	broken := errors.New("broken")
	for name, smaps := range map[string]io.Reader{
		"an error":    io.MultiReader(strings.NewReader(region(text)), iotest.ErrReader(broken)),
		"a long line": strings.NewReader(region(text) + strings.Repeat("x", 1<<17)),
	} {
		if got, err := unchangedMappings(smaps, ours); err == nil || got != nil {
			t.Errorf("%s: %+v, %v, want an error", name, got, err)
		}
	}
}

// For any input, a mapping is returned only if its first line names the file and has a non-empty range.
func FuzzUnchangedMappings(f *testing.F) {
	f.Add(region(text) + region(relro, "Swap: 4 kB") + region(data) + region(library) + region(heap))
	f.Add(region(text, "Anonymous") + "7f00-7f01 rw-p 0 0 0\nAnonymous: 0 kB\n")
	f.Fuzz(func(t *testing.T, smaps string) {
		got, err := unchangedMappings(strings.NewReader(smaps), ours)
		if err != nil && got != nil {
			t.Error("got both mappings and an error")
		}
		if n := strings.Count(smaps, ours); len(got) > n {
			t.Errorf("%d mappings, and %d lines that name the file", len(got), n)
		}
		for _, m := range got {
			if m.to <= m.from || m.resident < 0 {
				t.Errorf("got %+v; want to more than %v and resident at least 0", m, m.from)
			}
		}
	})
}
