package model

import (
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/text/language"

	"github.com/uimgate/uimgate/internal/regex"
)

// regionNamespaces are the namespaces, without their scheme, whose IRIs end in an ISO 3166 code.
var regionNamespaces = []string{
	"publications.europa.eu/resource/authority/country/", "www.itu.int/tML/tML-ISO-3166:",
	"cvx.iptc.org/iso3166-1a2:", "cvx.iptc.org/iso3166-1a3:",
	"cvx.iptc.org/iso3166-1a2/", "cvx.iptc.org/iso3166-1a3/",
	"www.iso.org/obp/ui/#iso:code:3166:", "www.iso.org/obp/ui#iso:code:3166:", "lexvo.org/id/iso3166/",
	"downlode.org/rdf/iso-3166/countries#",
}

// languageNamespaces are the namespaces, without their scheme, whose IRIs end in an ISO 639 code.
var languageNamespaces = []string{
	"publications.europa.eu/resource/authority/language/", "id.loc.gov/vocabulary/iso639-1/", "id.loc.gov/vocabulary/iso639-2/",
	"lexvo.org/id/iso639-1/", "lexvo.org/id/iso639-3/",
	"cvx.iptc.org/iso639-1/", "cvx.iptc.org/iso639-1:",
}

// countryNames are the names of countries in Wikidata and DBpedia that policies often use.
var countryNames = func() map[string]string {
	m := map[string]string{}
	for line := range strings.Lines(`AR Q414 Argentina
AT Q40 Austria
AU Q408 Australia
BE Q31 Belgium
BG Q219 Bulgaria
BR Q155 Brazil
CA Q16 Canada
CH Q39 Switzerland
CL Q298 Chile
CN Q148 China
CY Q229 Cyprus
CZ Q213 Czech_Republic
DE Q183 Germany
DK Q35 Denmark
EE Q191 Estonia
EG Q79 Egypt
ES Q29 Spain
FI Q33 Finland
FR Q142 France
GB Q145 United_Kingdom
GR Q41 Greece
HR Q224 Croatia
HU Q28 Hungary
IE Q27 Ireland
IL Q801 Israel
IN Q668 India
IS Q189 Iceland
IT Q38 Italy
JP Q17 Japan
KR Q884 South_Korea
LT Q37 Lithuania
LU Q32 Luxembourg
LV Q211 Latvia
MT Q233 Malta
MX Q96 Mexico
NL Q55 Netherlands
NO Q20 Norway
NZ Q664 New_Zealand
PL Q36 Poland
PT Q45 Portugal
RO Q218 Romania
SE Q34 Sweden
SG Q334 Singapore
SI Q215 Slovenia
SK Q214 Slovakia
TR Q43 Turkey
UA Q212 Ukraine
US Q30 United_States
ZA Q258 South_Africa`) {
		f := strings.Fields(line)
		for _, name := range []string{
			"www.wikidata.org/wiki/" + f[1], "www.wikidata.org/entity/" + f[1], "wikidata.org/wiki/" + f[1], "wikidata.org/entity/" + f[1],
			"dbpedia.org/resource/" + f[2], "dbpedia.org/page/" + f[2], "en.wikipedia.org/wiki/" + f[2],
		} {
			m[name] = f[0]
		}
	}
	return m
}()

