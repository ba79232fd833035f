package yamlconf

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"
)

func lookup(name string) (string, bool) {
	v, ok := map[string]string{"A": "1", "EMPTY": "", "DOLLAR": "${A}", "BIG": strings.Repeat("x", 40<<10)}[name]
	return v, ok
}

func content(path string) (string, error) {
	if path == "secret" {
		return "s", nil
	}
	return "", errors.New("no such file")
}

func TestExpand(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "plain": "plain", "$": "$", "$$": "$$", "$A": "$A", "a}b": "a}b",
		"${A}": "1", "x${A}y${A}z": "x1y1z", "${B:-d}": "d", "${EMPTY:-d}": "d", "${EMPTY}": "", "${A:-d}": "1", "${B:-}": "",
		"${B:-a:-b}": "a:-b",
		"$${A}":      "${A}", "$$${A}": "$${A}", "$${": "${", "${DOLLAR}": "${A}", "${file:secret}": "s", "${file:-d}": "d",
		"a${file:secret}b${B:-c}": "asbc",
	} {
		if got, err := expand(in, lookup, content); err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", in, got, err, want)
		}
	}
	for in, want := range map[string]string{
		"${B}": "variable B is not set", "${A": "without }", "${}": "not contain a variable name", "${a-b}": "not contain a variable name", "${file:}": "no such file",
		"${ A}":        "not contain a variable name",
		"${BIG}${BIG}": "larger than 65536 bytes", "${1}": "not contain a variable name", "${" + strings.Repeat("A", 200) + "}": "not contain a variable name",
	} {
		if got, err := expand(in, lookup, content); err == nil || got != "" || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %q, %v; want %q", in, got, err, want)
		}
	}
}

func FuzzExpand(f *testing.F) {
	for _, s := range []string{"${A}", "$${A}", "x${B:-y}z", "${file:secret}", "$$${", "${", "$}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got, err := expand(s, lookup, content); err != nil && got != "" {
			t.Fatal("got both an error and a value")
		} else if err == nil && !strings.Contains(s, "${") && got != s {
			t.Fatalf("%q became %q", s, got)
		}
		// For every text, expand reverses the escaping.
		if got, err := expand(strings.ReplaceAll(s, "${", "$${"), lookup, content); len(s) <= MaxValue && (err != nil || got != s) {
			t.Fatalf("%q escaped became %q, %v", s, got, err)
		}
	})
}

func TestParseSize(t *testing.T) {
	for in, want := range map[string]int64{
		"0": 0, "1048576": 1 << 20, "1MiB": 1 << 20, "1 MiB": 1 << 20, "1.5KiB": 1536, "1kB": 1000, "2M": 2_000_000, "7EiB": 7 << 60,
		"": -1, "-1": -1, "MiB": -1, "1,000": -1, "1 Mio": -1, "8EiB": -1, "99999EB": -1, "0x10": -1, "1e3": -1, "NaN": -1, "+1": -1,
	} {
		got, err := parseSize(in)
		if want < 0 && (err == nil || got != 0) || want >= 0 && (err != nil || got != want) {
			t.Errorf("%q: %d, %v; want %d", in, got, err, want)
		}
	}
}

func FuzzSize(f *testing.F) {
	for _, s := range []string{"1MiB", "8EiB", "1.5 kB", "0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := parseSize(s)
		if err != nil {
			if n != 0 {
				t.Fatal("got both an error and a value")
			}
			return
		}
		if again, err := parseSize(strconv.FormatInt(n, 10)); n < 0 || n < 1<<53 && (err != nil || again != n) {
			t.Fatalf("%q: %d, then %d", s, n, again)
		}
	})
}

func TestParseDuration(t *testing.T) {
	for in, want := range map[string]time.Duration{
		"0": 0, "0s": 0, "30s": 30 * time.Second, "1h30m": 90 * time.Minute, "400d": 400 * day, "1d12h": 36 * time.Hour, "1.5h": 90 * time.Minute,
		"": -1, "30": -1, "-1s": -1, "1d-1h": -1, "d": -1, "1.5d": -1, "1w": -1, "999999d": -1, "1d999999999h": -1, "1h1d": -1,
		"+1s": -1, "1d+1s": -1,
	} {
		got, err := parseDuration(in)
		if want < 0 && (err == nil || got != 0) || want >= 0 && (err != nil || got != want) {
			t.Errorf("%q: %v, %v; want %v", in, got, err, want)
		}
	}
}

func FuzzDuration(f *testing.F) {
	for _, s := range []string{"1d12h", "400d", "1h30m", "0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := parseDuration(s)
		if err != nil {
			if d != 0 {
				t.Fatal("got both an error and a value")
			}
			return
		}
		if again, err := parseDuration(d.String()); err != nil || again != d || d < 0 {
			t.Fatalf("%q: %v, then %v, %v", s, d, again, err)
		}
	})
}
