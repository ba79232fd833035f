// Package toolname names intents so that model APIs can call them as tools. A UID cannot be such a name: it has colons and dots, and may
// be too long. MCP 2026-07-28, server/tools, Tool Names.
package toolname

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/uimgate/uimgate/intents"
)

// Max bounds a name, in bytes. Model APIs allow 64, and clients put a name of the server in front.
const Max = 48

// Digits of SHA-256(uid), in hex: of an ordinary suffix, and of one if two names with ordinary suffixes are equal.
const (
	digits     = 6
	moreDigits = 32
)

// Names returns the intents by their tool names: <name>_<version> with hyphens for dots, such as find-products_v1, at most Max of
// [A-Za-z0-9_-]. A longer name is cut and ends with a hyphen and 6 hex digits of SHA-256(uid). The same holds for all versions of an
// intent whose name occurs in more than one namespace. So a name depends on the UID and on the other intents, never on which versions
// they have: a new version renames no tool. The order of the UIDs does not matter; repeated ones count once; the zero UID is left out.
func Names(uids []intents.UID) map[string]intents.UID {
	namespace := map[string]string{} // of the intents with a name
	several := map[string]bool{}     // names in more than one namespace
	for _, uid := range uids {
		if first, ok := namespace[uid.Name]; ok && first != uid.Namespace {
			several[uid.Name] = true
		}
		namespace[uid.Name] = uid.Namespace
	}
	short := map[string]map[intents.UID]bool{}
	for _, uid := range uids {
		if uid == (intents.UID{}) {
			continue
		}
		name := plain(uid)
		if len(name) > Max || several[uid.Name] {
			name = suffixed(name, uid.String(), digits)
		}
		if short[name] == nil {
			short[name] = map[intents.UID]bool{}
		}
		short[name][uid] = true
	}
	out := make(map[string]intents.UID, len(uids))
	for name, same := range short {
		for uid := range same {
			if len(same) == 1 {
				out[name] = uid
			} else {
				out[suffixed(plain(uid), uid.String(), moreDigits)] = uid
			}
		}
	}
	return out
}

// maxLabel bounds a label, in bytes, so that it leaves space for the name.
const maxLabel = 20

// Under prepends a label, such as the host of a service, to names that Names returned: shop-example_find-products_v1. The label becomes
// lowercase letters, digits and hyphens; label and names are cut, like those of Names, so that they fit in Max.
func Under(label string, names map[string]intents.UID) map[string]intents.UID {
	text := strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(label)), "-")
	if len(text) > maxLabel {
		const digits = 4
		sum := sha256.Sum256([]byte(label))
		text = text[:maxLabel-1-digits] + "-" + hex.EncodeToString(sum[:])[:digits]
	}
	out := make(map[string]intents.UID, len(names))
	for name, uid := range names {
		full := text + "_" + name
		if len(full) > Max {
			full = suffixed(full, label+" "+uid.String(), digits)
		}
		if _, taken := out[full]; taken {
			full = suffixed(text+"_"+name, label+" "+uid.String(), moreDigits)
		}
		out[full] = uid
	}
	return out
}

func plain(uid intents.UID) string {
	return uid.Name + "_" + strings.ReplaceAll(uid.Version, ".", "-")
}

// suffixed cuts a name so that a hyphen and this many hex digits of the SHA-256 of its UID fit behind it.
func suffixed(name, of string, digits int) string {
	sum := sha256.Sum256([]byte(of))
	return name[:min(len(name), Max-1-digits)] + "-" + hex.EncodeToString(sum[:])[:digits]
}
