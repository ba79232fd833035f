package intents

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/internal/regex"
)

// A UID identifies one version of one intent: namespace:intent-name:version. UIDs are comparable. The zero UID identifies no intent;
// ParseUID creates all others. See UIM core, section 1.2.
type UID struct {
	Namespace string // the provider's DNS name, lower case, at most 253 bytes
	Name      string // at most 100 bytes
	Version   string // v1, v2.1 or v1.2.3
}

// ErrUID means that a string is not the UID of an intent.
var ErrUID = errors.New("want namespace:intent-name:version such as example.com:search-products:v1")

// maxUID is the maximum length of a UID, in bytes.
const maxUID = 400

var (
	namespaceForm = regex.Lazy(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$`)
	nameForm      = regex.Lazy(`^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$`)
	versionForm   = regex.Lazy(`^v(0|[1-9][0-9]{0,8})(\.(0|[1-9][0-9]{0,8})){0,2}$`)
)

// ParseUID parses a UID. It also accepts names outside the canonical alphabet that occur in practice (searchProducts, search_products):
// see Canonical. The error wraps ErrUID.
func ParseUID(s string) (UID, error) {
	if len(s) > maxUID {
		return UID{}, fmt.Errorf("the UID has %d bytes; the maximum is %d: %w", len(s), maxUID, ErrUID)
	}
	parts := strings.Split(s, ":")
	if len(parts) != 3 {
		return UID{}, fmt.Errorf("%q has %d parts: %w", s, len(parts), ErrUID)
	}
	u := UID{parts[0], parts[1], parts[2]}
	switch {
	case len(u.Namespace) > 253 || !namespaceForm().MatchString(u.Namespace):
		return UID{}, fmt.Errorf("the namespace of %q is not a lowercase DNS name: %w", s, ErrUID)
	case !nameForm().MatchString(u.Name):
		return UID{}, fmt.Errorf("the name in %q must consist of 1 to 100 letters, digits and hyphens: %w", s, ErrUID)
	case !versionForm().MatchString(u.Version):
		return UID{}, fmt.Errorf("the version of %q is not like v1, v2.1 or v1.2.3: %w", s, ErrUID)
	}
	return u, nil
}

// Canonical reports whether the name uses only the characters of UIM core 1.2: a-z, 0-9 and the hyphen.
func (u UID) Canonical() bool {
	return u.Name != "" && !strings.ContainsFunc(u.Name, func(r rune) bool { return r == '_' || r >= 'A' && r <= 'Z' })
}

// String returns the UID in the form that ParseUID parses. It is empty for the zero UID.
func (u UID) String() string {
	if u == (UID{}) {
		return ""
	}
	return u.Namespace + ":" + u.Name + ":" + u.Version
}

// MarshalText returns the result of String.
func (u UID) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalText parses a UID as ParseUID does, but also accepts empty text, which is the zero UID.
func (u *UID) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*u = UID{}
		return nil
	}
	parsed, err := ParseUID(string(text))
	if err != nil {
		return err
	}
	*u = parsed
	return nil
}

// Compare orders UIDs by namespace, then by name, and then by version. It compares versions number by number: v2 comes before v10, and v1
// before v1.0.
func (u UID) Compare(o UID) int {
	return cmp.Or(cmp.Compare(u.Namespace, o.Namespace), cmp.Compare(u.Name, o.Name), compareVersions(u.Version, o.Version))
}

func compareVersions(a, b string) int {
	as, bs := strings.Split(strings.TrimPrefix(a, "v"), "."), strings.Split(strings.TrimPrefix(b, "v"), ".")
	for i := range min(len(as), len(bs)) {
		// ParseUID accepts at most nine digits, so Atoi cannot fail.
		x, _ := strconv.Atoi(as[i])
		y, _ := strconv.Atoi(bs[i])
		if c := cmp.Compare(x, y); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(as), len(bs))
}
