package openapi

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"unicode"

	"github.com/uimgate/uimgate/internal/regex"
)

const maxName = 80 // characters of an intent's name

// kebab converts a name in any style to the characters that UIM core 1.2 permits in names: listHTTPServers, list_http_servers and "List
// HTTP servers" all become list-http-servers. The result is empty if the name has no ASCII letters and digits.
func kebab(s string) string {
	var b strings.Builder
	runes := []rune(s)
	for i, r := range runes {
		isLetter := r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r))
		switch {
		case !isLetter:
			if b.Len() > 0 && !strings.HasSuffix(b.String(), "-") {
				b.WriteByte('-')
			}
		case unicode.IsUpper(r):
			afterLower := i > 0 && runes[i-1] < 0x80 && (unicode.IsLower(runes[i-1]) || unicode.IsDigit(runes[i-1]))
			beforeLower := i > 0 && i+1 < len(runes) && unicode.IsUpper(runes[i-1]) && unicode.IsLower(runes[i+1])
			if (afterLower || beforeLower) && b.Len() > 0 {
				b.WriteByte('-')
			}
			b.WriteRune(unicode.ToLower(r))
		default:
			b.WriteRune(r)
		}
		if b.Len() > 4*maxName {
			break
		}
	}
	return strings.Trim(b.String(), "-")
}

// title converts a name such as list-http-servers to an intent_name: ListHttpServers.
func title(name string) string {
	var b strings.Builder
	for word := range strings.SplitSeq(name, "-") {
		if word != "" {
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return b.String()
}

var pathParameter = regex.Lazy(`\{([^{}]*)\}`)

// operationName derives the name of an operation from its operationId or, if that contains no ASCII letters and digits, from its method and
// path. The result has at most maxName characters.
func operationName(operationID, method, path string) string {
	name := kebab(operationID)
	if name == "" {
		name = kebab(method + " " + pathParameter().ReplaceAllString(path, " by $1 "))
	}
	if len(name) > maxName {
		name = strings.TrimRight(name[:maxName-7], "-") + "-" + short(name)
	}
	return name
}

// short returns six hexadecimal digits of a digest of s. They distinguish names that would otherwise be equal.
func short(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:3])
}

var leadingNumbers = regex.Lazy(`^[vV]?([0-9]{1,9})(?:[.\-]([0-9]{1,9}))?`)

// versionOf converts the version of a document to the version of its intents: 1.0.5 to v1, 1.2.1 to v1.2, and text without a number to
// v1. A date, such as 2020-09-14 or 2024.5, also becomes v1, because otherwise each new date would replace all intents.
func versionOf(s string) string {
	m := leadingNumbers().FindStringSubmatch(strings.TrimSpace(s))
	if m == nil || isYear(m[1]) {
		return "v1"
	}
	out := "v" + noZeros(m[1])
	if minor := noZeros(m[2]); minor != "0" {
		out += "." + minor
	}
	return out
}

var yearFirst = regex.Lazy(`^(19|20)[0-9]{2}([0-9]{2}([0-9]{2})?)?$`)

// isYear reports whether the first number of a version is a year, or a year with month and day.
func isYear(number string) bool { return yearFirst().MatchString(number) }

func noZeros(s string) string {
	if s = strings.TrimLeft(s, "0"); s == "" {
		return "0"
	}
	return s
}

// major returns the major version, such as v1 of v1.2: changes within it are compatible.
func major(version string) string {
	m, _, _ := strings.Cut(version, ".")
	return m
}

// majorNumber returns the number in the major version, or 0 if it has none.
func majorNumber(version string) int {
	n, err := strconv.Atoi(strings.TrimPrefix(major(version), "v"))
	if err != nil {
		return 0
	}
	return n
}