var (
	regionForm   = regex.Lazy(`^[A-Za-z]{2}(-[A-Za-z0-9]{1,3})?$`)       // ISO 3166-1 alpha-2, ISO 3166-2
	alpha3Form   = regex.Lazy(`^[A-Z]{3}$`)                              // ISO 3166-1 alpha-3
	languageForm = regex.Lazy(`^[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8}){0,8}$`) // BCP 47
	hostForm     = regex.Lazy(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]\.?$`)
)

// regionGroups look like ISO 3166-1 codes but are groups of countries, whose members are not listed here.
var regionGroups = []string{"EU", "EZ", "UN"}

// A codeScheme encodes texts as codes that show containment: the code of a part continues the code of the whole after a hyphen.
type codeScheme struct{ read func(string) (string, bool) }

// The schemes for regions, languages and locations on the network.
var (
	regions   = codeScheme{region}
	languages = codeScheme{tongue}
	networks  = codeScheme{network}
)

// code returns the code that s denotes. It returns false if s is not a code of the operand.
func (o *Operand) code(s string) (string, bool) {
	if o.Codes == nil {
		return "", false
	}
	return o.Codes.read(s)
}

// inNamespace returns the part after the namespace in an IRI of one of the namespaces, or s itself if s is not an IRI. It returns false for
// all other IRIs.
func inNamespace(s string, namespaces []string) (string, bool) {
	rest, web := Bare(s)
	if !web {
		return s, !strings.Contains(s, ":")
	}
	for _, ns := range namespaces {
		if name, ok := strings.CutPrefix(rest, ns); ok {
			return name, true
		}
	}
	return "", false
}

// region reads ISO 3166-1 and 3166-2 codes, and the IRIs of countries.
func region(s string) (string, bool) {
	if rest, web := Bare(s); web && countryNames[rest] != "" {
		return countryNames[rest], true
	}
	name, ok := inNamespace(s, regionNamespaces)
	if !ok {
		return "", false
	}
	if alpha3Form().MatchString(name) && name != s { // outside an IRI, three capital letters may mean anything
		if r, err := language.ParseRegion(name); err == nil && r.IsCountry() {
			name = r.String()
		}
	}
	name = strings.ToUpper(name)
	return name, regionForm().MatchString(name) && !slices.Contains(regionGroups, name)
}

// tongue reads BCP 47 language tags and the IRIs of languages.
func tongue(s string) (string, bool) {
	name, ok := inNamespace(s, languageNamespaces)
	if !ok || !languageForm().MatchString(name) {
		return "", false
	}
	base, rest, _ := strings.Cut(name, "-")
	if b, err := language.ParseBase(base); err == nil && len(base) == 3 {
		base = b.String() // the shorter code if there is one, BCP 47 2.2.1
	}
	if rest != "" {
		base += "-" + rest
	}
	return strings.ToUpper(base), true
}

// network parses an IP address, a CIDR range, or a domain name. Addresses are encoded bit by bit and names from their end, so that a
// range contains its addresses and a domain its hosts.
func network(s string) (string, bool) {
	if p, err := netip.ParsePrefix(s); err == nil {
		if a := p.Addr().Unmap(); a.BitLen() == p.Addr().BitLen() {
			return bits(p.Masked().Addr(), p.Bits()), true
		}
		return "", false
	}
	if a, err := netip.ParseAddr(s); err == nil && a.Zone() == "" {
		a = a.Unmap()
		return bits(a, a.BitLen()), true
	}
	name := strings.ToLower(s)
	const longest = 253
	if len(name) > longest || !hostForm().MatchString(name) {
		return "", false
	}
	labels := strings.Split(strings.TrimSuffix(name, "."), ".")
	slices.Reverse(labels)
	for i, label := range labels {
		labels[i] = strings.ReplaceAll(label, "-", "_") // hostForm excludes underscores, so labels stay distinct
	}
	return domainCode + strings.ToUpper(strings.Join(labels, "-")), true
}

// domainCode is the prefix of the code of a domain name.
const domainCode = "DNS-"

// Networked reports whether the values are locations on the network: addresses, ranges of addresses, and domain names.
func (o *Operand) Networked() bool { return o.Codes == &networks }

// IsRange reports whether s is a range of addresses.
func (o *Operand) IsRange(s string) bool {
	p, err := netip.ParsePrefix(s)
	return o.Networked() && err == nil && !p.IsSingleIP()
}

func bits(a netip.Addr, n int) string {
	var b strings.Builder
	b.WriteString("IP4")
	if a.Is6() {
		b.Reset()
		b.WriteString("IP6")
	}
	raw := a.AsSlice()
	for i := range n {
		b.WriteByte('-')
		b.WriteByte('0' + raw[i/8]>>(7-i%8)&1)
	}
	return b.String()
}
