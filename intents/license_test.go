package intents_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/intents"
)

func TestLicenseNames(t *testing.T) {
	for in, want := range map[string]string{
		"https://uimprotocol.com/licenses/uim-by-nc-v1.0":  "UIM-BY-NC-v1.0",
		"https://uimprotocol.com/licenses/uim-by-nc-v1.0/": "UIM-BY-NC-v1.0",
		"UIM-BY-v1":                         "UIM-BY-v1",
		"uim-pd-v1.0":                       "UIM-PD-v1.0",
		"UIM-CC0-v1.0":                      "UIM-CC0-v1.0",
		"UIM-BY-SA-NC-v1.0":                 "UIM-BY-NC-SA-v1.0",
		"Open-D-UIM-BY-v1.0":                "Open-D-UIM-BY-v1.0",
		"open-uim-by-v1.0":                  "Open-UIM-BY-v1.0",
		"spmad-uim-by-v1.0":                 "DAMPS-UIM-BY-v1.0",
		"a-uim-by-nd-io-nodm-nomt-v1.0":     "A-UIM-BY-ND-IO-NoDM-NoMT-v1.0",
		"D-UIM-BY-ND-NoMT-NoLTS-v1.0":       "D-UIM-BY-ND-NoMT-NoLTS-v1.0",
		"UIM-BY-EAU-AIATTR-BACP-v1.2.3":     "UIM-BY-EAU-AIATTR-BACP-v1.2.3",
		"UIM-EAU-v2.0":                      "UIM-EAU-v2.0",
		"":                                  "",
		"MIT":                               "",
		"UIM-v1.0":                          "",
		"UIM--v1.0":                         "",
		"UIM-BY-":                           "",
		"UIM-BY":                            "",
		"UIM-BY-XX-v1.0":                    "",
		"UIM-BY-BY-v1.0":                    "",
		"DD-UIM-BY-v1.0":                    "",
		"X-UIM-BY-v1.0":                     "",
		"UIM-PD-BY-v1.0":                    "",
		"UIM-PD-CC0-v1.0":                   "",
		"UIM-ND-SA-v1.0":                    "",
		"UIM-BY-v01":                        "",
		"UIM-BY-v1.0.0.0":                   "",
		" UIM-BY-v1.0":                      "",
		"UIM-BY-v1.0\r\nX: y":               "",
		"UIM-BY-v1.0\n":                     "",
		"ftp://uimprotocol.com/uim-by-v1.0": "",
		"https://user@uimprotocol.com/uim-by-v1.0":           "",
		"https://uimprotocol.com/uim-by-v1.0?x=y":            "",
		"https:///uim-by-v1.0":                               "",
		"https://uimprotocol.com/licenses/":                  "",
		"https://x.example/" + strings.Repeat("a", 5000):     "",
		"UIM-" + strings.Repeat("BY-", 100) + "v1.0":         "",
		"https://creativecommons.org/licenses/by-nc-sa/4.0/": "",
	} {
		l, err := intents.ParseLicense(in)
		switch {
		case want == "" && (!errors.Is(err, intents.ErrLicense) || l.String() != "" || l.Plain() != nil):
			t.Errorf("%q: %v, %v; want ErrLicense", in, l, err)
		case want != "" && (err != nil || l.String() != want):
			t.Errorf("%q: %q, %v; want %q", in, l, err, want)
		}
	}
}

func TestLicensePlain(t *testing.T) {
	for in, want := range map[string][]string{
		"uim-pd-v1.0": {
			"The licence covers everything the service returns.",
			"The material is in the public domain: anyone may use it for any purpose, without conditions.",
		},
		"Open-DA-UIM-NC-BY-v1.0": {
			"The licence covers data and applications and services.",
			"The material is offered at no charge.",
			"Give appropriate credit, link to the licence, and indicate what you changed.",
			"Commercial use is not allowed.",
			"Harmful use, such as surveillance or discrimination, is not allowed.",
		},
		"A-UIM-BY-ND-IO-NoDM-NoMT-v1.0": {
			"The licence covers applications and services.",
			"Give appropriate credit, link to the licence, and indicate what you changed.",
			"Do not change, adapt or remix the material.",
			"Harmful use, such as surveillance or discrimination, is not allowed.",
			"The material may be accessed and copied only for indexing and search.",
			"Text and data mining is not allowed.",
			"Training AI models on the material is not allowed.",
		},
	} {
		l, err := intents.ParseLicense(in)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, l.Plain()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", in, diff)
		}
	}
}

func FuzzParseLicense(f *testing.F) {
	for _, s := range []string{
		"https://uimprotocol.com/licenses/uim-by-nc-v1.0", "Open-DAMPS-UIM-BY-SA-NC-EAU-IO-AIATTR-NoDM-NoMT-NoLTS-BACP-v1.0",
		"UIM-PD-v1.0", "D-UIM-BY-ND-NoMT-NoLTS-v1.0", "MIT", "", "https://uimprotocol.com/licenses/uim-by-v1.0/",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		l, err := intents.ParseLicense(s)
		if err != nil {
			if !errors.Is(err, intents.ErrLicense) || !cmp.Equal(l, intents.License{}) {
				t.Fatalf("%q: %v with %v", s, l, err)
			}
			return
		}
		again, err := intents.ParseLicense(l.String())
		if err != nil || !cmp.Equal(l, again) {
			t.Fatalf("%q: %v is parsed again as %v, %v", s, l, again, err)
		}
		if strings.ContainsFunc(l.String(), func(r rune) bool { return r < 0x21 || r > 0x7e }) {
			t.Fatalf("%q: %q", s, l)
		}
		if slices.Contains(l.Plain(), "") || len(l.Plain()) < 2 {
			t.Fatalf("%q: %q", s, l.Plain())
		}
	})
}
